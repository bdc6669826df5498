"""Pictures of generation: valid for plotly, and the numbers in them are those that were computed."""

import numpy as np
import pytest

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


@pytest.mark.parametrize("settings", [{}, {"temperature": 0}, {"top_k": 9, "top_p": 0.8, "repetition_penalty": 1.5}])
def test_rows_of_bars_are_the_distributions(settings):
    found = tokens.next_token(small(), BYTES, IDS, Sampling(**settings), 1, 0)
    figure = next_token.filters_figure(found, 600)
    theme.check(figure)
    drawn = [t for t in figure.data if "pattern" not in t.to_plotly_json()["marker"] and t.name != "before"]
    for trace, row in zip(drawn, found.probabilities, strict=True):
        np.testing.assert_allclose(trace.y[:20], row[:20], atol=1e-5)
        assert np.sum(trace.y) == pytest.approx(1, abs=2e-4)
    ghosts = [t for t in figure.data if t.name == "before"]
    assert len(ghosts) == sum(found.is_on[1:])
    for ghost, bars in zip(ghosts, [t for t in figure.data if t.name == "now"], strict=True):
        for was, now, (_, words) in zip(ghost.y, bars.y, bars.customdata, strict=True):
            said = [float(one) for one in words.split(" → ")]
            assert said == pytest.approx([now] if was is None else [was, now], abs=1e-4)
    lines = figure.to_dict()["layout"]["shapes"]
    on = [n for n, is_on in zip(found.left, found.is_on, strict=True) if is_on and n < 20]
    assert [line["x0"] for line in lines] == [n - 0.5 for n in on]


@pytest.mark.parametrize(("settings", "where"), [({}, "above"), ({"temperature": 0}, "inside")])
def test_the_word_on_the_drawn_bar_leaves_the_heading_alone(settings, where):
    found = next(
        found
        for seed in range(9)
        if (found := tokens.next_token(small(), BYTES, IDS, Sampling(**settings), seed, 0)).place < next_token.SHOWN
    )
    layout = next_token.filters_figure(found, 600).to_dict()["layout"]
    (note,) = [note for note in layout["annotations"] if note["text"] == "drawn"]
    assert (note["x"], note["yref"]) == (found.place, f"y{len(found.probabilities)}")
    assert ("ay" in note, note.get("textangle")) == ((True, None) if where == "above" else (False, -90))


def test_a_drawn_token_without_a_bar_is_among_all_others():
    found = next(
        found
        for seed in range(30)
        if (found := tokens.next_token(small(), BYTES, IDS, Sampling(), seed, 0)).place >= next_token.SHOWN
    )
    layout = next_token.filters_figure(found, 600).to_dict()["layout"]
    (note,) = [note for note in layout["annotations"] if note["text"] == "drawn"]
    assert layout["xaxis"]["ticktext"][note["x"]] == next_token.OTHERS


def test_a_bar_of_all_others_that_leaves_the_axis_says_how_high_it_is():
    found = tokens.next_token(small(), BYTES, IDS, Sampling(temperature=5), 0, 0)
    layout = next_token.filters_figure(found, 600).to_dict()["layout"]
    rest, top = 1 - found.probabilities[:, : next_token.SHOWN].sum(-1), layout["yaxis"]["range"][1]
    assert (rest > top).any()
    said = [note["text"] for note in layout["annotations"] if note["x"] == next_token.SHOWN and note["y"] == top]
    assert said == [f"{share:.0%}" for share in rest if share > top]


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
    assert next_token.highest(p) == end


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


def test_headings_say_what_each_filter_leaves():
    sampling = Sampling(temperature=0.8, top_k=9, top_p=0.75, repetition_penalty=1.5)
    found = tokens.next_token(small(), BYTES, IDS, sampling, 1, 0)
    left = found.left
    assert next_token.row_headings(found) == [
        "<b>the model</b>: 61 tokens",
        "<b>repetition penalty</b> 1.5: tokens that occurred lose → 61 left",
        "<b>temperature</b> 0.8: sharper → 61 left",
        "<b>top-k</b> 9: the first 9 → 9 left",
        f"<b>top-p</b> 0.75: the first that reach 75% → {left[4]} left",
        "min-p: off",
    ]
