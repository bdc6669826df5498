"""The portrait of a head: what is drawn of a text, and which arcs."""

import numpy as np
import pytest

from tfcore.views.foundations.heads.draw.portrait import FAINT, OTHERS, TOKENS, first_drawn, portrait, portrait_place
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


@pytest.mark.parametrize(("n", "chosen"), [(5, 0), (5, 4), (100, 0), (100, 50), (100, 99), (TOKENS, TOKENS - 1)])
def test_the_part_of_a_long_text_that_is_drawn_has_the_chosen_token(n, chosen):
    first = first_drawn(n, chosen)
    assert 0 <= first <= chosen < first + TOKENS
    assert first + TOKENS <= max(n, TOKENS)


def test_words_stand_one_after_the_other_within_the_width():
    places = [portrait_place(WORDS, i) for i in range(len(WORDS))]
    assert places == sorted(places)
    assert places[0] > 0
    assert places[-1] < width_of(WORDS)


@pytest.mark.parametrize("letters", [1, 7, 12])
def test_no_word_of_a_long_line_lies_over_the_next(letters):
    labels = ["x" * letters] * TOKENS
    drawn = portrait(np.eye(TOKENS), labels, 3)
    (words,), (start, end) = drawn.data, drawn.layout.xaxis.range
    pixels = (width_of(labels) - 8) / (end - start)  # a column
    assert np.diff(words.x).min() * pixels >= 0.6 * words.textfont.size * letters
