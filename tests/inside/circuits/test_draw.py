"""Pictures of attribution graphs: every node and link is drawn once, tokens are below, layers upward."""

import numpy as np
import pytest

from tfcore.charts import theme
from tfcore.views.inside.circuits.draw import features as figures
from tfcore.views.inside.circuits.measure.diagram import Diagram, Links
from tfcore.views.inside.circuits.measure.effects import TakenOff
from tfcore.views.inside.circuits.measure.graph import EMBEDDING, ERROR, FEATURE, OUTPUT, Output

KINDS = [EMBEDDING, EMBEDDING, FEATURE, FEATURE, ERROR, FEATURE, OUTPUT]
LAYERS = [-1, -1, 0, 0, 0, 1, 2]
POSITIONS = [0, 1, 1, 1, 1, 1, 1]


def diagram() -> Diagram:
    edges = np.zeros((7, 7))
    edges[2, 0], edges[3, 1], edges[5, 2], edges[6, 5], edges[6, 4] = 2.0, -1.0, 3.0, 4.0, -0.5
    return Diagram(
        members=((0,), (1,), (2, 3), (4,), (5,), (6,), (7,)),
        kind=np.array(KINDS),
        layer=np.array(LAYERS),
        position=np.array(POSITIONS),
        influence=np.array([0.3, 0.2, 0.5, 0.1, 0.2, 0.6, 1.0]),
        effects=np.array([1.0, -0.5, 2.0, -1.0, 0.1, 3.0, 0.0]),
        edges=edges,
        strength=np.abs(edges),
        keys=tuple("abcdefg"),
        labels=("<b>", "b", "c", "d", "e", "f", "·he − ·she"),
        hovers=tuple("abcdefg"),
    )


def traces(figure, kind):
    return [trace for trace in figure.data if trace.mode == kind]


def test_every_node_is_drawn_once_and_every_link():
    figure = figures.graph_figure(diagram(), ["a", "b"], None, 520)
    theme.check(figure)
    marks = traces(figure, "markers+text")
    assert sorted(node for trace in marks for node in trace.customdata) == list(range(7))
    assert {trace.name for trace in marks} >= {"features that raise the output", "features that lower it"}
    assert [text for trace in marks for text in trace.text if text] == ["2"]  # of a group
    lines = [trace for trace in traces(figure, "lines") if trace.hoverinfo == "skip"]
    gaps = sum(int(np.isnan(np.asarray(trace.x, dtype=float)).sum()) for trace in lines)
    assert gaps == np.count_nonzero(diagram().edges)
    below = [trace.line.color for trace in lines]
    assert set(below) == {figures.RAISES, figures.LOWERS}
    assert list(figure.layout.yaxis.ticktext) == ["tokens", "layer 0", "layer 1", "output"]
    assert "·he − ·she" in [note.text for note in figure.layout.annotations]


def test_links_of_the_selected_node_stand_out():
    figure = figures.graph_figure(diagram(), ["a", "b"], 5, 520)
    theme.check(figure)
    lines = [trace for trace in traces(figure, "lines") if trace.hoverinfo == "skip"]
    bright = sum(
        int(np.isnan(np.asarray(trace.x, dtype=float)).sum()) for trace in lines if trace.opacity > figures.FAINT
    )
    assert bright == 2
    framed = [w for trace in traces(figure, "markers+text") for w in trace.marker.line.width if w == 3]
    assert framed == [3]


def test_nodes_of_a_cell_do_not_cover_each_other():
    places = figures.place_nodes(diagram(), ["a", "a long token"])
    points = set(zip(places.x.round(3).tolist(), places.y.round(3).tolist(), strict=True))
    assert len(points) == 7
    cell = places.x[2:5]
    assert (np.diff(cell) >= figures.NODE).all()
    assert (np.abs(cell - places.columns[1]) <= 1.01 * figures.NODE).all()
    assert figures.node_place(diagram(), ["a", "a long token"], 6) == int(places.x[6]) + figures.LEFT
    assert figures.graph_width(diagram(), ["a", "b"]) > places.width / 2


def test_contributions_are_bars_with_their_numbers():
    incoming = Links((("token '<a>' (0)", 2.0), ("3 others", -1.0), ("biases", 0.25)), 1.25)
    figure = figures.links_figure(incoming, Links((), 0.0), 300)
    theme.check(figure)
    assert list(figure.data[0].x) == [2.0, -1.0, 0.25]
    assert list(figure.data[0].marker.color) == [figures.RAISES, figures.LOWERS, figures.RAISES]
    assert "&lt;a&gt;" in figure.layout.yaxis.ticktext[0]
    assert len(figure.data) == 1  # nothing reads it
    assert len(figures.links_figure(incoming, incoming, 300).data) == 2


def test_forecasts_are_dots_beside_the_line_of_equals():
    found = TakenOff(
        np.array([3, 4]),
        np.array([1.0, -1.0]),
        np.zeros(2),
        np.array([0.5, -2.0]),
        np.array([0.9, -1.1]),
        Output(3),
        7.0,
    )
    figure = figures.forecast_figure(found, ["one", "two"], 360)
    theme.check(figure)
    assert [list(dots.x) for dots in figure.data] == [[1.0, -1.0]] * 2
    assert [list(dots.y) for dots in figure.data] == [pytest.approx([0.9, -1.1]), [0.5, -2.0]]
    line = figure.layout.shapes[0]
    assert (line.x0, line.x1) == (line.y0, line.y1)
    assert line.x0 < -2
