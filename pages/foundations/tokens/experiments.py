"""The experiments of the page on tokens."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tfcore import load
from tfcore.analysis.foundations.bpe import cut, densities, learn, replay
from tfcore.analysis.foundations.embedding_table import nearest, scale_effect
from tfcore.analysis.foundations.signal_tokens import (
    GROUPS,
    AudioFrames,
    cut_frames,
    cut_windows,
    patch_count,
    patchify,
    read_protein,
    tokens_of_frames,
)
from tfcore.analysis.foundations.signals import Melody, melody, read_column, read_picture, read_sound, scaled
from tfcore.analysis.model.flop_count import sequence_cost
from tfcore.figures.foundations.bpe import density_figure, learning_figure, vocabulary_figure
from tfcore.figures.foundations.embedding_table import neighbours_figure, recognised_figure
from tfcore.figures.foundations.signal_tokens import composition_figure, cost_figure, spectrogram_figure, windows_figure
from tfcore.figures.theme import Figure


def text(model_name: str, text: str, others: dict[str, str]) -> Figure:
    """One text as characters, bytes and tokens, and how densely a tokenizer packs other texts."""
    tokenizer = load(model_name)[1]
    found = cut(text, tokenizer)
    print(f"{len(found.text)} characters, {len(found.data)} bytes, {len(found.ids)} tokens")
    print(" | ".join(token.decode("utf-8", "replace") for token in found.tokens))
    packed = densities({"your text": text, **others}, tokenizer)
    for one in packed:
        print(f"{one.name}: {one.per_token:.2f} characters in a token")

    return density_figure(packed, "your text", height=430)


def merges(model_name: str, word: str, now: int) -> Figure:
    """The merges of a word, one by one: of all neighbours, join the pair learned first (arXiv:1508.07909)."""
    tokenizer = load(model_name)[1]
    ranks = {pair: rank for rank, pair in enumerate(tokenizer.merges)}
    steps = replay(tokenizer.words(word), ranks)
    for step in steps:
        print(step.rank, " | ".join(piece.decode("utf-8", "replace") for piece in step.pieces))

    return vocabulary_figure(steps, now, len(tokenizer.merges), height=240)


def learning(model_name: str, corpus: str, most: int, now: int) -> Figure:
    """Learning merges: make the most frequent pair of neighbours a token, and count again (arXiv:1508.07909)."""
    # The tokenizer is asked for nothing but where words begin.
    words = load(model_name)[1].words(corpus)
    learned = learn(words, most)
    for i, one in enumerate(learned[:now], start=1):
        left, right = (side.decode("utf-8", "replace") for side in one.pair)
        print(f"{i}: {left!r} + {right!r}, {one.count} times; {one.tokens} tokens are left")

    return learning_figure(sum(map(len, words)), learned, now, height=280)


def image(side: int, patch: int, sides: Sequence[int]) -> Figure:
    """A picture cut into patches (arXiv:2010.11929): how many tokens, and what they cost."""
    lengths = [patch_count(side, one) for one in sides]
    cost = sequence_cost(tuple(lengths))
    for one, n, share in zip(sides, lengths, cost.share, strict=True):
        print(f"patches of {one} pixels: {n:,} tokens of {3 * one * one:,} numbers, {share:.1%} of FLOPs in attention")

    return cost_figure(sides, cost, sides.index(patch), "side of a patch", height=320)


def own_image(path: str, side: int, patch: int, sides: Sequence[int], largest: int) -> Figure:
    """Your picture cut into patches (arXiv:2010.11929): how many tokens, and what they cost."""
    pixels = scaled(read_picture(Path(path).read_bytes(), largest), side)
    vectors = patchify(pixels, patch)
    print(f"{vectors.shape[0]:,} tokens of {vectors.shape[1]:,} numbers; their mean is {vectors.mean():.1f} of 255")
    cost = sequence_cost(tuple(patch_count(side, one) for one in sides))

    return cost_figure(sides, cost, sides.index(patch), "side of a patch", height=320)


def frames(kind: Melody, seconds: float, window_ms: float, hop_ms: float, frame: int) -> Figure:
    """A sound cut into frames, as Whisper does it (arXiv:2212.04356, section 2.2)."""
    result = cut_frames(melody(kind, seconds), window_ms, hop_ms)

    return spectrogram(result, frame)


def own_frames(path: str, window_ms: float, hop_ms: float, frame: int) -> Figure:
    """Your sound cut into frames, as Whisper does it (arXiv:2212.04356, section 2.2)."""
    result = cut_frames(read_sound(Path(path).read_bytes()), window_ms, hop_ms)

    return spectrogram(result, frame)


def spectrogram(result: AudioFrames, frame: int) -> Figure:
    """Loudness by pitch, one column a frame; a convolution with stride 2 makes tokens of them."""
    loudest = result.hertz[result.mel[:, frame].argmax()]
    print(f"{result.frames:,} frames, {tokens_of_frames(result.frames):,} tokens")
    print(f"frame {frame} is loudest near {loudest:,.0f} hertz")
    return spectrogram_figure(result, frame, height=300)


def series(table: str, column: int, most: int, length: int, stride: int, window: int) -> Figure:
    """Windows of a time series as tokens (PatchTST, arXiv:2211.14730, section 3.1)."""
    values = read_column(table, column).values[:most]
    result = cut_windows(values, length, stride)
    # The model sees the shape of the series, not its unit: mean 0, deviation 1.
    print(f"{len(values):,} steps, mean {result.mean:.3g}, deviation {result.deviation:.3g}")
    print(f"{len(result.starts)} tokens; the mean of window {window} is {result.windows[window].mean():+.2f}")

    return windows_figure(result, window, height=260)


def protein(residues: str) -> Figure:
    """A protein: one residue, one token, with ids as in ESM-2 (doi:10.1126/science.ade2574)."""
    found = read_protein(residues)
    group = {letter: i for i, letters in enumerate(GROUPS.values()) for letter in letters}
    counts = Counter(found.residues)
    letters = sorted(counts, key=lambda letter: (group[letter], -counts[letter]))
    print(f"{len(found.residues):,} residues, {len(found.ids):,} tokens: {found.ids}")
    print(", ".join(f"{letter} {counts[letter]}" for letter in letters))

    return composition_figure(letters, [counts[c] for c in letters], [group[c] for c in letters], list(GROUPS), 320)


def neighbours(model_name: str, piece: str, count: int) -> Figure:
    """Meaning as direction: the rows of the embedding table that point most nearly the same way."""
    model, tokenizer = load(model_name)
    near = nearest(model, tokenizer.encode(piece)[0], count)
    names = tokenizer.tokens(near.ids)
    for name, cosine in zip(names, near.cosines, strict=True):
        print(f"{name!r}: cosine {cosine:.2f}")

    return neighbours_figure(near, names, height=340)


def scaled_embeddings(model_name: str, position: int, scales: Sequence[float]) -> Figure:
    """Why some models multiply their embeddings by sqrt(d): added position vectors would drown them."""
    model = load(model_name)[0]
    result = scale_effect(model, position, scales)
    for scale, share in zip(result.scales, result.recognised, strict=True):
        print(f"embeddings times {scale:g}: {share:.0%} of tokens are still recognised")

    return recognised_figure(result, 0, model.config.d_model, height=330)
