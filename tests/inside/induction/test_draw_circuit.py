"""Pictures of two heads at work together: every pair is drawn once, those of the circuit are filled."""

import numpy as np

from tfcore.charts import theme
from tfcore.measures.heads.compositions import Composition
from tfcore.measures.heads.induction_heads import HeadTests
from tfcore.views.inside.induction.draw import circuit as figures
from tfcore.views.inside.induction.measure.circuit import PatchedRun, drawn_every, places_of_drawn

SCORES = np.full((2, 2, 3), 0.1)


def test_strips_hold_every_pair_and_fill_those_of_the_circuit():
    keys = SCORES.copy()
    keys[1, 0, 2] = 0.4
    result = Composition({"query": SCORES, "key": keys, "value": SCORES}, 0.1, 0.01)
    figure = figures.strips_figure(result, 2, [(0, 2)], [(2, 1)], 360)
    theme.check(figure)
    assert sum(len(trace.x) for trace in figure.data) == 3 * SCORES.size
    filled = [trace for trace in figure.data if trace.marker.symbol == "diamond"]
    assert [list(trace.text) for trace in filled] == [["0.2 → 2.1"]] * 3
    assert [round(float(trace.x[0]), 2) for trace in filled] == [0.1, 0.4, 0.1]
    named = [note.text for note in figure.layout.annotations]
    assert named == ["random matrices: 0.100", "0.2 → 2.1"]  # the only one far from random
    band = figure.layout.shapes[0]
    assert np.allclose((band.x0, band.x1), (0.08, 0.12))


def test_of_very_many_pairs_the_highest_and_some_of_the_others_are_drawn():
    scores = np.random.default_rng(0).random((32, 26, 32))  # a layer of 32 heads above 26 of them
    scores[3, 5, 7] = 0.0  # the lowest, of the circuit
    result = Composition(dict.fromkeys(("query", "key", "value"), scores), 0.5, 0.01)
    figure = figures.strips_figure(result, 26, [(5, 7)], [(26, 3)], 360)
    for hollow, filled in zip(figure.data[::2], figure.data[1::2], strict=True):
        assert list(filled.text) == ["5.7 → 26.3"]
        assert len(hollow.x) <= 2_500
        threshold = np.sort(scores.ravel())[-800].astype(np.float32)
        assert (np.asarray(hollow.x) >= threshold).sum() == 800
    assert 800 + np.ceil((scores.size - 800) / drawn_every(scores.size)) == len(places_of_drawn(scores))
    assert drawn_every(2_349) == 1  # SmolLM2's heads of layer 29


def test_path_patching_shows_both_numbers_of_every_run():
    runs = [PatchedRun(patched, 0.1 * i, 5.0, float(i)) for i, patched in enumerate(figures.PATCHED)]
    figure = figures.path_patching_figure(runs, 4.2, 300)
    theme.check(figure)
    assert np.allclose(figure.data[0].x, [0, 0.1, 0.2, 0.3, 0.4])
    assert list(figure.data[1].x) == [0, 1, 2, 3, 4]
    assert figure.to_dict()["layout"]["xaxis2"]["range"][1] > 4.2


def test_every_head_under_both_tests():
    ranks = np.array([[0.125, 1.0]]), np.array([[0.0, 0.5]]), np.array([[13.0, 2.0]])
    result = HeadTests(np.array([[0.0, 0.9]]), np.array([[-0.9, 0.3]]), *ranks)
    for selected in ([], [(0, 1)]):
        figure = figures.head_tests_figure(result, selected, 25, 300)
        theme.check(figure)
        assert [len(trace.x) for trace in figure.data] == [2 - len(selected), len(selected)]
    assert figure.data[1].x[0] == 0.9
    assert figure.layout.annotations[-1].text == "0.1"
    figure = figures.head_tests_figure(result, [(0, 1)], 25, 300, by_rank=True)
    theme.check(figure)
    assert [(trace.x[0], trace.y[0]) for trace in figure.data] == [(0.125, 0.0), (1.0, 0.5)]


def test_dots_that_lie_close_together_share_their_names():
    x, y = np.array([[0.9, 0.88, 0.3]]), np.array([[-0.9, -0.85, -0.9]])
    result = HeadTests(x, y, x, y, x)
    figure = figures.head_tests_figure(result, [(0, 0), (0, 1), (0, 2)], 25, 300)
    assert [note.text for note in figure.layout.annotations[1:]] == ["0.0, 0.1", "0.2"]
    x = y = np.linspace(0.9, 0.91, 5)[None]
    figure = figures.head_tests_figure(HeadTests(x, y, x, y, x), [(0, i) for i in range(5)], 25, 300)
    assert [note.text for note in figure.layout.annotations[1:]] == ["0.4 and 4 more"]
