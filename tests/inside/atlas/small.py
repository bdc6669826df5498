"""An atlas of three layers of two heads, by hand."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tfcore.measures.atlas.atlas import MEASURES, OCTAVES, Atlas
from tfcore.measures.atlas.examples import DECILES, LENGTH, PADDING, RANKS, Examples
from tfcore.measures.atlas.token_kinds import KINDS

SHAPE = 3, 2
TEXTS = 5


def small_atlas(measures: Mapping[str, Any] | None = None, **fields: Any) -> Atlas:
    """Heads that all do the same: half of their weight on the sink, the rest by octaves in equal parts.

    Args:
        measures: other values of some measures.
        fields: other values of some fields.
    """
    kinds = len(KINDS)
    even = np.full((*SHAPE, len(OCTAVES)), 0.5 / len(OCTAVES), dtype=np.float32)
    pairs = np.full((*SHAPE, kinds, kinds), 0.1, dtype=np.float32)
    pairs[..., 0] = 0.5
    shape = (*SHAPE, DECILES, RANKS)
    examples = Examples(
        ids=np.full((*shape, LENGTH), PADDING),
        query=np.zeros(shape, dtype=int),
        key=np.zeros(shape, dtype=int),
        weight=np.zeros(shape),
        activity=np.zeros(shape),
        distance=np.zeros(shape, dtype=int),
    )
    values = {name: np.full(SHAPE, 0.25) for name in MEASURES if name != "next"} | {"first": np.full(SHAPE, 0.5)}
    made = Atlas(
        model="stories",
        architecture="decoder",
        tokens=1_000,
        window=128,
        sources={"tales": 750, "code": 250},
        measures=values | {name: np.array(one, dtype=float) for name, one in (measures or {}).items()},
        distances=even,
        ahead=np.zeros_like(even),
        kinds=KINDS,
        counts=np.full(kinds, 100),
        pairs=pairs,
        by_position=pairs.copy(),
        deciles=np.tile(np.linspace(0.05, 0.95, DECILES), (*SHAPE, 1)),
        examples=examples,
        by_text=np.zeros((*SHAPE, TEXTS)),
        sample=np.zeros((TEXTS, 128), dtype=int),
        means=np.zeros((*SHAPE, 4)),
        usual_before=np.full((*SHAPE, 128), 1 / 128),
        usual_after=np.zeros((*SHAPE, 128)),
    )
    return replace(made, **fields)
