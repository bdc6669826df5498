"""The experiments of the page on balance."""

from collections.abc import Mapping, Sequence

from tfcore.analysis.experts.balance import BalanceConfig, BalanceLook, fact_floor
from tfcore.analysis.experts.balance_findings import last_load, remedy_effect, run_ends
from tfcore.figures.experts.balance import COLOURS, Curve, curves_figure, load_bands_figure, load_map_figure
from tfcore.figures.shown import Shown


def load(config: BalanceConfig, looks: Sequence[BalanceLook], as_map: bool, height: int) -> Shown:
    """The share of the characters that each expert takes in one training, over its steps."""
    draw = load_map_figure if as_map else load_bands_figure
    return Shown(draw(looks, config.steps, height), (last_load(config, looks),))


def remedies(runs: Mapping[BalanceConfig, Sequence[BalanceLook]], chosen: BalanceConfig, phrase: str) -> Shown:
    """A mixture of experts trained without a balancing method and, on the same batches, with one."""
    curves = [Curve(config.name, looks, colour) for (config, looks), colour in zip(runs.items(), COLOURS, strict=False)]
    figure = curves_figure(curves, chosen.steps, fact_floor(), height=720)
    return Shown(figure, (run_ends(runs), remedy_effect(runs, chosen, phrase)))
