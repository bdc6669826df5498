"""Pictures of byte-pair encoding: valid for plotly, complete, and true to the numbers behind them."""

import pytest

import tfcore
from tfcore.charts import theme
from tfcore.views.foundations.tokens.draw import merges as bpe
from tfcore.views.foundations.tokens.measure.bpe import learn, replay
from tfcore.views.foundations.tokens.measure.text_pieces import densities, piece_label

MODEL, TOKENIZER = tfcore.load("stories")


RANKS = {pair: rank for rank, pair in enumerate(TOKENIZER.merges)}


@pytest.mark.parametrize("word", ["unhappiness", "", "x", "мир", "a b c", "l" * 32])
def test_merges_at_every_step(word):
    steps = replay(TOKENIZER.words(word), RANKS)
    for now in {0, len(steps) // 2, len(steps) - 1}:
        theme.check(bpe.merges_figure(steps, now, piece_label, 400))
        if word:
            theme.check(bpe.vocabulary_figure(steps, now, 1791, 240))


def test_the_letters_shown_are_the_pieces_of_each_step():
    steps = replay(TOKENIZER.words("unhappiness"), RANKS)
    letters = bpe.merges_figure(steps, 3, piece_label, 400).data[-1]
    for y in range(4):
        shown = [text for text, at in zip(letters.text, letters.y, strict=True) if at == y]
        assert shown == [piece_label(piece) for piece in steps[y].pieces]
    assert max(letters.y) == 3


def test_vocabulary_steps_where_a_merge_applies():
    steps = replay(TOKENIZER.words("unhappiness"), RANKS)
    line = bpe.vocabulary_figure(steps, 0, 1791, 240).data[0]
    assert list(line.y) == [11, 10, 9, 8, 7, 6, 5, 4, 4]
    assert line.x[1] == steps[1].rank + 1


def test_learning():
    merges = learn([b"low", b"lower", b"lowest"] * 3, 8)
    theme.check(bpe.pairs_figure(merges[0], piece_label, 240))
    theme.check(bpe.learning_figure([42, *(one.tokens for one in merges)], len(merges), 240))


def test_density():
    found = densities(TOKENIZER, {"a": "Once upon", "b": "猫", "c": ""})
    figure = bpe.density_figure(found, 300)
    theme.check(figure)
    assert list(figure.data[0].x) == [one.per_token for one in found]
