"""The experiments of the page on tokens."""

from collections.abc import Sequence
from pathlib import Path

from jaxtyping import Float, UInt8
from numpy import ndarray

from tfcore.analysis.foundations.embedding_scale import ScaleEffect, recognised
from tfcore.analysis.foundations.embedding_table import Neighbours, nearest, nearest_tokens
from tfcore.analysis.foundations.protein import Protein, composition
from tfcore.analysis.foundations.signal_tokens import (
    AudioFrames,
    Windows,
    cut_windows,
    patch_count,
    patch_vector,
    patchify,
    series_windows,
    spectrogram,
)
from tfcore.analysis.foundations.signals import read_column, read_picture, read_sound, scaled
from tfcore.analysis.foundations.token_counts import cost_at
from tfcore.figures.foundations.embedding_table import neighbours_figure, recognised_figure
from tfcore.figures.foundations.protein import composition_figure
from tfcore.figures.foundations.signal_tokens import cost_figure, spectrogram_figure, windows_figure
from tfcore.figures.shown import Shown
from tfcore.measures.flop_count import sequence_cost
from tfcore.measures.token_text import label
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def own_picture(path: str, side: int, largest: int) -> UInt8[ndarray, "side side 3"]:
    """A picture of your own, cropped to a square."""
    return scaled(read_picture(Path(path).read_bytes(), largest), side)


def image(pixels: UInt8[ndarray, "side side 3"], patch: int, sides: Sequence[int], at: int) -> Shown:
    """A picture cut into patches (arXiv:2010.11929): how many tokens, and what they cost."""
    vectors = patchify(pixels, patch)
    cost = sequence_cost([patch_count(len(pixels), one) for one in sides])
    now = sides.index(patch)
    findings = (cost_at(cost, now, f"patches of {patch} pixels"), patch_vector(vectors, at))
    return Shown(cost_figure(sides, cost, now, "side of a patch", height=320), findings)


def cost(sizes: Sequence[int | float], lengths: Sequence[int], now: int, title: str, what: str) -> Shown:
    """What a sequence costs by how finely it is cut; `what` is cut so, with the size in the place of {}."""
    found = sequence_cost(lengths)
    finding = cost_at(found, now, what.format(f"{sizes[now]:g}"))
    return Shown(cost_figure(sizes, found, now, title, height=320), (finding,))


def own_sound(path: str) -> Float[ndarray, " sample"]:
    """A sound of your own, at 16,000 samples a second."""
    return read_sound(Path(path).read_bytes())


def frames(result: AudioFrames, at: int) -> Shown:
    """A sound cut into frames, as Whisper does it (arXiv:2212.04356, section 2.2): loudness by pitch and frame."""
    return Shown(spectrogram_figure(result, at, height=300), (spectrogram(result, at),))


def windows(table: str, column: int, most: int, length: int, stride: int) -> Windows:
    """The first numbers of a column, cut into windows."""
    return cut_windows(read_column(table, column).values[:most], length, stride)


def series(result: Windows, at: int) -> Shown:
    """Windows of a time series as tokens (PatchTST, arXiv:2211.14730, section 3.1): its shape without its unit."""
    return Shown(windows_figure(result, at, height=260), (series_windows(result, at),))


def protein(found: Protein) -> Shown:
    """A protein: one residue, one token, with ids as in ESM-2 (doi:10.1126/science.ade2574)."""
    counts = composition(found)
    return Shown(composition_figure(counts, height=320), (counts,))


def near(model: Transformer, tokenizer: Tokenizer, piece: str, count: int) -> Neighbours:
    """The rows of the embedding table nearest to that of the first token of a text."""
    around = tokenizer.encode("")
    return nearest(model, tokenizer, next(i for i in tokenizer.encode(piece) if i not in around), count)


def neighbours(found: Neighbours) -> Shown:
    """The rows of the embedding table that point most nearly the same way."""
    names = [label(piece) for piece in found.pieces[1:]]
    return Shown(neighbours_figure(found, names, height=340), (nearest_tokens(found),))


def scaled_embeddings(found: ScaleEffect) -> Shown:
    """Why some models multiply their embeddings by sqrt(d): added position vectors would outweigh them."""
    return Shown(recognised_figure(found, 0, height=330), (recognised(found, 0),))
