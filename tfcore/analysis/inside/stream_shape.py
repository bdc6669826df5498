"""The residual stream as a vector that grows and turns: its length at every stage, and its angle to where it ends."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.inside.lens import stages
from tfcore.analysis.one_text import one_text
from tfcore.inspection.capture import known_names
from tfcore.model import Transformer


@dataclass(frozen=True, slots=True)
class StreamShape:
    """Lengths and angles of the stream on one text.

    Args:
        stages: names of the stream.
        norm: Euclidean length of the state.
        cosine: of the angle between the state and the last one at the same position.
        parts: names of what is added between the stages.
        added: length of what each adds.
        along: cosine between what each adds and the state it is added to: below 0 it takes something away.
    """

    stages: tuple[str, ...]
    norm: Float[ndarray, "stage seq"]
    cosine: Float[ndarray, "stage seq"]
    parts: tuple[str, ...]
    added: Float[ndarray, "part seq"]
    along: Float[ndarray, "part seq"]


def angles(
    states: Float[Tensor, "stage seq d_model"], last: Float[Tensor, "seq d_model"]
) -> Float[Tensor, "stage seq"]:
    """cos(x_l, x_L) = x_l . x_L / (|x_l| |x_L|): 1 where a state points where it will end, 0 where it is at a right
    angle to it."""
    return F.cosine_similarity(states, last.expand_as(states), dim=-1)


@torch.no_grad()
def stream_shape(model: Transformer, ids: Sequence[int]) -> StreamShape:
    """Measure the stream of one stack of pre-norm, sandwich or parallel blocks.

    Raises:
        ValueError: a model whose stream is normalised on its way (post-norm), or with two stacks.
    """
    config = model.config
    if config.architecture == "encoder-decoder" or config.norm_placement == "post":
        raise ValueError(
            "the stream is measured where it is a plain sum: one stack, pre-norm; this model is "
            f"architecture={config.architecture!r}, norm_placement={config.norm_placement!r}"
        )
    names = stages(config)
    parts = tuple(name for name in known_names(config) if name.endswith(("attn_out", "mlp_out")))
    found = model(one_text(model, ids), capture=(*names, *parts)).activations
    states, written = (torch.stack([found[name][0].float() for name in which]) for which in (names, parts))
    start = states[:-1] if len(parts) == len(names) - 1 else states[:-1].repeat_interleave(2, dim=0)  # parallel: both
    numbers = states.norm(dim=-1), angles(states, states[-1]), written.norm(dim=-1)
    norm, cosine, added = (value.cpu().numpy() for value in numbers)
    return StreamShape(names, norm, cosine, parts, added, F.cosine_similarity(written, start, dim=-1).cpu().numpy())


def turned_most(found: StreamShape) -> tuple[int, float]:
    """The stage after which the stream points most nearer to its end than before: its index, and by how much the
    cosine rises there, in the mean over the positions."""
    rise = (found.cosine[1:] - found.cosine[:-1]).mean(-1)
    return int(rise.argmax()) + 1, float(rise.max())
