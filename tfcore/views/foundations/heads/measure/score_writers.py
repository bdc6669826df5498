"""Writers to the residual stream that an attention score is read from, from one pass of a text.

Every norm on the way from a writer to a query or a key divides by a number. Held at the value that it has in this
pass, a norm is linear, so the vector that queries and keys are made of is a sum over all that was written before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tfcore.attention import Attention
from tfcore.block import Block
from tfcore.config import ModelConfig
from tfcore.feedforward import FeedForward
from tfcore.inspection.capture import known_names
from tfcore.measures.heads.part_texts import Part, TextIds, parts, text_ids
from tfcore.measures.one_text import one_text
from tfcore.model import NO_LOGITS, Transformer
from tfcore.norms import Norm
from tfcore.tokenizers.tokenizer import Tokenizer

Kind = Literal[
    "embedding", "segments", "positions", "head", "cross head", "feed-forward", "convolution", "biases", "own bias"
]
Side = Literal["query", "key"]
# Ends of the activations that a score is taken apart with.
KEPT = (
    *("embed", "segment_embed", "pos_embed", "norm.scale", "attn.z", "attn.q", "attn.k", "attn.rot_q", "attn.rot_k"),
    *("mlp_out", "ln1.scale", "ln1_post.scale", "ln_cross.scale", "ln_cross_post.scale", "ln2.scale"),
    *("ln2_post.scale", "ln_final.scale", "conv_out", "ln_conv.scale"),
)


@dataclass(frozen=True, slots=True, order=True)
class Writer:
    """The writer of a vector in the residual stream.

    Args:
        kind: "biases": all biases on the way, those of norms included; "own bias": that of the projection to queries
            or keys itself.
        layer, head: of its part; -1 where there is none.
    """

    kind: Kind
    layer: int = -1
    head: int = -1

    @property
    def name(self) -> str:
        """The name of the writer, as in "head 3.4" or "feed-forward 2"."""
        if self.kind in ("head", "cross head"):
            return f"{self.kind} {self.layer}.{self.head}"
        return f"{self.kind} {self.layer}" if self.kind == "feed-forward" else self.kind


@dataclass(frozen=True, slots=True, eq=False)
class StreamPass:
    """One pass of a text, with what its scores are taken apart with.

    Args:
        part: of the model; see attention_maps.parts.
        text: what was read.
        activations: by name, with the stack before it.
    """

    part: Part
    text: TextIds
    activations: dict[str, Tensor]

    def stack(self, side: Side) -> Literal["encoder", "decoder"]:
        """The stack whose stream queries, or keys, are made of."""
        return "encoder" if self.part == "encoder" or (self.part == "cross" and side == "key") else "decoder"


@torch.no_grad()
def stream_pass(
    model: Transformer, tokenizer: Tokenizer, text: str, part: Part | None = None, *, bos: bool | None = None
) -> StreamPass | None:
    """Run a model once over a text; see attention_maps.read_attention for the arguments.

    Returns:
        None where the tokenizer makes no token of the text.
    """
    part = part or parts(model.config)[0]
    read = text_ids(model, tokenizer, text, part, bos=bos)
    if read is None:
        return None
    decoder_ids = None if read.decoder_ids is None else one_text(model, read.decoder_ids)
    names = _kept_names(model.config)
    output = model(one_text(model, read.ids), decoder_ids=decoder_ids, capture=names, logits_to_keep=NO_LOGITS)
    return StreamPass(part, read, output.activations)


def _kept_names(config: ModelConfig) -> list[str]:
    both = config.architecture == "encoder-decoder"
    names = known_names(config, "" if both else f"{config.architecture}.")
    before = {name.replace("rot_", "") for name in names if "attn.rot_" in name}  # what is rotated afterwards
    return [name for name in names if name.endswith(KEPT) and name not in before]


def attention_of(model: Transformer, part: Part, layer: int) -> Attention:
    """The attention of one layer of a part."""
    stack = model.encoder if part == "encoder" else model.decoder
    block = cast("Block", stack.blocks[layer])
    return block.cross_attn if part == "cross" else block.attn


def projections(
    attention: Attention, head: int, side: Side
) -> tuple[Float[Tensor, "d_head d_model"], Float[Tensor, " d_head"] | None]:
    """W_Q, or W_K, of one head, and its bias; query heads of a group share a key head (arXiv:2305.13245)."""
    size, n_heads = attention.d_head, attention.n_heads
    if side == "query":
        module, first = attention.q if attention.cross else attention.qkv, head
    else:
        module = attention.kv if attention.cross else attention.qkv
        first = head // (n_heads // attention.kv_heads) + (0 if attention.cross else n_heads)
    rows = slice(first * size, (first + 1) * size)
    return module.weight[rows], None if module.bias is None else module.bias[rows]


@torch.no_grad()
def written(
    model: Transformer, run: StreamPass, layer: int, side: Side, places: Sequence[int]
) -> tuple[list[Writer], Float[Tensor, "place writer d_model"]]:
    """The vectors that queries (or keys) of one layer are made of at some places, as a sum over what wrote them.

    Args:
        places: positions of tokens.

    Returns:
        the writers in the order of computation, and what each adds, in float64, norms held fixed.
    """
    stream = _Stream(model, run, run.stack(side), places)
    if run.part == "cross" and side == "key":
        stream.through(len(model.encoder.blocks))
        stream.norm("ln_final", model.encoder.ln_final)
        return stream.writers()
    name = "ln_cross" if run.part == "cross" else "ln1"
    stream.through(layer, before_cross=run.part == "cross")
    if model.config.norm.before:  # `norm` passes over a first block that has none
        stream.norm(f"blocks.{layer}.{name}", getattr(stream.stack.blocks[layer], name))
    return stream.writers()


class _Stream:
    """The stream at some places as a sum, block after block.

    Args:
        name: of the stack.
        places: positions of tokens.
    """

    def __init__(self, model: Transformer, run: StreamPass, name: str, places: Sequence[int]) -> None:
        self.config, self.stack = model.config, model.encoder if name == "encoder" else model.decoder
        self.activations, self.name, self.places = run.activations, name, list(places)
        self.names = [Writer("embedding")]
        embedded = self.at("embed")
        self.sum = embedded[:, None]  # (place, writer, d_model)
        self.biases = torch.zeros_like(embedded)
        if self.config.n_segments:
            self.add([Writer("segments")], self.at("segment_embed")[:, None])
        if f"{name}.pos_embed" in self.activations:
            self.add([Writer("positions")], self.activations[f"{name}.pos_embed"][self.places, None].double())
        self.norm("embed_norm", self.stack.embed_norm)
        if self.config.d_embed is not None:
            self.project(self.stack.embed_project)

    def at(self, name: str) -> Tensor:
        """An activation at the places, (place, d)."""
        (activation,) = self.activations[f"{self.name}.{name}"]
        return activation[self.places].double()

    def add(self, names: list[Writer], vectors: Tensor) -> None:
        self.names += names
        self.sum = torch.cat((self.sum, vectors), 1)

    def norm(self, name: str, module: nn.Module | None) -> None:
        """All that is in the sum goes through a norm."""
        if isinstance(module, Norm):
            scale = self.at(f"{name}.scale")
            self.sum, self.biases = frozen(module, self.sum, scale[:, None]), frozen(module, self.biases, scale)
            self.biases = self.biases + _bias(module, self.biases)

    def project(self, layer: nn.Linear) -> None:
        """All that is in the sum goes through a linear layer."""
        weight = layer.weight.double().T
        self.sum, self.biases = self.sum @ weight, self.biases @ weight
        self.biases = self.biases if layer.bias is None else self.biases + layer.bias.double()

    def post(self, name: str, module: nn.Module, x: Tensor) -> Tensor:
        """The output of a part after the norm behind it, where there is one; the norm's bias is apart."""
        if not isinstance(module, Norm):
            return x
        scale = self.at(f"{name}.scale")
        return frozen(module, x, scale if x.ndim == 2 else scale[:, None])

    def through(self, layer: int, before_cross: bool = False) -> None:
        """All blocks below a layer, and of that one as much as its cross-attention has below it."""
        for i, block in enumerate(cast("Iterator[Block]", self.stack.blocks)):
            if i == layer and not before_cross:
                return
            self._attention(i, block, "attn", "ln1", "head")
            if i == layer:
                return
            if block.cross:
                self._attention(i, block, "cross_attn", "ln_cross", "cross head")
            if block.has_mlp:
                self._feedforward(i, block)
            if block.has_convolution:
                self.add([Writer("convolution")], self.at(f"blocks.{i}.conv_out")[:, None])
                self.norm(f"blocks.{i}.ln_conv", block.ln_conv)

    def _attention(self, i: int, block: Block, name: str, norm: str, kind: Kind) -> None:
        attention: Attention = getattr(block, name)
        z = self.activations[f"{self.name}.blocks.{i}.{name}.z"][:, :, self.places]  # (1, head, place, d_head)
        (heads,), after = attention.results(z).double(), getattr(block, f"{norm}_post")
        under = f"blocks.{i}.{norm}"
        self.add([Writer(kind, i, head) for head in range(heads.shape[1])], self.post(f"{under}_post", after, heads))
        own = _bias(attention.out, self.biases).expand_as(self.biases)
        self.biases = self.biases + self.post(f"{under}_post", after, own) + _bias(after, self.biases)
        if self.config.norm.placement == "post":
            self.norm(under, getattr(block, norm))

    def _feedforward(self, i: int, block: Block) -> None:
        down = None if block.routed else cast("FeedForward", block.mlp).down
        own = self.post(f"blocks.{i}.ln2_post", block.ln2_post, _bias(down, self.biases).expand_as(self.biases))
        own = own + _bias(block.ln2_post, self.biases)
        self.add([Writer("feed-forward", i)], (self.at(f"blocks.{i}.mlp_out") - own)[:, None])
        self.biases = self.biases + own
        if self.config.norm.placement == "post":
            self.norm(f"blocks.{i}.ln2", block.ln2)

    def writers(self) -> tuple[list[Writer], Tensor]:
        """All of them, and what each adds; biases last, where there are any."""
        if self.biases.any():
            self.add([Writer("biases")], self.biases[:, None])
        return self.names, self.sum


def frozen(
    norm: Norm, x: Float[Tensor, "*batch d_model"], scale: Float[Tensor, "*scales 1"]
) -> Float[Tensor, "*batch d_model"]:
    """gamma * x / s with the number s that the norm divides by in this pass, whatever x is; LayerNorm centres x first.
    Its bias is left to the caller."""
    centred = x - x.mean(-1, keepdim=True) if norm.kind == "layernorm" else x
    return centred / scale * norm.weight.double()


def _bias(module: nn.Module | None, like: Tensor) -> Tensor:
    bias = getattr(module, "bias", None)
    return torch.zeros_like(like) if bias is None else bias.double()
