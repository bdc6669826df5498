"""The experiments of the page on the KV cache."""

from collections.abc import Mapping, Sequence

from tfcore.analysis.inference.cached_generation import BothWays, CacheWork, measured, step_costs
from tfcore.analysis.inference.fragmentation import most_at_once, token_shares, waste_shares
from tfcore.analysis.inference.kv_cache import cache_bytes, cache_range, cache_sizes, ways
from tfcore.analysis.inference.paged_memory import MemoryRun, Policy
from tfcore.analysis.inference.serving import Budgets, Model, fit, remedy_names
from tfcore.analysis.precision import Precision
from tfcore.analysis.quantities import Unit
from tfcore.figures.inference.cache_sizes import Size, budget_figure, models_figure, ways_figure
from tfcore.figures.inference.cache_steps import steps_figure
from tfcore.figures.inference.paged_memory import crowd_figure, picture_figure, shares_figure
from tfcore.figures.shown import Shown


def with_and_without(work: CacheWork, done: Sequence[BothWays]) -> Shown:
    """One text generated with the cache and without, step by step: operations and times."""
    return Shown(steps_figure(work, done, height=600), (step_costs(work, done), measured(work, done)))


def sizes(chosen: Model, tokens: int, batch: int, precision: Precision, unit: Unit) -> Shown:
    """How large the cache is, and what sharing keys and values would make of it."""
    found = cache_sizes(chosen.name, chosen.shape, chosen.context, tokens, batch, precision)
    bars = [
        Size(name, shape.kind, size, shape == chosen.shape)
        for (name, size), shape in zip(found.sizes.items(), ways(chosen.shape), strict=True)
    ]
    return Shown(ways_figure(bars, unit, height=270), (found,))


def every_model(
    models: Sequence[Model], chosen: Model, tokens: int, batch: int, precision: Precision, unit: Unit
) -> Shown:
    """The same sequences in every model."""
    dots = [
        Size(model.name, model.shape.kind, cache_bytes(model.shape, tokens, batch, precision), model == chosen)
        for model in models
    ]
    found = cache_range({dot.name: dot.value for dot in dots}, tokens, batch)
    return Shown(models_figure(dots, unit, height=560), (found,))


def fits(chosen: Model, found: Budgets, unit: Unit) -> Shown:
    """Does it fit: weights and the users' caches on a few GPUs, and what each remedy saves."""
    names = remedy_names(found["asked"][0])
    rows = {names[name]: need for name, (_, need) in found.items()}
    return Shown(budget_figure(rows, unit, height=150 + 44 * len(rows)), (fit(chosen, found, unit),))


def memory(runs: Mapping[Policy, MemoryRun], by_request: bool) -> Shown:
    """A trace of requests on contiguous memory and on blocks: what lies where, step by step."""
    return Shown(picture_figure(runs, height=620, by_request=by_request), (token_shares(runs),))


def paging(runs: Mapping[Policy, MemoryRun]) -> Shown:
    """A trace of requests on contiguous memory and on blocks (arXiv:2309.06180): what is wasted."""
    return Shown(shares_figure(runs, height=310), (waste_shares(runs),))


def crowd(runs: Mapping[Policy, MemoryRun]) -> Shown:
    """A trace of requests on contiguous memory and on blocks: how many run at once."""
    return Shown(crowd_figure(runs, height=310), (most_at_once(runs),))
