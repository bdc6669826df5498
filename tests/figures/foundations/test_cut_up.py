"""Pictures of tokens of every kind: valid for plotly, complete, and true to the numbers behind them."""

import numpy as np
import pytest

import tfcore
from tfcore.analysis.foundations import audio_frames, embedding_table, media, sample_sequences, time_windows
from tfcore.analysis.foundations.bpe import learn, replay
from tfcore.analysis.foundations.text_pieces import densities
from tfcore.analysis.model.flop_count import sequence_cost
from tfcore.figures import theme
from tfcore.figures.foundations import bpe, protein, sequences, text_pieces
from tfcore.figures.foundations import embedding_table as tables

MODEL, TOKENIZER = tfcore.load("stories")
RANKS = {pair: rank for rank, pair in enumerate(TOKENIZER.merges)}


def label(piece: bytes) -> str:
    return piece.decode("utf-8", "replace")


@pytest.mark.parametrize("word", ["unhappiness", "", "x", "мир", "a b c", "l" * 32])
def test_merges_at_every_step(word):
    steps = replay(TOKENIZER.words(word), RANKS)
    for now in {0, len(steps) // 2, len(steps) - 1}:
        theme.check(bpe.merges_figure(steps, now, label, 400))
        if word:
            theme.check(bpe.vocabulary_figure(steps, now, 1791, 240))


def test_the_letters_shown_are_the_pieces_of_each_step():
    steps = replay(TOKENIZER.words("unhappiness"), RANKS)
    letters = bpe.merges_figure(steps, 3, label, 400).data[-1]
    for y in range(4):
        shown = [text for text, at in zip(letters.text, letters.y, strict=True) if at == y]
        assert shown == [label(piece) for piece in steps[y].pieces]
    assert max(letters.y) == 3


def test_vocabulary_steps_where_a_merge_applies():
    steps = replay(TOKENIZER.words("unhappiness"), RANKS)
    line = bpe.vocabulary_figure(steps, 0, 1791, 240).data[0]
    assert list(line.y) == [11, 10, 9, 8, 7, 6, 5, 4, 4]
    assert line.x[1] == steps[1].rank + 1


def test_learning():
    merges = learn([b"low", b"lower", b"lowest"] * 3, 8)
    theme.check(bpe.pairs_figure(merges[0], label, 240))
    theme.check(bpe.learning_figure(42, merges, len(merges), 240))


def test_density():
    found = densities({"a": "Once upon", "b": "猫", "c": ""}, TOKENIZER)
    figure = text_pieces.density_figure(found, "b", 300)
    theme.check(figure)
    assert list(figure.data[0].x) == [one.per_token for one in found]


@pytest.mark.parametrize(("side", "patch", "at"), [(224, 16, 77), (224, 48, 15), (64, 64, 0), (448, 4, 12_543)])
def test_picture_and_its_frame(side, patch, at):
    figure = sequences.picture_figure(media.data_address(sample_sequences.scene(64)), side, patch, at, 400)
    theme.check(figure)
    layout = figure.to_dict()["layout"]
    frame = layout["shapes"][-1]
    top, left = divmod(at, side // patch)
    assert (frame["x0"], frame["y0"]) == (left * patch - 0.5, top * patch - 0.5)
    assert len(layout["shapes"]) == (3 if side % patch else 1)


def test_strip():
    address = media.data_address(np.zeros((4, 4, 3), np.uint8), "PNG")
    theme.check(sequences.strip_figure([address] * 5, 10, 12, 150))


@pytest.mark.parametrize(("window", "hop", "at"), [(25.0, 10.0, 30), (5.0, 30.0, 0), (60.0, 2.5, 239)])
def test_sound(window, hop, at):
    found = audio_frames.cut_frames(sample_sequences.melody("notes", 0.6), window, hop)
    at = min(at, found.frames - 1)
    theme.check(sequences.frames_figure(found, at, 240))
    theme.check(sequences.spectrogram_figure(found, at, 300))


def test_a_long_spectrogram_travels_in_few_columns():
    found = audio_frames.cut_frames(sample_sequences.melody("sweep", 10.0), 25.0, 10.0)
    trace = sequences.spectrogram_figure(found, 0, 300).data[0]
    assert trace.z.dtype == np.uint8
    assert trace.z.shape == (80, 500)
    assert trace.dx == 2
    assert trace.z.max() == 255


@pytest.mark.parametrize(("length", "stride"), [(16, 8), (1, 1), (64, 64), (3, 40)])
def test_series(length, stride):
    found = time_windows.cut_windows(sample_sequences.temperatures(200), length, stride)
    at = len(found.starts) - 1
    theme.check(sequences.series_figure(found, length, at, 300))
    theme.check(sequences.windows_figure(found, at, 300))


def test_a_flat_series():
    theme.check(sequences.series_figure(time_windows.cut_windows(np.ones(4), 2, 2), 2, 0, 300))


def test_cost_marks_the_chosen_length():
    cost = sequence_cost([4, 16, 64])
    figure = sequences.cost_figure([8, 4, 2], cost, 1, "side", 300)
    theme.check(figure)
    assert list(figure.data[2].y) == [cost.linear[1], cost.squared[1]]


def test_composition():
    figure = protein.composition_figure(["L", "K"], [3, 1], [0, 2], ["a", "b", "c", "d", "e"], 300)
    theme.check(figure)
    assert [trace.name for trace in figure.data] == ["a", "c"]


def test_embedding_table():
    found, near = embedding_table.table_map(MODEL), embedding_table.nearest(MODEL, 787, 10)
    pieces = [TOKENIZER.token_bytes(i) for i in range(TOKENIZER.vocab_size)]
    kinds, labels = embedding_table.kinds(pieces), [label(piece) for piece in pieces]
    figure = tables.map_figure(found, kinds, embedding_table.KINDS, labels, near, 400)
    theme.check(figure)
    assert sum(len(trace.x) for trace in figure.data[:4]) == TOKENIZER.vocab_size
    theme.check(tables.neighbours_figure(near, [labels[i] for i in near.ids], 300))
    theme.check(tables.norms_figure(found, kinds, embedding_table.KINDS, 787, 300))


def test_scale():
    found = embedding_table.scale_effect(MODEL, 5, (13.9, 1.0, 5.0), every=64)
    theme.check(tables.lengths_figure(found, 13.9, 300))
    figure = tables.recognised_figure(found, 0, 192, 300)
    theme.check(figure)
    assert list(figure.data[0].x) == pytest.approx([1.0, 5.0, 13.9])
