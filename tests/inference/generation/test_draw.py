"""Pictures of generation: valid for plotly, and the numbers in them are those that were computed."""

import numpy as np
import pytest

from tests.pages.figures import array
from tests.small import model as small
from tfcore.charts import theme
from tfcore.generation.draft_models import early_exit
from tfcore.generation.sampling import Sampling
from tfcore.tokenizers.tokenizer import ByteTokenizer
from tfcore.views.inference.generation.draw import beam_tree, next_token, speculation, text_likelihood
from tfcore.views.inference.generation.measure import beam_tree as trees
from tfcore.views.inference.generation.measure import next_token as tokens
from tfcore.views.inference.generation.measure import speculation as guesses
from tfcore.views.inference.generation.measure.decoding import WrittenToken, read_again

IDS = [3, 1, 4, 1, 5]
BYTES = ByteTokenizer()


def labels(n):
    return [f"t{i}" for i in range(n)]


def drawn_token(place, **settings):
    """A step whose drawn token is at a place that `place` accepts."""
    found = (tokens.next_token(small(), BYTES, IDS, Sampling(**settings), seed, 0) for seed in range(40))
    return next(one for one in found if place(one.place))


def columns(figure):
    """The bars of each filter: what is left, its ghosts or None, and what is hatched or None."""
    traces = figure.to_dict()["data"]
    found = []
    for i in range(6):
        here = [one for one in traces if one["xaxis"] == f"x{i + 1 if i else ''}" and one["type"] == "bar"]
        here = [one | {"x": array(one["x"]) if isinstance(one["x"], dict) else one["x"]} for one in here]
        named = {one.get("name", "now" if "pattern" not in one["marker"] else "cut"): one for one in here}
        found.append(tuple(named.get(name) for name in ("now", "before", "cut")))
    return found


@pytest.mark.parametrize("settings", [{}, {"temperature": 0}, {"top_k": 9, "top_p": 0.8, "repetition_penalty": 1.5}])
def test_columns_of_bars_are_the_distributions(settings):
    found = drawn_token(lambda place: place < next_token.SHOWN, **settings)
    figure = next_token.filters_figure(found)
    theme.check(figure)
    n = next_token.SHOWN
    for i, ((now, before, cut), row) in enumerate(zip(columns(figure), found.probabilities, strict=True)):
        lengths = np.square(np.array(now["x"], dtype=float))
        np.testing.assert_allclose(lengths[:n], row[:n], atol=1e-4)
        assert lengths.sum() == pytest.approx(1, abs=1e-3)
        assert (cut is not None) == (before is not None) == found.is_on[i]
        if i and found.is_on[i]:
            hatched = [place for place in range(n) if cut["x"][place] > 0]
            assert hatched == [place for place in range(n) if row[place] == 0 < found.probabilities[i - 1, place]]
    edges = [line["y0"] for line in figure.to_dict()["layout"]["shapes"] if line["type"] == "line"]
    on = [left for left, is_on in zip(found.left, found.is_on, strict=True) if is_on and left < n]
    assert edges == [left - 0.5 for left in on]


def test_the_axis_is_the_same_for_every_token_and_leaves_room_for_numbers():
    flat, sharp = drawn_token(bool, temperature=5), drawn_token(lambda place: place == 0, temperature=0)
    ends = []
    for found in (flat, sharp):
        layout = next_token.filters_figure(found).to_dict()["layout"]
        ends.append([axis["range"] for name, axis in layout.items() if name.startswith("xaxis")])
    assert ends[0] == ends[1] == [[0, next_token.NUMBERS]] * 6
    said = dict(zip(layout["xaxis"]["tickvals"], layout["xaxis"]["ticktext"], strict=True))
    assert said == {0: "0", 0.5: "25 %", 1: "100 %"}  # square roots


@pytest.mark.parametrize("is_likely", [True, False])
def test_the_drawn_token_has_a_row_of_its_own_that_is_marked(is_likely):
    found = drawn_token(lambda place: (place < next_token.SHOWN) == is_likely)
    figure = next_token.filters_figure(found)
    layout, count = figure.to_dict()["layout"], found.probabilities.shape[1]
    row = found.place if is_likely else next_token.SHOWN
    (note,) = [note for note in layout["annotations"] if "drawn" in note["text"]]
    (band,) = [shape for shape in layout["shapes"] if shape["type"] == "rect"]
    assert (note["y"], band["y0"], band["y1"]) == (row, row - 0.5, row + 0.5)
    assert layout["yaxis"]["ticktext"][row] == next_token.token_label(found, found.place)
    assert layout["yaxis"]["ticktext"][-1] == f"{count - next_token.SHOWN - (not is_likely):,} others"
    last, *_ = columns(figure)[-1]
    assert last["x"][row] ** 2 == pytest.approx(found.probabilities[-1, found.place], abs=1e-4)
    assert last["marker"]["color"][row].startswith("@accent")
    assert sum(length**2 for length in last["x"]) == pytest.approx(1, abs=1e-3)


def test_headings_say_what_is_on_and_what_is_left():
    found = tokens.next_token(small(), BYTES, IDS, Sampling(top_k=9, repetition_penalty=1.5), 1, 0)
    model, penalty, temperature, top_k, top_p, _ = next_token.column_headings(found)
    assert model == f"<b>the model</b><br>{found.probabilities.shape[1]:,} tokens"
    assert (penalty, temperature) == ("<b>repetition<br>penalty</b> 1.5", "temperature<br>off")
    assert (top_k, top_p) == ("<b>top-k</b> 9<br>9 left", "top-p<br>off")


def test_u_falls_on_the_drawn_token():
    for seed in range(6):
        found = tokens.next_token(small(), BYTES, IDS, Sampling(top_p=0.95), seed, 0)
        theme.check(next_token.draw_figure(found, 200))
        starts, widths, places = next_token.segments(found.probabilities[-1], found.place)
        assert sum(widths) == pytest.approx(1, abs=1e-5)
        at = places.index(found.place)
        assert starts[at] - 1e-6 <= found.u <= starts[at] + widths[at] + 1e-6
        assert all(a + w == pytest.approx(b, abs=1e-6) for a, w, b in zip(starts, widths, starts[1:], strict=False))
    theme.check(next_token.ranks_figure(found, 300))


def test_a_long_tail_is_taken_together_around_the_drawn_token():
    p = np.full(1_000, 0.001)
    starts, widths, places = next_token.segments(p, 500)
    assert places[-3:] == [-1, 500, -1]
    assert sum(widths) == pytest.approx(1)
    assert starts[-2] == pytest.approx(0.5)


def test_a_curve_over_a_large_vocabulary_is_drawn_by_few_ranks():
    assert next_token.drawn_ranks(7).tolist() == list(range(1, 8))
    assert next_token.drawn_ranks(0).tolist() == []
    ranks = next_token.drawn_ranks(49_152)
    assert ranks[:300].tolist() == list(range(1, 301))
    assert ranks[-1] == 49_152
    assert len(ranks) <= 500
    steps = ranks[1:] / ranks[:-1]
    assert steps.min() > 1
    assert steps[300:].max() < 1.05


@pytest.mark.parametrize(("p", "end"), [(0.01, 0.1), (0.2, 0.2), (0.21, 0.4), (0.81, 1.0), (1.0, 1.0)])
def test_ends_of_axes(p, end):
    assert speculation.highest(p) == end


def test_curves_end_at_the_mean():
    found = read_again(small(), IDS, [5, 6, 7])
    figure = text_likelihood.likelihood_figure({"greedy": found, "beam": []}, 10, 200)
    theme.check(figure)
    assert figure.data[0].y[-1] == pytest.approx(np.mean(np.log([one.probability for one in found])), abs=1e-5)
    assert [trace.name for trace in figure.data] == ["greedy"]
    theme.check(text_likelihood.likelihood_figure({}, 10, 200))


def test_numbers_at_the_ends_of_curves_do_not_touch():
    ends = {"greedy": 0.3, "beam": 0.31, "sampling": 1.0, "pure": 1e-9}
    texts = {key: [WrittenToken(0, probability, 0)] for key, probability in ends.items()}
    notes = text_likelihood.likelihood_figure(texts, 10, 300).layout.annotations
    pixels = sorted(note.y * (300 - 72) / 4.1 + note.yshift for note in notes)
    assert np.diff(pixels).min() >= 12.9
    assert [note.text for note in notes] == ["-1.20", "-1.17", "0.00", "-20.72"]


@pytest.mark.parametrize("beams", [1, 4])
def test_the_tree_joins_every_node_to_its_parent(beams):
    tree = trees.beam_tree(small(), BYTES, IDS, beams=beams, tokens=5, length_penalty=1.0)
    figure = beam_tree.tree_figure(tree, 400)
    theme.check(figure)
    by_name = {trace["name"]: trace for trace in figure.to_dict()["data"] if "name" in trace}
    assert len(by_name["the best text"]["x"]) == 3 * 5
    lines = len(by_name["kept"]["x"]) + len(by_name["dropped"]["x"])
    assert lines == 3 * len(tree.nodes)
    theme.check(beam_tree.results_figure(tree, 200))
    marks = figure.to_dict()["data"][-1]
    assert [row[1] for row in marks["customdata"]] == [node.probability for node in tree.nodes]


def test_the_two_parts_of_the_rule_add_up():
    model = small(n_layers=3)
    made = next(iter(guesses.watch(model, early_exit(model, 1), IDS, Sampling(), 2, 0, 8)))
    guess = made.guesses[0]
    figure = speculation.acceptance_figure(guess, labels(len(guess.tokens)), 400)
    theme.check(figure)
    np.testing.assert_allclose(figure.data[0].y + figure.data[1].y, np.sort(guess.p_all)[::-1], atol=1e-7)


def test_the_gain_is_drawn_by_the_formula_and_as_it_was_measured():
    found = guesses.SpeedUp(alpha=0.5, per_pass=1.4, guess=1, runs=2, ratio=1.1, cost=0.25)
    figure = speculation.gain_figure(found, 400)
    theme.check(figure)
    assert figure.data[0].y[:3] == (1, 1.5, 1.75)
    assert figure.data[1].y[:2] == (1, 1.5 / 1.25)
    assert [(dot.x[0], dot.y[0]) for dot in figure.data[2:]] == [(1, 1.4), (1, 1.1)]
    untimed = speculation.gain_figure(guesses.SpeedUp(alpha=0.5, per_pass=1.4, guess=1), 400)
    assert [trace.y[-1] for trace in untimed.data[1:]] == [1.4]
