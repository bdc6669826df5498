"""The experiments of the page on parameters."""

from collections.abc import Mapping

from tfcore.analysis.model.costs import ModelCosts, memory_found, parameters_found
from tfcore.figures.model.parameters import View, count_figure, memory_figure
from tfcore.figures.shown import Shown
from tfcore.measures.precision import Dtype

HEIGHTS: dict[View, int] = {"ring": 360, "treemap": 460, "blocks": 460}  # pixels; a ring fills no more on a phone


def counted(costs: Mapping[str, ModelCosts], view: View) -> Shown:
    """Where the parameters of a model are, counted without building it."""
    name, first = next(iter(costs.items()))
    return Shown(count_figure(first.count, view, HEIGHTS[view]), (parameters_found(name, first),))


def memory(costs: Mapping[str, ModelCosts], batch: int, seq: int, dtype: Dtype) -> Shown:
    """The memory of one model or of two, in training and in generating."""
    uses = {name: one.memory for name, one in costs.items()}
    figure = memory_figure(uses, ("train", "generate"), 156 + 44 * len(uses))
    return Shown(figure, (memory_found(costs, batch, seq, dtype),))
