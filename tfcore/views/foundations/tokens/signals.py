"""Pictures, sounds, series and proteins, cut into tokens, and what their length costs."""

from dataclasses import dataclass
from typing import TypeAlias

import pandas as pd
from jaxtyping import Float, UInt8
from numpy import ndarray

from tfcore.measures.flop_count import sequence_cost
from tfcore.measures.token_counts import RATE
from tfcore.views.finding import state
from tfcore.views.foundations.tokens.draw import signals as draw
from tfcore.views.foundations.tokens.measure import signal_tokens, signals
from tfcore.views.foundations.tokens.measure.protein import composition, read_protein
from tfcore.views.foundations.tokens.measure.signal_tokens import AudioFrames, SeriesWindows
from tfcore.views.foundations.tokens.measure.signals import Melody
from tfcore.views.foundations.tokens.say import signals as say
from tfcore.views.kept import kept
from tfcore.views.sources import File
from tfcore.views.view import View, view

STRIP = 12  # patches shown in a row
STEPS = 2_000  # of a series

# ---- what a length costs ----

cost_of = kept(sequence_cost, entries=128)


@view
def cost(sizes: tuple[int | float, ...], lengths: tuple[int, ...], now: int, title: str, what: str) -> View:
    """The cost of a sequence for a Transformer, by how finely it is cut.

    Args:
        sizes: how finely.
        lengths: of the sequence with each of the sizes.
        now: the place of the size that is looked at.
        title: of the sizes.
        what: how it is cut now, in words.
    """
    by_length = cost_of(lengths)
    costs = say.cost_at(by_length, now, what)
    return View(
        key="cost",
        title="The cost",
        result=by_length,
        chart=draw.cost_figure(sizes, by_length, now, title, height=320),
        findings=(costs,),
        described=state("cost", "Cost of a forward pass by {title}. {costs}", title=title, costs=costs),
        note="12 layers, width 768: 24nd² + 4n²d per layer.",
        table=lambda: pd.DataFrame(
            {
                title: sizes,
                "tokens": by_length.n,
                "weights FLOPs": by_length.linear,
                "attention FLOPs": by_length.squared,
            }
        ),
    )


# ---- a picture ----

scene_of = kept(signals.scene, entries=16)


def pixels_of(own: File | None, side: int) -> UInt8[ndarray, "side side 3"]:
    """The pixels of a picture of one's own, cropped to a square, or of an example."""
    if own is None:
        return scene_of(side)
    return signals.scaled(own.read(lambda data: signals.read_picture(data, signals.PICTURE_SIDE)), side)


@view
def picture(own: File | None, side: int, patch: int, at: int) -> View:
    """A picture cut into patches (arXiv:2010.11929).

    Args:
        own: a picture of your own; None for an example.
        side: of the picture, cropped to a square, in pixels.
        patch: side of a patch.
        at: the patch that is framed.
    """
    pixels, cut = pixels_of(own, side), say.picture_cut(side, patch, at)
    return View(
        key="picture",
        title="The picture, cut",
        result=cut,
        chart=draw.picture_figure(signals.data_address(pixels), side, patch, at, height=460),
        findings=(cut,),
        described=state("picture", "A picture of {side} by {side} pixels cut into squares. {cut}", side=side, cut=cut),
        formula=(
            r"n = \left\lfloor\tfrac{H}{P}\right\rfloor\left\lfloor\tfrac{W}{P}\right\rfloor, \qquad "
            r"x_i = E\,\mathrm{flatten}(\mathrm{patch}_i) + p_i, \quad E \in \mathbb{R}^{d \times 3P^2}"
        ),
        papers=(
            "An Image is Worth 16x16 Words, section 3.1, equation 1, arXiv:2010.11929; there one more token, for the "
            "class, stands in front"
        ),
        code=(signal_tokens.patchify, signals.scene if own is None else signals.read_picture),
    )


@view
def strip(own: File | None, side: int, patch: int, at: int) -> View:
    """The patches of a picture in a row, as a model reads them; see picture."""
    vectors = signal_tokens.patchify(pixels_of(own, side), patch)
    first = max(0, min(at - 2, len(vectors) - STRIP))
    shown = vectors[first : first + STRIP]
    places = {"first": first, "last": first + len(shown) - 1}
    finding = say.patch_vector(vectors, at)
    addresses = [signals.data_address(one.reshape(patch, patch, signal_tokens.CHANNELS), "PNG") for one in shown]
    return View(
        key="strip",
        title="The sequence",
        result=vectors,
        chart=draw.strip_figure(addresses, first, at, height=150),
        min_width=600,
        findings=(state("places", "What the model reads: patches {first} to {last}.", **places), finding),
        described=state(
            "strip",
            "The sequence around patch {at}: patches {first} to {last} in a row. {finding}",
            at=at,
            finding=finding,
            **places,
        ),
        table=lambda: pd.DataFrame(shown.T, columns=[f"patch {first + i}" for i in range(len(shown))]),
    )


# ---- a sound ----


@dataclass(frozen=True, slots=True)
class Tune:
    """A synthesised sound of so many seconds."""

    kind: Melody
    seconds: int


Sound: TypeAlias = Tune | File


def _melody(tune: Tune) -> Float[ndarray, " sample"]:
    return signals.melody(tune.kind, float(tune.seconds))


def _frames(tune: Tune, window_ms: float, hop_ms: float) -> AudioFrames:
    return signal_tokens.cut_frames(melody_of(tune).copy(), window_ms, hop_ms)  # torch takes none that is read-only


melody_of = kept(_melody, entries=12)
frames_of_tune = kept(_frames, entries=12)


def samples_of(sound: Sound) -> Float[ndarray, " sample"]:
    """A sound, at 16,000 samples a second."""
    return sound.read(signals.read_sound) if isinstance(sound, File) else melody_of(sound)


def frames_of(sound: Sound, window_ms: float, hop_ms: float) -> AudioFrames:
    """The frames of a sound; those of a file of one's own are kept nowhere."""
    if isinstance(sound, File):
        return signal_tokens.cut_frames(samples_of(sound), window_ms, hop_ms)
    return frames_of_tune(sound, window_ms, hop_ms)


@view
def spectrogram(sound: Sound, window_ms: float, hop_ms: float, at: int) -> View:
    """A sound cut into frames, as Whisper does it (arXiv:2212.04356, section 2.2): loudness by pitch and frame.

    Args:
        sound: a synthesised one, or one of your own.
        window_ms: of a frame.
        hop_ms: from one frame to the next.
        at: the frame that is marked.
    """
    sound_frames = frames_of(sound, window_ms, hop_ms)
    return View(
        key="spectrogram",
        title="The spectrogram",
        result=sound_frames,
        chart=draw.spectrogram_figure(sound_frames, at, height=300),
        findings=(say.spectrogram(sound_frames, at),),
        table=lambda: pd.DataFrame(
            {"hertz": sound_frames.hertz, f"log10 power of frame {at}": sound_frames.mel[:, at]}
        ),
        formula=(
            r"n_{frames} = \left\lfloor\tfrac{\text{samples}}{\text{hop}}\right\rfloor, \qquad "
            r"X_{mf} = \log_{10} \sum_k M_{mk} \left|\mathrm{FFT}(w \cdot s_f)_k\right|^2"
        ),
        papers="Robust Speech Recognition via Large-Scale Weak Supervision (Whisper), section 2.2, arXiv:2212.04356",
        code=(signal_tokens.log_mel, signal_tokens.mel_filters),
    )


@view
def frames(sound: Sound, window_ms: float, hop_ms: float, at: int) -> View:
    """The wave around one frame, under its window and those of its neighbours; see spectrogram."""
    samples, window, hop = samples_of(sound), round(RATE * window_ms / 1000), round(RATE * hop_ms / 1000)
    overlap = say.FrameOverlap(at, window, hop)
    return View(
        key="frames",
        title="The wave around a frame",
        result=overlap,
        chart=draw.frames_figure(samples, window, hop, at, height=240),
        findings=(overlap,),
        described=state(
            "wave", "The wave around a frame, under its window and those of its neighbours. {overlap}", overlap=overlap
        ),
    )


# ---- a series ----


def _windows(table: str, column: int, length: int, stride: int) -> SeriesWindows:
    """The first numbers of a column, cut into windows."""
    return signal_tokens.cut_windows(column_of(table, column).values[:STEPS], length, stride)


column_of = kept(signals.read_column, entries=32)
windows_of = kept(_windows, entries=64)


@view
def series(table: str, column: int, length: int, stride: int, at: int) -> View:
    """A time series with the windows that become its tokens (PatchTST, arXiv:2211.14730, section 3.1).

    Args:
        table: numbers, one a line, or as CSV.
        column: of the table, from 0.
        length: steps of a window.
        stride: steps from one window to the next.
        at: the window that is marked.
    """
    cut = windows_of(table, column, length, stride)
    said = say.series_windows(cut, at)
    return View(
        key="series",
        title="The series and its windows",
        result=cut,
        chart=draw.series_figure(cut, at, height=320),
        findings=(said,),
        described=state("series", "A series with its windows below it. {said}", said=said),
        note=f"Dotted: the last value again, {cut.padded} steps long.",
        table=lambda: pd.DataFrame({"value": cut.values}),
        formula=(
            r"n = \left\lfloor\tfrac{L - P}{S}\right\rfloor + 2, \qquad "
            r"x_i = W\,(s_{iS}, \dots, s_{iS + P - 1}) + p_i"
        ),
        papers="A Time Series is Worth 64 Words (PatchTST), section 3.1, arXiv:2211.14730",
        code=(signal_tokens.cut_windows, signals.read_column),
    )


@view
def windows(table: str, column: int, length: int, stride: int, at: int) -> View:
    """Windows of a time series as tokens: its shape without its unit; see series."""
    cut = windows_of(table, column, length, stride)
    return View(
        key="windows",
        title="The tokens",
        result=cut,
        chart=draw.windows_figure(cut, at, height=260),
        findings=(
            state(
                "tokens",
                "The tokens, shape {shape}, in deviations from the mean; window {at} framed.",
                shape=str(cut.windows.shape),
                at=at,
            ),
        ),
        described=state(
            "windows",
            "The tokens: one row a window, in deviations from the mean. {said}",
            said=say.series_windows(cut, at),
        ),
        table=lambda: pd.DataFrame(cut.windows),
    )


# ---- a protein ----


@view
def residues(protein: str) -> View:
    """The residues of a protein: one residue, one token, with ids as in ESM-2 (doi:10.1126/science.ade2574).

    Args:
        protein: its residues, plain or FASTA.
    """
    composed = composition(read_protein(protein))
    counts = say.residue_counts(composed)
    return View(
        key="composition",
        title="The residues",
        result=composed,
        chart=draw.composition_figure(composed, height=320),
        findings=(counts,),
        described=state("composition", "How often each residue occurs. {counts}", counts=counts),
        table=lambda: pd.DataFrame({"residue": composed.letters, "count": composed.counts}),
        formula=r"n = \text{residues} + 2, \qquad x_i = E[\text{id}(\text{residue}_i)]",
        code=(read_protein,),
    )
