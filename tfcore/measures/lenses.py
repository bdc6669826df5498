"""The stream read as a prediction at each stage: by the unembedding alone, and by a tuned lens."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.inspection.capture import known_names, layer_of
from tfcore.inspection.tuned_lens import TunedLens
from tfcore.linear import Embedding, Linear
from tfcore.measures import information
from tfcore.measures.one_text import one_text
from tfcore.model import Transformer


def unembedding(model: Transformer, ids: slice | list[int] = slice(None)) -> Float[Tensor, "token d_model"]:
    """One row a token, or a class, of all or of these: the direction along which its logit is read."""
    layer: Embedding | Linear = model.unembed if hasattr(model, "unembed") else model.embed
    if model.config.classes is not None:
        layer = model.classes.score
    return layer.stored[ids].to(layer.dtype)


def check_model(model: Transformer) -> None:
    """Check that a model's final state is the norm of a plain sum, and its logits, of tokens or of classes of which one
    is the text's, linear in that.

    Raises:
        ValueError: it is not; the message names what the model is.
    """
    config = model.config
    classes = config.classes
    linear = config.head == "lm" or (classes is not None and classes.meaning == "one" and classes.dense is None)
    if config.architecture != "decoder" or not config.norm.final or not linear:
        raise ValueError(
            f"a logit is split for decoders with a final norm; this model is architecture={config.architecture!r}, "
            f"norm_placement={config.norm.placement!r}, head={config.head!r}"
        )


def stages(config: ModelConfig) -> tuple[str, ...]:
    """Names of the stream's states in the order of computation: before the first block, and after each sublayer."""
    ends = (".resid_mid", ".resid_post")
    return ("blocks.0.resid_pre", *(name for name in known_names(config) if name.endswith(ends)))


def stage_names(names: Sequence[str]) -> list[str]:
    """blocks.0.resid_pre -> "embed"; blocks.2.resid_mid -> "attn 2"; the resid_post after it -> "FF 2".

    Where a model has one state a block, each is named after its block.
    """
    halves = any(name.endswith("resid_mid") for name in names)
    listed = []
    for name in names:
        if name.endswith("resid_pre"):
            listed.append("embed")
            continue
        layer = layer_of(name)
        kind = "FF" if name.endswith("resid_post") else "attn"
        listed.append(f"{kind} {layer}" if halves else f"block {layer}")
    return listed


def lens_logits(model: Transformer, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
    """LogitLens(x) = FinalNorm(x) W_U: any state of the stream, read as if it were the final one.

    The norm is computed anew for each state, as the model would do if it stopped there. (TransformerLens can instead
    divide by the scale of the true final state: other probabilities, and with the bias of a LayerNorm, whose share in
    the logits then differs, another order of the tokens too.)

    Source: section 2 of arXiv:2303.08112, which also says where it misleads: early layers may write in other
    directions than the ones the unembedding reads.
    """
    return cast("Tensor", model.to_logits(model.decoder.ln_final(x)))


@torch.no_grad()
def stage_states(
    model: Transformer, ids: Sequence[int], tuned: TunedLens | None = None
) -> Float[Tensor, "stage seq d_model"]:
    """The stream after every stage and at every position of a text, translated where a tuned lens is given; errors as
    of check_model."""
    check_model(model)
    names = stages(model.config)
    states = model.activations(one_text(model, ids), names)
    return torch.cat([states[name] if tuned is None else tuned(name, states[name]) for name in names])


def tuned_lens_logits(
    model: Transformer, lens: TunedLens, stage: str, x: Float[Tensor, "*batch d_model"]
) -> Float[Tensor, "*batch vocab"]:
    """TunedLens(x) = LogitLens(A x + b), with the translator of the stage (arXiv:2303.08112, section 3)."""
    return lens_logits(model, lens(stage, x))


def divergence(final: Float[Tensor, "*batch vocab"], read: Float[Tensor, "*batch vocab"]) -> Float[Tensor, "*batch"]:
    """KL(final || read) = sum_v p_final(v) (ln p_final(v) - ln p_read(v)), in nats, of two sets of logits: 0 where both
    predict the same."""
    return information.divergence(final.float().log_softmax(-1), read.float().log_softmax(-1))


@dataclass(frozen=True, slots=True)
class LensComparison:
    """Both lenses at every stage and position of a text.

    Args:
        stages: names of the stream's states.
        logit, tuned: KL divergence of the model's prediction from what each lens reads, nats.
        logit_best, tuned_best: ids of the top predictions.
    """

    stages: tuple[str, ...]
    logit: Float[ndarray, "stage seq"]
    tuned: Float[ndarray, "stage seq"]
    logit_best: Int[ndarray, "stage seq"]
    tuned_best: Int[ndarray, "stage seq"]


@torch.no_grad()
def compare_lenses(model: Transformer, lens: TunedLens, ids: Sequence[int]) -> LensComparison:
    """Read every state of a text by both lenses; errors as of check_model."""
    names, states = stages(model.config), stage_states(model, ids)
    final = lens_logits(model, states[-1])
    rows = []
    for name, x in zip(names, states, strict=True):  # one by one: all logits at once would be stage * seq * vocab
        plain, tuned = lens_logits(model, x), tuned_lens_logits(model, lens, name, x)
        rows.append((divergence(final, plain), divergence(final, tuned), plain.argmax(1), tuned.argmax(1)))
    return LensComparison(names, *(torch.stack(part).cpu().numpy() for part in zip(*rows, strict=True)))


def mean_divergences(
    model: Transformer, lens: TunedLens, texts: Iterable[Sequence[int]]
) -> tuple[int, Float[ndarray, " stage"], Float[ndarray, " stage"]]:
    """(tokens, by the logit lens, by the tuned lens): the mean KL divergence at each stage over all tokens of texts."""
    compared = [compare_lenses(model, lens, ids) for ids in texts]
    logit, tuned = (np.concatenate([getattr(one, kind) for one in compared], axis=1) for kind in ("logit", "tuned"))
    return logit.shape[1], logit.mean(1), tuned.mean(1)
