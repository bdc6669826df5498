"""A text through a model of one stack, stage by stage: the stages it has, and every tensor on the way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore import masks
from tfcore.attention import Attention, attention_scores, clipped, softcapped
from tfcore.block import Block
from tfcore.checks import check_place
from tfcore.config import ModelConfig
from tfcore.inspection.capture import SHAPES, ActivationRecorder, known_names
from tfcore.measures.heads.maps import attention_maps
from tfcore.measures.heads.matrices_of_heads import why_no_head_matrices
from tfcore.measures.masked_tokens import mask_of
from tfcore.measures.one_text import last_tokens, one_text
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.foundations.heads.measure.head_ranking import strongest_look

CANDIDATES = 16  # ids whose logits are kept: those the model finds most likely
StagePart = Literal["read", "attention", "feed-forward", "predict"]
Activations = dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class WalkStage:
    """One step of the computation.

    Args:
        name: as links name it; the same in every model that has it.
        part: the group it belongs to; attention and feed-forward make up a block.
        beside: computed beside the residual stream, and added to it later.
    """

    name: str
    part: StagePart
    beside: bool = False


def walk_stages(config: ModelConfig, layer: int) -> tuple[WalkStage, ...]:
    """Every stage from the characters to the prediction, through one block.

    Args:
        config: of a model of one stack.
        layer: of the block.

    Raises:
        ValueError: an encoder-decoder, or a layer that is not there.
    """
    if config.architecture == "encoder-decoder":
        raise ValueError("a walk goes through one stack; an encoder-decoder has two: take a decoder or an encoder")
    check_place(layer=(layer, config.n_layers))
    return (*_read(config), *_attention(config, layer), *_feed_forward(config, layer), *_predict(config))


def _kept(part: StagePart, beside: bool, wanted: dict[str, bool]) -> list[WalkStage]:
    return [WalkStage(name, part, beside) for name, there in wanted.items() if there]


def _read(config: ModelConfig) -> list[WalkStage]:
    always = dict.fromkeys(("characters", "tokens", "ids", "embedding"), True)
    sometimes = {
        "scaling": config.embed_scale != 1,
        "segments": bool(config.n_segments),
        "positions": config.positions.added,
        "embedding-norm": config.norm.of_embeddings,
        "embedding-projection": config.d_embed is not None,
    }
    return _kept("read", False, always | sometimes)


def _attention(config: ModelConfig, layer: int) -> list[WalkStage]:
    beside = {
        "norm-1": config.has_first_norm(layer),
        "qkv": True,
        "clip": config.attention.clip is not None,
        "heads": True,
        "qk-norm": config.attention.qk_norm is not None,
        "rotation": config.positions_of(layer).kind == "rope",
        "scores": True,
        "scaled": True,
        "softcap": config.attention.softcap is not None,
        "bias": config.positions.kind in ("alibi", "relative", "disentangled"),
        "mask": config.architecture == "decoder" or config.window_of(layer) is not None,
        "softmax": True,
        "values": True,
        "concat": True,
        "output": True,
        "norm-1-after": config.norm.of_outputs,
    }
    post = {"add-1": True, "norm-1": config.norm.placement == "post"}
    return _kept("attention", True, beside) + _kept("attention", False, post)


def _feed_forward(config: ModelConfig, layer: int) -> list[WalkStage]:
    return _second_half(config, layer) + _convolution(config, layer)


def _convolution(config: ModelConfig, layer: int) -> list[WalkStage]:
    there = config.convolves_input(layer)
    after = {"add-3": there, "norm-3": there}
    return _kept("feed-forward", True, {"convolution": there}) + _kept("feed-forward", False, after)


def _second_half(config: ModelConfig, layer: int) -> list[WalkStage]:
    routed = config.is_routed(layer)
    if not routed and config.ff_size == 0:
        return []
    beside = {
        "norm-2": config.norm.before and not (config.parallel and config.shared_norm),
        **({"router": True, "experts": True} if routed else {"up": True, "activation": True, "down": True}),
        "norm-2-after": config.norm.of_outputs,
    }
    post = {"add-2": True, "norm-2": config.norm.placement == "post"}
    return _kept("feed-forward", True, beside) + _kept("feed-forward", False, post)


def _predict(config: ModelConfig) -> list[WalkStage]:
    words = config.scores_tokens
    wanted = {
        "final-norm": config.norm.final,
        "mlm-head": config.head == "mlm",
        "logits": words,
        "probabilities": words,
        "top-5": words,
    }
    return _kept("predict", False, wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The computation of a model on a text, as far as one block and the two ends are concerned.

    Args:
        config: of the model.
        layer: of the block.
        ids: the tokens read.
        position: of the token whose prediction is looked at.
        tensors: name -> tensor without the batch axis. Names as in tfcore.inspection.capture, those of the block
            without "blocks.N."; besides, what capture does not name: see `_ends`, `_attended` and `_fed`.
        candidates: the ids with the highest logits at `position`, best first; empty without a language head.
        logits: of the candidates, at every position.
        probabilities: of the candidates, from the softmax over all ids.
    """

    config: ModelConfig
    layer: int
    ids: tuple[int, ...]
    position: int
    tensors: dict[str, ndarray]
    candidates: Int[ndarray, " candidate"]
    logits: Float[ndarray, "seq candidate"]
    probabilities: Float[ndarray, "seq candidate"]


@dataclass(frozen=True, slots=True)
class WalkedText:
    """A text and its walk.

    Args:
        walk: through one block.
        tokens: of the text as they are read; a masked one is "[hidden]".
        candidates: tokens of `walk.candidates`.
    """

    walk: Walk
    tokens: tuple[str, ...]
    candidates: tuple[str, ...]


def walk_text(
    model: Transformer, tokenizer: Tokenizer, text: str, limit: int, layer: int, hidden: int | None = None
) -> WalkedText:
    """The walk of the last `limit` tokens of a text, which predict what comes next.

    Args:
        layer: the block to look into.
        hidden: position of a token to mask, whose prediction is looked at; None looks at the token after the last.
    """
    ids, tokens, _ = last_tokens(model, tokenizer, text, limit)
    if hidden is not None and (blank := mask_of(tokenizer, model.config.vocab_size)) is not None:
        ids[hidden], tokens[hidden] = blank, "[hidden]"
    walked = walk(model, ids, layer, hidden)
    return WalkedText(walked, tuple(tokens), tuple(tokenizer.tokens(walked.candidates.tolist())))


def with_next_token(walked: WalkedText) -> tuple[list[str], int]:
    """The text with the most likely token in its place, and which of its tokens that is: of an encoder the masked
    one, of a decoder the one after the last."""
    tokens, at = list(walked.tokens), len(walked.tokens)
    if walked.walk.config.architecture == "encoder":
        at = walked.walk.position
        del tokens[at]
    tokens.insert(at, walked.candidates[0])
    return tokens, at


@torch.no_grad()
def first_head(model: Transformer, tokenizer: Tokenizer, text: str, limit: int) -> tuple[int, int]:
    """Layer and head to look into at first: those with the strongest look from one word of the text at another, the
    first token apart, which takes most of the weight in many heads; (last layer, 0) where there is none."""
    ids, tokens, _ = last_tokens(model, tokenizer, text, limit)
    look = strongest_look(attention_maps(model, ids).patterns, tokens, tokens, np.arange(len(ids)) == 0)
    return (model.config.n_layers - 1, 0) if look is None else (look.layer, look.head)


@torch.no_grad()
def walk(model: Transformer, ids: Sequence[int], layer: int, position: int | None = None) -> Walk:
    """The tensors of one forward pass through a model of one stack.

    Args:
        model: decoder or encoder.
        ids: the text, at least one token.
        layer: the block to look into.
        position: of the token whose prediction is looked at; None means the last.

    Raises:
        ValueError: its heads have no matrices of their own; see why_no_head_matrices.
    """
    if reason := why_no_head_matrices(model.config):
        raise ValueError(reason)
    config, batch = model.config, one_text(model, ids)
    output = model(batch, capture=_names(config, layer))
    prefix = f"blocks.{layer}."
    tensors = {name.removeprefix(prefix): value for name, value in output.activations.items()}
    block = cast(Block, model.stack.blocks[layer])
    tensors |= _ends(model, batch, tensors) | {"hidden": output.hidden}
    tensors |= _attended(block, tensors, config, layer) | _fed(block, tensors, config)
    if config.head == "mlm":
        tensors["mlm"] = model.mlm(output.hidden)
    place = len(ids) - 1 if position is None else position
    (scores,) = output.logits.float() if config.scores_tokens else torch.zeros(1, len(ids), 0)
    best = scores[place].topk(min(CANDIDATES, scores.shape[1])).indices  # (candidate)
    return Walk(
        config=config,
        layer=layer,
        ids=tuple(ids),
        position=place,
        tensors={name: value.cpu().numpy() for name, value in _unbatched(tensors).items()},
        candidates=best.cpu().numpy(),
        logits=scores[:, best].cpu().numpy(),
        probabilities=scores.softmax(1)[:, best].cpu().numpy(),
    )


def _names(config: ModelConfig, layer: int) -> tuple[str, ...]:
    """The activations to capture: one block, and the stream before and after all; none changes the computation."""
    wanted = (f"blocks.{layer}.", "embed", "segment_embed", "pos_embed", "embed_norm", "ln_final")
    last = f"blocks.{config.n_layers - 1}.resid_post"
    left_out = (".result", ".scale")
    names = [name for name in known_names(config) if name.startswith(wanted) or name == last]
    return tuple(name for name in names if not name.endswith(left_out))


def _unbatched(tensors: Activations) -> Activations:
    """Tensors of the one text, in float32 where they are numbers."""
    one = {name: value if SHAPES.get(name) == "seq d_model" else value.squeeze(0) for name, value in tensors.items()}
    return {name: value.float() if value.is_floating_point() else value for name, value in one.items()}


def _ends(model: Transformer, batch: Tensor, tensors: Activations) -> Activations:
    """looked_up: rows of the embedding table. segmented, positioned: the stream after these are added.
    projected: made as wide as the stream."""
    stream = tensors["embed"]
    ends = {"looked_up": model.embed(batch)}
    if "segment_embed" in tensors:
        ends["segmented"] = stream = stream + tensors["segment_embed"]
    if "pos_embed" in tensors:
        ends["positioned"] = stream = stream + tensors["pos_embed"]
    if model.config.d_embed is not None:
        ends["projected"] = model.stack.embed_project(tensors.get("embed_norm.normalized", stream))
    return ends


def _attended(block: Block, tensors: Activations, config: ModelConfig, layer: int) -> Activations:
    """read_1: what attention reads. qkv: one product. clipped: the same, cut off where the model does it. split_q,
    split_k, split_v: cut into heads. products: q . k. scaled: the same with the scale. capped: bent by a soft cap.
    allowed: the mask. concat: heads side by side. written_1: after W_O. sum_1."""
    attn: Attention = block.attn
    read = tensors["ln1.normalized"] if config.has_first_norm(layer) else tensors["resid_pre"]
    qkv = attn.qkv(read)
    cut_off = clipped(qkv, attn.clip)
    q, k, v = attn.heads(cut_off, attn.n_heads, attn.kv_heads, attn.kv_heads)
    turned_q, turned_k = tensors.get("attn.rot_q", tensors["attn.q"]), tensors.get("attn.rot_k", tensors["attn.k"])
    keys = turned_k.repeat_interleave(attn.n_heads // attn.kv_heads, dim=1)
    scaled = attention_scores(turned_q, keys, attn.scale)
    concat = tensors["attn.z"].transpose(1, 2).flatten(2)
    return {
        "read_1": read,
        "qkv": qkv,
        "clipped": cut_off,
        "split_q": q,
        "split_k": k,
        "split_v": v,
        "products": attention_scores(turned_q, keys, 1.0),
        "scaled": scaled,
        "capped": softcapped(scaled, attn.softcap),
        "allowed": allowed(config, layer, read.shape[1])[None],
        "concat": concat,
        "written_1": attn.out(concat),
        "sum_1": tensors["resid_pre"] + tensors["attn_out"],
    }


def _fed(block: Block, tensors: Activations, config: ModelConfig) -> Activations:
    """stream_2: what the feed-forward layer is added to. read_2: what it reads. written_2: what it gives. sum_2. sum_3:
    with what a convolution over the embeddings adds."""
    if not block.has_mlp:
        return {}
    post = config.norm.placement == "post"
    stream = tensors["ln1.normalized"] if post else tensors["resid_pre"] + tensors["attn_out"]
    normed = "ln1.normalized" if config.parallel and config.shared_norm else "ln2.normalized"
    read = tensors[normed] if config.norm.before else stream
    written = block.mlp(read, ActivationRecorder())
    fed = {"stream_2": stream, "read_2": read, "written_2": written, "sum_2": stream + tensors["mlp_out"]}
    if "conv_out" in tensors:
        fed["sum_3"] = tensors["resid_mid_conv"] + tensors["conv_out"]
    return fed


def allowed(config: ModelConfig, layer: int, n: int) -> Bool[Tensor, "query key"]:
    """The attention mask of a layer: True where the query may attend to the key."""
    window = config.window_of(layer)
    if config.architecture == "decoder":
        return masks.causal(n) if window is None else masks.sliding_window(n, window)
    if window is None:
        return masks.bidirectional(n)
    place = torch.arange(n)
    return (place[:, None] - place[None, :]).abs() < window
