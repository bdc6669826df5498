"""Direct logit attribution: the share of every head, feed-forward layer and embedding in a logit, adding up exactly.

The stream before the final norm is a sum of what was written into it. The norm divides that sum by one number and
multiplies each entry by its weight; with the number frozen at the value it has in this pass, the way from the stream
to a logit is linear, and the logit is the sum of what each part alone would give.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Literal, cast

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from tfcore.block import Block
from tfcore.config import ModelConfig
from tfcore.feedforward import FeedForward
from tfcore.inspection.capture import known_names, of_mixer
from tfcore.measures.interventions import Part, parts_of
from tfcore.measures.lenses import check_model, unembedding
from tfcore.measures.one_text import one_text
from tfcore.mixing_layers import AttentionBesideState
from tfcore.model import NO_LOGITS, Output, Transformer
from tfcore.norms import Norm
from tfcore.onednn import linear

Against = int | Literal["mean", "nothing"]


# Activations of a block from which its parts in the sum are taken: what it writes, and the scales of sandwich norms.
WRITTEN = ("attn.z", "mlp_out", "ln1_post.scale", "ln2_post.scale")


@dataclass(frozen=True, slots=True)
class Contributions:
    """The share of every part of the model in the logit of one token, or class, at one position, in logits; they add up
    to the logit.

    Args:
        heads: of every head, of attention or of a state in its place; 0 where a layer has fewer than others.
        feedforward: of every feed-forward layer (all experts of a mixture together); 0 where a layer has none.
        mixers: of the convolution that a layer has in the place of attention, or of the state beside it; 0 where there
            is none.
        embedding: of the token's own embedding.
        position: of learned or sinusoidal positions; 0 where the model has neither.
        biases: of all biases after the embedding, the final norm's and the logits' own included.
        logit: of the token in the model's own output, before a soft cap, less what it is measured against.
        scale: what the final norm divides by at this position, held fixed.
        parts: those that each layer has, see parts_of.
        attends: whether each layer has attention; the heads of others are a state's.
        softcap: under which the model bends the logit afterwards; None where it does not.
    """

    heads: Float[ndarray, "layer head"]
    feedforward: Float[ndarray, " layer"]
    mixers: Float[ndarray, " layer"]
    embedding: float
    position: float
    biases: float
    logit: float
    scale: float
    parts: tuple[tuple[Part | None, ...], ...]
    attends: tuple[bool, ...]
    softcap: float | None = None

    def share(self, part: Part) -> float:
        """The share of one part."""
        if isinstance(part.head, int):
            return float(self.heads[part.layer, part.head])
        return float((self.feedforward if part.head == "ff" else self.mixers)[part.layer])

    @property
    def total(self) -> float:
        """The sum of all parts."""
        layers = float(self.heads.sum() + self.feedforward.sum() + self.mixers.sum())
        return layers + self.embedding + self.position + self.biases


def logit_direction(
    model: Transformer, token: int | Sequence[int], against: Against = "nothing"
) -> Float[Tensor, "*token d_model"]:
    """The direction u whose dot product with the normalised final state is the token's logit: u = W_U[token]. Against
    another token it is the difference of the two rows, against "mean" the difference from the mean of all rows: the
    softmax depends on such differences alone.
    """
    table = unembedding(model)
    u = table[token].double()
    if against != "nothing":
        wide = torch.promote_types(table.dtype, torch.float32)  # float64 takes 20 times as long, for 4e-8
        u = u - (table.mean(0, dtype=wide) if against == "mean" else table[against]).double()
    return u * model.config.logit_scale


def frozen_norm(
    norm: nn.Module | None, x: Float[Tensor, "*batch d_model"], scale: Float[Tensor, "*scales 1"] | None
) -> Float[Tensor, "*batch d_model"]:
    """gamma * x / s with the number s that the norm divides by in this pass, whatever x is; LayerNorm centres x first.

    Frozen like this a norm is linear, so it can be applied to each part of a sum. Its bias is left to the caller.
    """
    if not isinstance(norm, Norm) or scale is None:
        return x
    centred = x - x.mean(-1, keepdim=True) if norm.kind == "layernorm" else x
    return centred / scale * norm.weight.double()


@dataclass(frozen=True, slots=True)
class Parts:
    """The state before the final norm at one position as a sum of what was written into it, in float64."""

    heads: Float[Tensor, "layer head d_model"]
    feedforward: Float[Tensor, "layer d_model"]
    mixers: Float[Tensor, "layer d_model"]
    embedding: Float[Tensor, " d_model"]
    position: Float[Tensor, " d_model"]
    biases: Float[Tensor, " d_model"]
    scale: Float[Tensor, "1"]
    logits: Float[Tensor, " vocab"]


@torch.no_grad()
def written(model: Transformer, ids: Sequence[int]) -> Output:
    """One run of a text, with the activations from which the sum at each of its positions can be formed.

    Raises:
        ValueError: a model whose stream is no plain sum (post-norm), or which has no logits for a next token.
    """
    check_model(model)
    output: Output = model(one_text(model, ids), capture=written_names(model.config), logits_to_keep=NO_LOGITS)
    return output


def written_names(config: ModelConfig) -> list[str]:
    """The activations from which the sum at each position can be formed."""
    names = ["ln_final.scale", "blocks.0.resid_pre", *(["pos_embed"] if config.positions.added else [])]
    carried = [i for i in range(config.n_layers) if config.carried_by(i) is not None]
    names += [f"blocks.{i}.{of_mixer(config, i)}" for i in carried]
    return names + [name for name in known_names(config) if name.startswith("blocks.") and name.endswith(WRITTEN)]


def stream_parts(model: Transformer, ids: Sequence[int], position: int) -> Parts:
    """The stream at one position as a sum of what each part wrote, from one run of the text; errors as of `written`."""
    return parts_at(model, written(model, ids), position)


@torch.no_grad()
def parts_at(model: Transformer, run: Output, position: int) -> Parts:
    """The same, of a run that is there already."""
    read = ((name, run.activations[name]) for name in written_names(model.config))
    parts = [(name, value) for name, value in read if not name.endswith("attn.z")]
    here = {name: (value if name == "pos_embed" else value.squeeze(0))[position].double() for name, value in parts}
    modules = list(cast("Iterable[Block]", model.decoder.blocks))
    for i, block in enumerate(modules):
        if f"blocks.{i}.attn.z" not in run.activations:
            continue
        z = run.activations[f"blocks.{i}.attn.z"][:, :, position, None]  # (1, head, 1, d_head)
        here[f"blocks.{i}.attn.result"] = block.attn.results(z).squeeze((0, 1)).double()
    blocks = [block_parts(block, i, here) for i, block in enumerate(modules)]
    start, places = here["blocks.0.resid_pre"], "pos_embed" in here
    summed = places and not model.config.norm.of_embeddings  # a norm after that sum mixes the two for good
    places_part = here["pos_embed"] if summed else torch.zeros_like(start)
    most = max([len(block[0]) for block in blocks if block[0] is not None], default=0)
    heads = start.new_zeros(len(blocks), most, len(start))
    for layer, (own, *_) in enumerate(blocks):
        if own is not None:
            heads[layer, : len(own)] = own
    forward, mixers, biases = (torch.stack(part) for part in list(zip(*blocks, strict=True))[1:])
    return Parts(
        heads,
        forward,
        mixers,
        start - places_part,
        places_part,
        biases.sum(0),
        here["ln_final.scale"],
        cast("Tensor", model.to_logits(run.hidden[0, position], capped=False)).double(),
    )


def block_parts(block: Block, i: int, here: dict[str, Tensor]) -> tuple[Tensor | None, Tensor, Tensor, Tensor]:
    """Outputs of the heads, (head, d_model), of the feed-forward layer, of a convolution or a state beside attention,
    and of the biases of one block; None for the heads where it has none.

    A sandwich norm stands between a part's output and the stream; its scale is held fixed, too.
    """

    def post(name: str, x: Tensor) -> Tensor:
        return frozen_norm(getattr(block, name, None), x, here.get(f"blocks.{i}.{name}.scale"))

    nothing = torch.zeros_like(here["blocks.0.resid_pre"])
    heads, mixer, biases = None, nothing, nothing
    if block.has_mixer:
        heads = here.get(f"blocks.{i}.attn.result")
        biases = post("ln1_post", bias_of(block.attn.out, nothing)) + bias_of(getattr(block, "ln1_post", None), nothing)
        if heads is None:
            mixer = here[f"blocks.{i}.attn_out"] - biases
        elif (beside := here.get(f"blocks.{i}.attn.state_out")) is not None:
            own = bias_of(cast("AttentionBesideState", block.attn).state.out, nothing)
            mixer, biases = post("ln1_post", beside - own), biases + post("ln1_post", own)
        heads = None if heads is None else post("ln1_post", heads)
    if not block.has_mlp:
        return heads, nothing, mixer, biases
    down = None if block.routed else cast("FeedForward", block.mlp).down
    own = post("ln2_post", bias_of(down, nothing)) + bias_of(getattr(block, "ln2_post", None), nothing)
    return heads, here[f"blocks.{i}.mlp_out"] - own, mixer, biases + own


def bias_of(module: nn.Module | None, nothing: Float[Tensor, " d_model"]) -> Float[Tensor, " d_model"]:
    """A module's bias, or zeros where it has none."""
    bias = getattr(module, "bias", None)
    return nothing if bias is None else bias.double()


@torch.no_grad()
def contributions(model: Transformer, parts: Parts, token: int, against: Against = "nothing") -> Contributions:
    """Direct logit attribution: the share of each part in the logit of a token (arXiv:2211.00593, section 3.1).

    logit = FrozenNorm(sum of parts) . u = sum of FrozenNorm(part) . u. What a head does to the inputs of later layers
    is not in its share: ablating it shows that.
    """
    norm = model.decoder.ln_final
    u = logit_direction(model, token, against)  # (d_model)
    share = {f.name: frozen_norm(norm, getattr(parts, f.name), parts.scale) @ u for f in fields(parts)[:6]}
    own = bias_of(norm, torch.zeros_like(u)) @ u
    bias = model.logit_bias if model.config.classes is None else model.classes.score.bias
    if bias is not None:
        own = own + measured(bias.double(), token, against)
    return Contributions(
        heads=share["heads"].cpu().numpy(),
        feedforward=share["feedforward"].cpu().numpy(),
        mixers=share["mixers"].cpu().numpy(),
        embedding=float(share["embedding"]),
        position=float(share["position"]),
        biases=float(share["biases"] + own),
        logit=measured(parts.logits, token, against),
        scale=float(parts.scale),
        parts=tuple(map(tuple, parts_of(model.config))),
        attends=tuple(model.config.attends(i) for i in range(model.config.n_layers)),
        softcap=model.config.logit_softcap,
    )


@torch.no_grad()
def promoted_by(model: Transformer, parts: Parts, part: Part) -> Float[ndarray, " vocab"]:
    """The share of one part in every token's logit, less the mean of all tokens."""
    if isinstance(part.head, int):
        written = parts.heads[part.layer, part.head]
    else:
        written = (parts.feedforward if part.head == "ff" else parts.mixers)[part.layer]
    table = unembedding(model)
    logits = linear(frozen_norm(model.decoder.ln_final, written, parts.scale).to(table.dtype), table).double()
    return ((logits - logits.mean()) * model.config.logit_scale).cpu().numpy()


def measured(logits: Float[Tensor, " vocab"], token: int, against: Against) -> float:
    """The logit of a token, less what it is measured against."""
    if against == "nothing":
        return float(logits[token])
    return float(logits[token] - (logits.mean() if against == "mean" else logits[against]))


def stream_direction(
    model: Transformer, token: int | Sequence[int], against: int | None = None
) -> Float[Tensor, "*token d_model"]:
    """The direction along which the stream before the final norm is read for a logit, but for the norm's scale."""
    norm = model.decoder.ln_final
    u = logit_direction(model, token, "mean" if against is None else against)
    if not isinstance(norm, Norm):
        return u
    u = u * norm.weight.double()
    return u - u.mean(-1, keepdim=True) if norm.kind == "layernorm" else u
