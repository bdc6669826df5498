"""Time and memory of one layer by the length of the text: softmax attention, and a state in its three forms."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from tfcore.checks import check_whole
from tfcore.measures.timing import on_cpu, repeated, seconds_of
from tfcore.mixers import Rule, chunked, implied_matrix, recurrent, unit

Form = Literal["attention", "matrix", "chunked", "recurrent"]
FORMS: tuple[Form, ...] = get_args(Form)
LENGTHS = (64, 128, 256, 512, 1024, 2048)
REPEATS = 8  # runs of one point, at most
SPENT = 0.5  # seconds for the runs of one point, after which no other begins
KEPT = Path(__file__).with_name("lengths.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthConfig:
    """What is timed: the gated delta rule, forward, one text.

    Args:
        n_heads: heads.
        d_head: width of the keys and values of each.
        seed: of queries, keys and values.

    Raises:
        ValueError: naming the value and what would do.
    """

    n_heads: int = 4
    d_head: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole(self, n_heads=(1, 16), d_head=(8, 128), seed=(0, 9_999))

    def kept_numbers(self, form: Form, n: int) -> int:
        """Numbers that generation keeps of n tokens: all keys and values, or one state a head."""
        each = 2 * n * self.d_head if form == "attention" else self.d_head * self.d_head
        return self.n_heads * each


@dataclass(frozen=True, slots=True)
class TimedLength:
    """One form at one length.

    Args:
        n: tokens.
        seconds: of the quickest run.
    """

    n: int
    form: Form
    seconds: float


@dataclass(frozen=True, slots=True)
class TimedLengths:
    """All points, the largest difference between the forms of the state, and where they were measured."""

    config: LengthConfig
    points: tuple[TimedLength, ...]
    difference: float
    machine: str


def time_lengths(config: LengthConfig) -> Iterator[TimedLengths | None]:
    """Every form at every length, from short to long: yields all points so far after each, and None in between."""
    points, apart = list[TimedLength](), 0.0
    for n in LENGTHS:
        runs = forms(config, n)
        outputs = {form: run() for form, run in runs.items()}  # the first run allocates
        apart = max(
            apart, *(float((outputs[form] - outputs["recurrent"]).abs().max()) for form in ("matrix", "chunked"))
        )
        for form, run in runs.items():
            seconds = yield from repeated(partial(seconds_of, run), REPEATS, SPENT)
            points.append(TimedLength(n, form, min(seconds)))
            yield TimedLengths(config, tuple(points), apart, on_cpu())


def forms(config: LengthConfig, n: int) -> dict[Form, Callable[[], Float[Tensor, "batch head seq d_head"]]]:
    """The same queries, keys and values through softmax attention, and through the gated delta rule in its three
    forms."""
    generator = torch.Generator().manual_seed(config.seed)
    shape = (1, config.n_heads, n, config.d_head)
    q, k, v = (torch.randn(shape, generator=generator) for _ in range(3))
    decay = -0.05 * torch.rand(*shape[:3], 1, generator=generator)
    rule = Rule(log_decay=decay, strength=torch.rand(shape[:3], generator=generator), erase=True)
    rows = unit(q), unit(k), v
    return {
        "attention": partial(F.scaled_dot_product_attention, q, k, v, is_causal=True),
        "matrix": lambda: implied_matrix(*rows[:2], rule) @ v,
        "chunked": lambda: chunked(*rows, rule)[0],
        "recurrent": lambda: recurrent(*rows, rule)[0],
    }


def timed(config: LengthConfig) -> TimedLengths:
    """All points of a measurement, made to its end."""
    return [so_far for so_far in time_lengths(config) if so_far is not None][-1]


@cache
def kept_lengths() -> TimedLengths:
    """The measurement that ships; `python -m tfcore.training mixing` makes it anew."""
    kept = json.loads(KEPT.read_text("utf-8"))
    points = tuple(TimedLength(**point) for point in kept["points"])
    return TimedLengths(LengthConfig(**kept["config"]), points, kept["difference"], kept["machine"])
