"""The portrait of a head: what is drawn of a text, and which arcs."""

import itertools

import numpy as np
import pytest

from tfcore.views.foundations.heads.draw.portrait import (
    BROAD,
    FAINT,
    FAR,
    GAP,
    GAP_WIDTH,
    LETTER,
    OTHERS,
    SIZES,
    line_of,
    portrait,
)

WORDS = ["The", "animal", "was", "tired", "it"]
PATTERN = np.array(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [0.9, 0.1, 0.0, 0.0, 0.0],
        [0.2, 0.2, 0.6, 0.0, 0.0],
        [0.24, 0.24, 0.24, 0.28, 0.0],
        [0.05, 0.7, 0.2, 0.04, 0.01],
    ]
)


def arcs(figure):
    return [shape for shape in figure.layout.shapes if shape.type == "path"]


def test_the_chosen_token_has_an_arc_for_each_weight_and_the_others_their_strongest_look_elsewhere():
    own = sum(weight >= FAINT for key, weight in enumerate(PATTERN[4]) if key != 4)
    others = sum(row.max() >= OTHERS and row.argmax() != query for query, row in enumerate(PATTERN[:4]))
    assert (own, others) == (4, 1)
    drawn = arcs(portrait(PATTERN, line_of(WORDS, PATTERN[4], 4), 4))
    assert len(drawn) == own + others
    assert max(drawn, key=lambda arc: arc.line.width).opacity == pytest.approx(0.25 + 0.75 * 0.7)


def test_the_largest_weights_stand_under_their_words():
    figure = portrait(PATTERN, line_of(WORDS, PATTERN[4], 4), 4)
    middle = dict(zip(WORDS, figure.data[0].x, strict=True))
    numbers = {note.text: note.x for note in figure.layout.annotations}
    assert numbers == {"0.70": middle["animal"], "0.20": middle["was"], "0.05": middle["The"]}


def test_a_token_that_looks_at_itself_has_no_arc():
    assert [arc.opacity for arc in arcs(portrait(np.eye(3), line_of(WORDS[:3], np.eye(3)[1], 1), 1))] == []


NOTHING = np.zeros(100)


@pytest.mark.parametrize(("n", "chosen"), [(5, 0), (5, 4), (100, 0), (100, 50), (100, 99)])
def test_the_part_of_a_long_text_that_is_drawn_fits_a_line_and_has_the_chosen_token(n, chosen):
    labels = ["x" * (1 + i % 7) for i in range(n)]
    line = line_of(labels, NOTHING[:n], chosen)
    assert chosen in line.tokens
    assert line.pixels <= BROAD + 16
    start, stop = line.tokens[0], line.tokens[-1] + 1
    assert line.tokens == tuple(range(start, stop))
    assert len(line.gaps) == (start > 0) + (stop < n)
    words = sum(len(label) + 1 for label in line.labels)
    more = [len(labels[i]) + 1 for i in (start - 1, stop) if 0 <= i < n]
    assert not more or (words + max(more) + 2 * GAP_WIDTH) * LETTER * SIZES[0] > BROAD
    if start > 0 and stop < n:
        assert chosen - start > stop - chosen


@pytest.mark.parametrize("key", [0, 3, 40, 99])
def test_a_word_that_is_looked_at_is_drawn_with_its_neighbours_however_far_away(key):
    labels, weights = ["12345"] * 100, NOTHING.copy()
    weights[[key, 50]] = 0.8, FAR - 0.01
    line = line_of(labels, weights, 98)
    assert {max(0, key - 1), key, min(99, key + 1), 98} <= set(line.tokens)
    assert 50 not in line.tokens
    assert line.pixels <= BROAD + 16
    holes = sum(b > a + 1 for a, b in itertools.pairwise((-1, *line.tokens, 100)))
    assert len(line.gaps) == holes
    drawn = portrait(np.tile(weights, (100, 1)), line, 98)
    assert tuple(drawn.data[0].customdata) == line.tokens
    assert sum(note.text == GAP for note in drawn.layout.annotations) == holes
    (strong,) = [arc for arc in arcs(drawn) if arc.line.width > 5]
    start, end = (float(line.middle[line.tokens.index(token)]) for token in (98, key))
    assert strong.path.startswith(f"M {start:.2f},")
    assert strong.path.endswith(f" {end:.2f},0.09")


def test_a_word_longer_than_the_line_is_drawn_alone():
    assert line_of(["a", "x" * 400, "b"], np.array([1.0, 0, 0]), 1).tokens == (1,)


def test_words_stand_one_after_the_other_within_the_width():
    line = line_of(WORDS, PATTERN[4], 4)
    places = [line.place(i) for i in range(len(WORDS))]
    assert places == sorted(places)
    assert places[0] > 0
    assert places[-1] < line.pixels


@pytest.mark.parametrize("letters", [1, 7, 12])
def test_no_word_of_a_long_line_lies_over_the_next(letters):
    labels = ["x" * letters] * 48
    line = line_of(labels, np.eye(48)[3], 3)
    drawn = portrait(np.eye(48), line, 3)
    (words,), (start, end) = drawn.data, drawn.layout.xaxis.range
    pixels = (line.pixels - 8) / (end - start)  # a column
    assert np.diff(words.x).min() * pixels >= 0.6 * words.textfont.size * letters
