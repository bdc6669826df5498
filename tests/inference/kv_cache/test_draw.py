"""Pictures of caches: valid for plotly, small, and true to their numbers; bytes in words in both units."""

import numpy as np
import pytest

from tests.small import config
from tfcore.charts import theme
from tfcore.measures.quantities import scale
from tfcore.views.inference.kv_cache.draw import memory as paged_memory
from tfcore.views.inference.kv_cache.draw import sizes as cache_sizes
from tfcore.views.inference.kv_cache.draw import steps as cache_steps
from tfcore.views.inference.kv_cache.draw.sizes import Size
from tfcore.views.inference.kv_cache.measure.generation import BothWays, cache_work
from tfcore.views.inference.kv_cache.measure.paging import FREE, LATER, NEVER, NOBODY, STRANDED, TOKEN, Traffic, compare
from tfcore.views.inference.kv_cache.measure.serving import Budget

WORK = cache_work(config(), 4, 12)
STEPS = [BothWays(i, 0.01, 0.02 + i / 100, 1e-6, True) for i in range(7)]
SIZES = [Size("a", "MHA", 85_899_345_920), Size("b", "GQA", 10**10, True), Size("c", "MLA", 0), Size("d", "MQA", 5)]
TIGHT, WIDE = Budget(30, 60, 5, 80, 0, 0), Budget(30, 10, 5, 80, 9, 9)
RUNS = compare(Traffic(requests=12, prompt=8, output=16, longest=64), 256, 16)

FIGURES = {
    "steps": lambda: cache_steps.steps_figure(WORK, STEPS, 600),
    "no step yet": lambda: cache_steps.steps_figure(WORK, [], 600),
    "ways": lambda: cache_sizes.ways_figure(SIZES, "binary", 300),
    "models": lambda: cache_sizes.models_figure(SIZES[:2], "decimal", 300),
    "budget": lambda: cache_sizes.budget_figure({"x": TIGHT, "y": WIDE}, "decimal", 300),
    "picture": lambda: paged_memory.picture_figure(RUNS, 600, by_request=False),
    "by request": lambda: paged_memory.picture_figure(RUNS, 600, by_request=True),
    "shares": lambda: paged_memory.shares_figure(RUNS, 300),
    "crowd": lambda: paged_memory.crowd_figure(RUNS, 300),
}


@pytest.mark.parametrize("name", FIGURES)
def test_plotly_accepts_it_in_both_themes_and_it_is_small(name):
    figure = FIGURES[name]()
    theme.check(figure)
    assert len(figure.to_json()) < 120_000


def test_only_what_is_done_is_drawn_in_full_colour():
    traces = FIGURES["steps"]().data
    assert sorted({len(trace["x"]) for trace in traces}) == [7, 12]
    bars = [trace for trace in traces if trace["type"] == "bar"]
    total = np.sum([trace["y"] for trace in bars], axis=0) * scale(float(WORK.held[-1]), "decimal")[0]
    np.testing.assert_allclose(total, WORK.held[:7], rtol=1e-6)


def test_the_line_through_the_times_leaves_one_slow_step_out():
    values = np.array([1.0] * 5 + [90.0] + [1.0] * 5)
    assert cache_steps.smoothed(values).tolist() == [1.0] * 11


def test_bars_are_what_is_held():
    bars = FIGURES["budget"]().data
    assert [sum(trace["x"][row] for trace in bars) for row in (0, 1)] == [95, 45]


def test_the_map_has_a_colour_for_every_state_and_covers_all_of_the_memory():
    trace = FIGURES["picture"]().data[0]
    run = RUNS["reserve"]
    stops = trace["colorscale"]
    for state in (FREE, TOKEN, LATER, NEVER, STRANDED):
        place = (state + 0.5) / 5
        inside = [
            colour for (low, colour), (high, _) in zip(stops[::2], stops[1::2], strict=True) if low < place < high
        ]
        assert inside == [paged_memory.STATES[state][1]]
    rows, columns = trace["z"].shape
    assert trace["y0"] - trace["dy"] / 2 == 0
    assert trace["y0"] + (rows - 0.5) * trace["dy"] == run.slots
    assert trace["x0"] + (columns - 0.5) * trace["dx"] == pytest.approx(run.steps - 0.5)


def test_what_holds_no_token_has_no_owners_colour():
    z = FIGURES["by request"]().data[0]["z"]
    run = RUNS["reserve"]
    waste, nobody = 1 + len(theme.CATEGORIES), 0
    assert set(np.unique(z[run.owners == NOBODY])) <= {nobody}
    assert (z[(run.owners != NOBODY) & (run.picture != TOKEN)] == waste).all()
    assert (z[(run.owners != NOBODY) & (run.picture == TOKEN)] < waste).all()
