"""Pictures of the history: valid for plotly, every entry there once, and clicks that name it."""

import pytest

from tfcore.charts import theme
from tfcore.measures.token_counts import SEQUENCES
from tfcore.views.reference.history import draw, measure
from tfcore.views.reference.history.measure import FAMILIES, SequenceLength, milestones


def marks(figure):
    return [trace for trace in figure.data if trace.customdata is not None]


@pytest.mark.parametrize("by", ["field", "family"])
@pytest.mark.parametrize("words", ["", "attention", "nothing has this"])
def test_every_entry_is_drawn_once(by, words):
    layout, shown = measure.timeline(by), measure.matching(words=words)
    chosen = shown[0] if shown else None
    related = measure.descendants(chosen) if chosen else set()
    figure = draw.timeline_figure(layout, shown, chosen, related, edges=by == "family")
    theme.check(figure)
    labelled = [key for trace in marks(figure) for key in trace.customdata]
    assert sorted(labelled) == sorted(shown)
    assert [trace.name for trace in marks(figure)] == list(FAMILIES.values())
    faint = next(trace for trace in figure.data if trace.marker.size == 4)
    assert len(faint.x) == len(milestones()) - len(shown)
    rings = [trace for trace in figure.data if trace.mode == "markers" and trace.marker.size == 16]
    assert [(ring.x[0], ring.y[0]) for ring in rings] == (
        [(round(layout.x[chosen], 4), layout.row[chosen])] if chosen else []
    )


@pytest.mark.parametrize("edges", [False, True])
def test_labels_that_lines_may_cross_have_a_ground_and_that_of_the_ring_stands_beside_it(edges):
    layout, entries = measure.timeline("family"), milestones()
    figure = draw.timeline_figure(layout, list(entries), "gpt2", {"gpt"}, edges=edges)
    labels = {label.text: label for label in figure.layout.annotations}
    assert len(labels) == (len(entries) if edges else 1)
    assert all(label.bgcolor.startswith("@paper") for label in labels.values())
    assert labels["<b>GPT-2</b>"].xshift > 8, "the ring is 16 wide"
    written = [word for trace in marks(figure) for word in trace.text if word]
    assert len(written) + len(labels) == len(entries)
    assert not edges or labels["BERT"].font.color == "@muted"


@pytest.mark.parametrize("by", ["field", "family"])
def test_a_window_shows_a_timeline_whole(by):
    layout = measure.timeline(by)
    assert draw.height_of(layout) <= 900
    assert (draw.height_of(layout) - draw.TOP - draw.BOTTOM) / layout.rows >= 14, "fold some rows away"


def test_the_place_of_an_entry_is_where_plotly_draws_it():
    layout = measure.timeline("field")
    figure = draw.timeline_figure(layout, [], None)
    first, last = figure.layout.xaxis.range
    left, right = figure.layout.margin.l, figure.layout.margin.r
    share = (layout.x["transformer"] - first) / (last - first)
    assert draw.place_of(layout, "transformer") == round(left + share * (900 - left - right))


def test_lines_join_the_chosen_entry_with_its_neighbours():
    layout, entries = measure.timeline("family"), milestones()
    figure = draw.timeline_figure(layout, list(entries), "gpt2", set(), edges=True)
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    own = lines[-1]
    neighbours = len(entries["gpt2"].after) + sum("gpt2" in entry.after for entry in entries.values())
    assert own.x.count(None) == neighbours
    assert sum(line.x.count(None) for line in lines) == sum(len(entry.after) for entry in entries.values())
    assert (own.x[0], own.y[0]) == (round(layout.x["gpt"], 4), layout.row["gpt"])


def test_the_chosen_bar_has_the_present_length():
    figure = draw.lengths_figure(SequenceLength("image", False, 785, 785**2, 0.1), 300)
    theme.check(figure)
    bars = dict(zip(figure.data[0].customdata, figure.data[0].x, strict=True))
    assert (bars["image"], bars["video"]) == (785, 3_136)
    assert list(bars) == sorted(SEQUENCES, key=lambda kind: SEQUENCES[kind].published())
