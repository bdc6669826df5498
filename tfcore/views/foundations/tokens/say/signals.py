"""Findings on pictures, sounds, series and proteins cut into tokens, and on what a length costs."""

from dataclasses import dataclass

from jaxtyping import UInt8
from numpy import ndarray

from tfcore.measures.flop_count import LengthCost
from tfcore.measures.quantities import si
from tfcore.measures.token_counts import RATE, frame_count, tokens_of_frames
from tfcore.measures.token_text import shorten
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.foundations.tokens.measure.protein import ResidueCounts
from tfcore.views.foundations.tokens.measure.signal_tokens import CHANNELS, N_MELS, SECONDS, AudioFrames, SeriesWindows
from tfcore.views.foundations.tokens.measure.signals import TableColumn

# ---- what a length costs ----


@dataclass(frozen=True, slots=True)
class SequenceCost(Finding):
    """The cost of a sequence of one length for a Transformer of 12 layers and width 768.

    Args:
        what: has this length, in words: "patches of 16 pixels".
        tokens: the length n.
        pairs: n * n, the cells of one head's attention map.
        weights, attention: FLOPs of a forward pass that grow with n and with n squared.
        memory: bytes of all attention maps of one layer in half precision.
    """

    what: str
    tokens: int
    pairs: int
    weights: float
    attention: float
    memory: int

    @property
    def sentence(self) -> str:
        share = self.attention / max(self.weights + self.attention, 1)
        return (
            f"With {self.what}: n = {self.tokens_text} tokens, {si(self.weights)} FLOPs for weights and "
            f"{si(self.attention)} for attention, {share:.1%} of the whole; the maps of one layer take "
            f"{si(self.memory)}B in half precision."
        )

    @property
    def tokens_text(self) -> str:
        """The length as it is written."""
        return f"{self.tokens:,}"

    @property
    def pairs_text(self) -> str:
        """The cells of a map as they are written."""
        return f"{self.pairs:,}"

    @property
    def flops_text(self) -> str:
        """All FLOPs as they are written."""
        return si(self.weights + self.attention)


def cost_at(cost: LengthCost, at: int, what: str) -> SequenceCost:
    """One of the lengths of `cost`; `what` says in words what has this length."""
    weights, attention = float(cost.linear[at]), float(cost.squared[at])
    return SequenceCost(what, int(cost.n[at]), int(cost.cells[at]), weights, attention, int(cost.matrices[at]))


# ---- a picture ----


@dataclass(frozen=True, slots=True)
class PictureCut(Finding):
    """A square picture under its cuts.

    Args:
        side, patch: of the picture and of a patch, in pixels.
        rows: of patches, and as many columns.
        at: the patch that is framed.
        lost: pixels at the right and at the bottom that fill no patch.
    """

    side: int
    patch: int
    rows: int
    at: int
    lost: int

    @property
    def sentence(self) -> str:
        rest = f" The last {self.lost} pixels at the right and at the bottom fill no patch and are left out."
        return (
            f"{self.side}/{self.patch} → {self.rows} × {self.rows} = {self.rows**2:,} patches, numbered line by line; "
            f"patch {self.at} is framed.{rest if self.lost else ''}"
        )


def picture_cut(side: int, patch: int, at: int) -> PictureCut:
    """The patches of a square picture."""
    return PictureCut(side, patch, side // patch, at, side % patch)


def patch_vector(vectors: UInt8[ndarray, "n values"], at: int) -> Statement:
    """One patch as the model reads it: its place in the sequence, and its mean colour, from 0 to 255."""
    red, green, blue = vectors[at].reshape(-1, CHANNELS).mean(axis=0).tolist()
    n, values = vectors.shape
    return state(
        "patch",
        "The sequence has shape ({n:whole}, {values:whole}); patch {at} has mean red, green, blue {red:.0f}, "
        "{green:.0f}, {blue:.0f} of 255.",
        at=at,
        n=n,
        values=values,
        red=red,
        green=green,
        blue=blue,
    )


# ---- a sound ----


def spectrogram(result: AudioFrames, at: int) -> Statement:
    """The frames of a sound, and the middle of the loudest band of one of them, in hertz."""
    return state(
        "spectrogram",
        "Log-mel spectrogram, shape ({bands}, {frames:whole}): {seconds:.1f} s at {rate:whole} samples per second, one "
        "column every {hop} samples. Frame {at} is loudest near {hertz:,.0f} Hz.",
        bands=N_MELS,
        frames=result.frames,
        seconds=len(result.samples) / RATE,
        rate=RATE,
        hop=result.hop,
        at=at,
        hertz=float(result.hertz[int(result.mel[:, at].argmax())]),
    )


@dataclass(frozen=True, slots=True)
class FrameOverlap(Finding):
    """A frame and its neighbours.

    Args:
        at: the frame.
        window, hop: samples in a frame, and from one to the next.
    """

    at: int
    window: int
    hop: int

    @property
    def sentence(self) -> str:
        shared = 1 - self.hop / self.window
        between = f"neighbours share {shared:.0%}" if shared > 0 else f"a gap of {self.hop - self.window} samples"
        return (
            f"Frame {self.at}: {self.window} samples under a Hann window, the next one {self.hop} samples on; "
            f"{between}."
        )


def speech_tokens(hop: int) -> Statement:
    """Frames and tokens of as much sound as Whisper always reads, with `hop` samples from frame to frame."""
    frames = frame_count(SECONDS * RATE, hop)
    return state(
        "speech", "{frames:whole} frames → {tokens:whole} tokens", frames=frames, tokens=tokens_of_frames(frames)
    )


# ---- a series ----


@dataclass(frozen=True, slots=True)
class ColumnReport(Finding):
    """The numbers read of a column, and those left out.

    Args:
        name: of the column.
        count: numbers that were read.
        skipped: (line, what stands there) of the rows without a number.
        used: how many of the numbers are used, from the first on.
    """

    name: str
    count: int
    skipped: tuple[tuple[int, str], ...]
    used: int

    @property
    def sentence(self) -> str:
        words = f"{self.count:,} numbers in “{shorten(self.name, 30)}”."
        if n := len(self.skipped):
            first = [f"line {line} ({shorten(cell.strip() or 'empty', 12)})" for line, cell in self.skipped[:4]]
            more = f" and {n - 4} more" if n > 4 else ""
            rows, were = ("1 row has", "was") if n == 1 else (f"{n:,} rows have", "were")
            words += f" {rows} no number there and {were} left out: {', '.join(first)}{more}."
        return words + (f" The first {self.used:,} are used." if self.used < self.count else "")


def column_report(column: TableColumn, most: int) -> ColumnReport:
    """Report on a column of which at most `most` numbers are used."""
    count = len(column.values)
    return ColumnReport(column.names[column.index], count, column.skipped, min(count, most))


def series_windows(result: SeriesWindows, at: int) -> Statement:
    """A series cut into windows, and one of them: its mean is in deviations from that of the series."""
    windows, length = result.windows.shape
    start = int(result.starts[at])
    return state(
        "windows",
        "{steps:whole} steps, mean {mean:.3g}, deviation {deviation:.3g}, in {windows} windows of {length}. Window "
        "{at}: steps {start} to {end}, {window_mean:+.2f} deviations from the mean.",
        steps=len(result.values),
        mean=result.mean,
        deviation=result.deviation,
        windows=windows,
        length=length,
        at=at,
        start=start,
        end=start + length - 1,
        window_mean=float(result.windows[at].mean()),
    )


# ---- a protein ----


def protein_tokens(residues: int, pieces: int) -> Statement:
    """The length of a protein as a sequence, and how many tokens the tokenizer of a language model makes of it."""
    return state(
        "protein",
        "{residues:whole} residues, with a token before and one after; ids as in ESM-2, whose vocabulary has 33. The "
        "tokenizer of stories would make {pieces:whole} meaningless pieces of it.",
        residues=residues,
        pieces=pieces,
    )


def residue_counts(residues: ResidueCounts) -> Statement:
    """The kinds of residue in a protein, and the most frequent one."""
    return state(
        "residues",
        "{kinds} kinds of residue; most often {most}, {times} of {residues:whole}.",
        kinds=len(residues.letters),
        most=residues.most,
        times=residues.counts[residues.letters.index(residues.most)],
        residues=sum(residues.counts),
    )
