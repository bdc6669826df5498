"""Load balancing: a small mixture of experts trained without a remedy, and with one."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from tfcore import routing
from tfcore.measures.stored import read
from tfcore.views.experts.balance import say
from tfcore.views.experts.balance.draw import COLOURS, TrainingCurve, curves_figure, load_bands_figure, load_map_figure
from tfcore.views.experts.balance.measure import (
    BalanceConfig,
    BalanceEvaluation,
    Remedy,
    Where,
    ending,
    fact_floor,
    router_input_cosine,
    train_all,
    train_run,
)
from tfcore.views.kept import kept
from tfcore.views.view import View, view

Runs: TypeAlias = Mapping[BalanceConfig, Sequence[BalanceEvaluation]]
PLACES: tuple[Where, ...] = ("sinusoidal", "rope")
STORED = Path(__file__).with_name("stored.json")


class Method(NamedTuple):
    """How a remedy is computed.

    Args:
        formula: LaTeX.
        source: the paper.
        code: what computes it.
    """

    formula: str
    source: str
    code: Callable[..., Any]


METHODS: dict[Remedy, Method] = {
    "loss": Method(
        formula=r"L = L_{\mathrm{CE}} + \alpha\, N \sum_{i=1}^{N} f_i P_i",
        source="arXiv:2101.03961, equations 4 to 6, with α = 0.01",
        code=routing.load_balancing_loss,
    ),
    "capacity": Method(
        formula=r"\mathrm{capacity} = c\,\frac{\mathrm{characters\ of\ the\ batch}}{N}",
        source="arXiv:2006.16668, section 2.2; the factor c: arXiv:2101.03961, equation 3",
        code=routing.over_capacity,
    ),
    "noise": Method(
        formula=r"p = \mathrm{softmax}(W_r x + \sigma\,\epsilon),\ \epsilon \sim \mathcal{N}(0, 1)"
        r"\qquad L = L_{\mathrm{CE}} + w\,\mathrm{CV}\Big(\sum_x p_i(x)\,[i\ \mathrm{chosen}]\Big)^{2}",
        source="arXiv:1701.06538, equations 4, 6 and 7, with one fixed σ in place of a learned one, and w = 0.1",
        code=routing.importance_loss,
    ),
    "experts": Method(
        formula=r"k = \frac{c \cdot \mathrm{characters\ of\ the\ batch}}{N},\qquad "
        r"\mathrm{expert}\ i\ \mathrm{takes}\ \mathrm{top}_k\big(p_i\big)",
        source="arXiv:2202.09368, section 3.2",
        code=routing.choose_tokens,
    ),
    "bias": Method(
        formula=r"b_i \leftarrow b_i + u \cdot \mathrm{sign}(\bar{c} - c_i),\qquad "
        r"\mathrm{choose}\ \arg\max_i\,(p_i + b_i)",
        source="arXiv:2408.15664, equation 3 and algorithm 1; there with a sigmoid in place of the softmax",
        code=routing.update_balance_bias_,
    ),
}

cosine_of = kept(router_input_cosine, entries=64)


@cache
def stored_runs() -> dict[BalanceConfig, tuple[BalanceEvaluation, ...]]:
    """Each remedy with its usual strength, and none: all looks of trainings that ship."""
    return read(STORED, BalanceConfig, BalanceEvaluation, np.array)


@view
def load(
    config: BalanceConfig, *, as_map: bool = False, height: int = 300, so_far: Sequence[BalanceEvaluation] | None = None
) -> View:
    """The share of the characters that each expert takes in one training, over its steps.

    Args:
        config: of the training.
        as_map: a heatmap in place of bands.
        height: in pixels.
        so_far: its looks until now, at least one; None trains it to its end.
    """
    looks = train_all((config,))[config] if so_far is None else so_far
    draw = load_map_figure if as_map else load_bands_figure
    return View(
        key=f"load_{config.remedy}",
        title=f"The load, {config.name}",
        result=looks,
        chart=draw(looks, config.steps, height),
        findings=(say.last_load(config, looks),),
    )


@view
def remedies(configs: Sequence[BalanceConfig], chosen: BalanceConfig, *, so_far: Runs | None = None) -> View:
    """A mixture of experts trained without a balancing method and, on the same batches, with one.

    Args:
        configs: of the trainings, that without a method first.
        chosen: one of them, with a method.
        so_far: the looks of each until now, at least one; None trains all of them to their end.
    """
    runs = train_all(configs) if so_far is None else so_far
    curves = [
        TrainingCurve(config.name, looks, colour)
        for (config, looks), colour in zip(runs.items(), COLOURS, strict=False)
    ]
    method = METHODS[chosen.remedy]
    alike = say.input_cosines({where: cosine_of(BalanceConfig(positions=where, seed=chosen.seed)) for where in PLACES})
    return View(
        key="curves",
        title="All trainings over the same steps",
        result=runs,
        chart=curves_figure(curves, chosen.steps, fact_floor(), height=720),
        findings=(say.run_ends(runs),),
        table=lambda: _every_look(runs),
        formula=(
            r"\begin{gathered} y = p_i(x)\, E_i(x), \quad i = \arg\max_j\, p_j(x), \quad "
            rf"p(x) = \mathrm{{softmax}}(W_r\, x) \\ {method.formula} \end{{gathered}}"
        ),
        papers=(
            f"Papers: {method.source}; top-1 routing weighted by the probability, as in arXiv:2101.03961, equation 2. "
            "Task: sentences of a small artificial language in which the first two words decide the others, character "
            "by character; a decoder of one layer, width 64, 8 experts of width 16 (SwiGLU), 16 sequences of 48 "
            "characters per step, AdamW at 0.003 with 20 steps of warm-up. What makes it collapse: top-1 routing, no "
            "balance loss, and added positions (arXiv:1706.03762), which make the inputs of an untrained router "
            f"alike. {alike} Seeds differ: a second expert may get a share without any method."
        ),
        code=(method.code, train_run),
    )


def _every_look(runs: Runs) -> pd.DataFrame:
    """The numbers behind all curves, one row for each look."""
    return pd.DataFrame(
        {
            "remedy": config.name,
            "step": look.step,
            "entropy / ln 8": look.entropy,
            "without an expert": look.lost,
            "beyond room for 1.25": look.overflow,
            "training loss": look.loss,
            "held-out loss": look.held_out,
            **{f"load of expert {i + 1}": share for i, share in enumerate(look.load.tolist())},
        }
        for config, looks in runs.items()
        for look in looks
    )


def compared(runs: Runs) -> pd.DataFrame:
    """A row for each training, of the last tenth of its steps."""
    ends = {config.name: ending(looks) for config, looks in runs.items()}
    return pd.DataFrame(
        {
            "remedy": name,
            "largest": 100 * end.largest,
            "idle": end.idle,
            "entropy": end.entropy,
            "no expert": 100 * end.lost,
            "over 1.25": 100 * end.overflow,
            "training loss": end.loss,
            "held-out loss": end.held_out,
            "in generation": end.written,
        }
        for name, end in ends.items()
    )
