"""The norm of the residual stream and its cosine to the final state, stage by stage."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.inspection.capture import known_names
from tfcore.measures.lenses import stages
from tfcore.measures.one_text import one_text
from tfcore.model import Transformer
from tfcore.views.inside.stream.measure.text import read_of
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, opened

Measure = Literal["norm", "cosine"]


AXES: dict[Measure, str] = {"norm": "norm of the stream", "cosine": "cosine to the final state"}


@dataclass(frozen=True, slots=True)
class StreamShape:
    """Norms and cosines of the stream on one text.

    Args:
        stages: names of the states.
        norm: Euclidean norm of each state.
        cosine: between each state and the final one at the same position.
        parts: names of the sublayers' outputs.
        added: norm of each output.
        along: cosine between each output and the state it is added to: below 0 it removes a part of that.
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
    return F.cosine_similarity(states, last.expand_as(states), dim=2)


@torch.no_grad()
def stream_shape(model: Transformer, ids: Sequence[int]) -> StreamShape:
    """Norm and cosine of the stream at every stage and position; one stack of pre-norm, sandwich or parallel blocks.

    Raises:
        ValueError: a model whose stream is normalised on its way (post-norm), or with two stacks.
    """
    config = model.config
    if config.architecture == "encoder-decoder" or config.norm.placement == "post":
        raise ValueError(
            "the stream is measured where it is a plain sum: one stack, pre-norm; this model is "
            f"architecture={config.architecture!r}, norm_placement={config.norm.placement!r}"
        )
    names = stages(config)
    parts = tuple(name for name in known_names(config) if name.endswith(("attn_out", "mlp_out")))
    before = [_read_by(config, name) for name in parts]
    activations = model.activations(one_text(model, ids), (*names, *parts, *before))
    states, written, start = (torch.cat([activations[name].float() for name in of]) for of in (names, parts, before))
    numbers = states.norm(dim=2), angles(states, states[-1]), written.norm(dim=2)
    norm, cosine, added = (value.cpu().numpy() for value in numbers)
    return StreamShape(names, norm, cosine, parts, added, F.cosine_similarity(written, start, dim=2).cpu().numpy())


def _read_by(config: ModelConfig, name: str) -> str:
    """The state that a sublayer's output is added to."""
    block, _, part = name.rpartition(".")
    middle = f"{block}.resid_mid"
    return middle if part == "mlp_out" and middle in known_names(config) else f"{block}.resid_pre"


def _shape(reading: Reading) -> StreamShape:
    return stream_shape(opened(reading.model)[0], read_of(reading).ids)


shape_of = kept(_shape, entries=12)
