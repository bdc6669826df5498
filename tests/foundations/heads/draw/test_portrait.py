"""The portrait of a head: what is drawn of a text, and which arcs."""

import numpy as np
import pytest

from tfcore.views.foundations.heads.draw.portrait import BROAD, FAINT, OTHERS, drawn_tokens, portrait, portrait_place
from tfcore.views.foundations.heads.draw.portrait import portrait_width as width_of

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
    drawn = arcs(portrait(PATTERN, WORDS, 4))
    assert len(drawn) == own + others
    assert max(drawn, key=lambda arc: arc.line.width).opacity == pytest.approx(0.25 + 0.75 * 0.7)


def test_the_largest_weights_stand_under_their_words():
    figure = portrait(PATTERN, WORDS, 4)
    middle = dict(zip(WORDS, figure.data[0].x, strict=True))
    numbers = {note.text: note.x for note in figure.layout.annotations}
    assert numbers == {"0.70": middle["animal"], "0.20": middle["was"], "0.05": middle["The"]}


def test_a_token_that_looks_at_itself_has_no_arc():
    assert [arc.opacity for arc in arcs(portrait(np.eye(3), WORDS[:3], 1))] == []


@pytest.mark.parametrize(("n", "chosen"), [(5, 0), (5, 4), (100, 0), (100, 50), (100, 99)])
def test_the_part_of_a_long_text_that_is_drawn_fits_a_line_and_has_the_chosen_token(n, chosen):
    labels = ["x" * (1 + i % 7) for i in range(n)]
    drawn = drawn_tokens(labels, chosen)
    assert chosen in drawn
    assert width_of([labels[i] for i in drawn]) <= BROAD + 16
    one_more = [drawn.start - 1] * (drawn.start > 0) + [drawn.stop] * (drawn.stop < n)
    assert all(width_of([labels[i] for i in (*drawn, other)]) > BROAD for other in one_more)
    if drawn.start > 0 and drawn.stop < n:
        assert chosen - drawn.start > drawn.stop - chosen


def test_a_word_longer_than_the_line_is_drawn_alone():
    assert drawn_tokens(["a", "x" * 400, "b"], 1) == range(1, 2)


def test_words_stand_one_after_the_other_within_the_width():
    places = [portrait_place(WORDS, i) for i in range(len(WORDS))]
    assert places == sorted(places)
    assert places[0] > 0
    assert places[-1] < width_of(WORDS)


@pytest.mark.parametrize("letters", [1, 7, 12])
def test_no_word_of_a_long_line_lies_over_the_next(letters):
    labels = ["x" * letters] * 48
    drawn = portrait(np.eye(48), labels, 3)
    (words,), (start, end) = drawn.data, drawn.layout.xaxis.range
    pixels = (width_of(labels) - 8) / (end - start)  # a column
    assert np.diff(words.x).min() * pixels >= 0.6 * words.textfont.size * letters
