"""Images, sounds, time series and proteins cut into tokens."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.analysis.foundations.signals import RATE

CHANNELS = 3


def patchify(image: UInt8[ndarray, "height width 3"], patch: int) -> UInt8[ndarray, "n values"]:
    """Cut an image into patches of patch x patch pixels, row by row, and flatten each.

    A rest at the right and at the bottom that fills no patch is left out, as a convolution with stride `patch` does.

    Returns:
        n = floor(height / patch) * floor(width / patch) vectors of patch * patch * 3 numbers.

    Raises:
        ValueError: a patch larger than the image, or smaller than a pixel.

    Source: arXiv:2010.11929, section 3.1: 224 / 16 = 14 patches a side, so 196 in all.
    """
    height, width, _ = image.shape
    if not 1 <= patch <= min(height, width):
        raise ValueError(f"patch={patch} must be between 1 and {min(height, width)}, the shorter side of the image")
    rows, columns = height // patch, width // patch
    whole = image[: rows * patch, : columns * patch]
    cut = whole.reshape(rows, patch, columns, patch, CHANNELS).swapaxes(1, 2)  # (row, column, patch, patch, 3)
    return np.ascontiguousarray(cut.reshape(rows * columns, patch * patch * CHANNELS))


def patch_count(side: int, patch: int) -> int:
    """How many patches a square image gives."""
    return (side // patch) ** 2


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


@dataclass(frozen=True, slots=True)
class PatchVector(Finding):
    """One patch as the model reads it.

    Args:
        at: its place in the sequence.
        n: patches in the sequence.
        values: numbers in each.
        mean: of its red, green and blue, from 0 to 255.
    """

    at: int
    n: int
    values: int
    mean: tuple[float, float, float]

    @property
    def sentence(self) -> str:
        return (
            f"The sequence has shape ({self.n:,}, {self.values_text}); patch {self.at} has mean red, green, blue "
            f"{', '.join(f'{value:.0f}' for value in self.mean)} of 255."
        )

    @property
    def values_text(self) -> str:
        """The length of the vector as it is written."""
        return f"{self.values:,}"


def patch_vector(vectors: UInt8[ndarray, "n values"], at: int) -> PatchVector:
    """The patch in one place of the sequence."""
    red, green, blue = vectors[at].reshape(-1, CHANNELS).mean(axis=0).tolist()
    n, values = vectors.shape
    return PatchVector(at, n, values, (red, green, blue))


# Whisper's (arXiv:2212.04356, section 2.2).
N_MELS = 80  # bands of the spectrogram
N_FFT = 400  # samples that are taken apart into frequencies, at least: 25 ms
CONV_STRIDE = 2  # frames in a token
SECONDS = 30  # that it always reads, silence added at the end


@dataclass(frozen=True, slots=True)
class AudioFrames:
    """A sound and its frames.

    Args:
        samples: of the sound, 16,000 a second.
        window: samples in a frame.
        hop: samples from one frame to the next.
        mel: log10 of the power by mel band and frame, within 8 of the loudest.
        hertz: the middle of each band.
    """

    samples: Float[ndarray, " sample"]
    window: int
    hop: int
    mel: Float[ndarray, "band frame"]
    hertz: Float[ndarray, " band"]

    @property
    def frames(self) -> int:
        """How many there are."""
        return self.mel.shape[1]


def cut_frames(samples: Float[ndarray, " sample"], window_ms: float, hop_ms: float) -> AudioFrames:
    """Frames of `window_ms` milliseconds every `hop_ms`, and their log-mel spectrogram."""
    window, hop = round(RATE * window_ms / 1000), round(RATE * hop_ms / 1000)
    mel = log_mel(torch.from_numpy(samples), window, hop)
    return AudioFrames(samples, window, hop, mel.numpy(), mel_edges()[1:-1].numpy())


def log_mel(samples: Float[Tensor, " sample"], window: int, hop: int) -> Float[Tensor, "band frame"]:
    """The logarithm of the power in 80 mel bands of every frame.

    Each frame is centred on a multiple of `hop` samples, multiplied with a Hann window, and taken apart into
    frequencies; triangular filters add these up into bands that are as wide as the ear's. Values more than 8 below
    the loudest (10^8 times weaker) are cut off.

    Source: Whisper, arXiv:2212.04356, section 2.2 (25 ms windows, 10 ms hop, 80 bands), and its published code, which
    also drops the last frame; the scaling to about -1..1 that follows there is left out.
    """
    n_fft = max(window, N_FFT)
    hann = torch.hann_window(window)
    spectrum = torch.stft(samples, n_fft, hop, window, hann, center=True, return_complex=True)  # (frequency, frame)
    power = spectrum[:, :-1].abs() ** 2
    log = (mel_filters(n_fft) @ power).clamp(min=1e-10).log10()
    return log.clamp(min=float(log.max()) - 8)


def mel_filters(n_fft: int) -> Float[Tensor, "band frequency"]:
    """80 overlapping triangles on the mel scale, each with the same area."""
    frequencies = torch.linspace(0, RATE / 2, n_fft // 2 + 1, dtype=torch.float64)
    low, middle, high = (edges[:, None] for edges in (mel_edges()[:-2], mel_edges()[1:-1], mel_edges()[2:]))
    rising, falling = (frequencies - low) / (middle - low), (high - frequencies) / (high - middle)
    return (torch.minimum(rising, falling).clamp(min=0) * 2 / (high - low)).float()


def mel_edges() -> Float[Tensor, " edge"]:
    """Frequencies from 0 to 8,000 hertz, equally far apart in mel: linear below 1,000 hertz, logarithmic above."""
    top = 15 + 27 * np.log(RATE / 2 / 1000) / np.log(6.4)
    mel = torch.linspace(0, float(top), N_MELS + 2, dtype=torch.float64)
    return torch.where(mel < 15, mel * 200 / 3, 1000 * torch.exp((mel - 15) * np.log(6.4) / 27))


def frame_count(samples: int, hop: int) -> int:
    """How many frames `log_mel` makes."""
    return samples // hop


def tokens_of_frames(frames: int) -> int:
    """Tokens after a convolution of width 3 with stride 2, as in Whisper: 3,000 frames -> 1,500."""
    return -(-frames // CONV_STRIDE)


Values = Float[ndarray, " time"]


@dataclass(frozen=True, slots=True)
class Spectrogram(Finding):
    """A sound as a sequence of frames, and one of them.

    Args:
        frames: how many.
        seconds: of the sound.
        hop: samples from frame to frame.
        at: the frame that is looked at.
        hertz: the middle of the band where it is loudest.
    """

    frames: int
    seconds: float
    hop: int
    at: int
    hertz: float

    @property
    def sentence(self) -> str:
        return (
            f"Log-mel spectrogram, shape ({N_MELS}, {self.frames_text}): {self.seconds:.1f} s at {RATE:,} samples per "
            f"second, one column every {self.hop} samples. Frame {self.at} is loudest near {self.hertz:,.0f} Hz."
        )

    @property
    def frames_text(self) -> str:
        """The number of frames as it is written."""
        return f"{self.frames:,}"


def spectrogram(result: AudioFrames, at: int) -> Spectrogram:
    """The frames of a sound, and the loudest band of one of them."""
    loudest = float(result.hertz[int(result.mel[:, at].argmax())])
    return Spectrogram(result.frames, len(result.samples) / RATE, result.hop, at, loudest)


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


def frame_overlap(result: AudioFrames, at: int) -> FrameOverlap:
    """How far neighbouring frames overlap."""
    return FrameOverlap(at, result.window, result.hop)


@dataclass(frozen=True, slots=True)
class SpeechTokens(Finding):
    """The tokens of as much sound as Whisper always reads.

    Args:
        seconds: of the sound.
        frames: before the convolution.
        tokens: after it.
    """

    seconds: int
    frames: int
    tokens: int

    @property
    def sentence(self) -> str:
        return f"{self.frames:,} frames → {self.tokens:,} tokens"


def speech_tokens(hop: int) -> SpeechTokens:
    """Frames and tokens of 30 seconds with `hop` samples from frame to frame."""
    frames = frame_count(SECONDS * RATE, hop)
    return SpeechTokens(SECONDS, frames, tokens_of_frames(frames))


@dataclass(frozen=True, slots=True)
class Windows:
    """A series, normalised and cut up.

    Args:
        values: the series, as it was.
        mean: of the series.
        deviation: its standard deviation; 1 if all values are equal.
        starts: the first time step of each window.
        windows: what the model reads: one row a token, in deviations from the mean.
        padded: time steps after the end, which repeat the last value.
    """

    values: Values
    mean: float
    deviation: float
    starts: Int[ndarray, " window"]
    windows: Float[ndarray, "window step"]
    padded: int


def cut_windows(values: Values, length: int, stride: int) -> Windows:
    """Cut a series into windows of `length` steps that start every `stride` steps.

    The series is brought to mean 0 and deviation 1 first; its last value is repeated `stride` times at the end, so
    that there are floor((L - P) / S) + 2 windows of a series of L steps.

    Raises:
        ValueError: a series shorter than one window, or steps below 1.

    Source: PatchTST, arXiv:2211.14730, section 3.1 (there 336 steps, P = 16, S = 8: 42 tokens).
    """
    if length < 1 or stride < 1:
        raise ValueError(f"length={length} and stride={stride} must be at least 1")
    if len(values) < length:
        raise ValueError(f"{len(values)} values are fewer than one window of {length}; use a shorter window")
    mean, deviation = float(values.mean()), float(values.std()) or 1.0
    padded = np.concatenate((values, np.repeat(values[-1:], stride)))
    rows = np.lib.stride_tricks.sliding_window_view((padded - mean) / deviation, length)[::stride]
    return Windows(values, mean, deviation, stride * np.arange(len(rows)), np.ascontiguousarray(rows), stride)


def window_count(steps: int, length: int, stride: int) -> int:
    """How many windows `cut_windows` makes."""
    return (steps - length) // stride + 2


@dataclass(frozen=True, slots=True)
class SeriesWindows(Finding):
    """A series cut into windows, and one of them.

    Args:
        steps: of the series.
        mean, deviation: of its values.
        windows, length: how many windows, of how many steps.
        at, start: the window that is looked at, and its first step.
        window_mean: of its values, in deviations from the mean of the series.
    """

    steps: int
    mean: float
    deviation: float
    windows: int
    length: int
    at: int
    start: int
    window_mean: float

    @property
    def sentence(self) -> str:
        return (
            f"{self.steps:,} steps, mean {self.mean:.3g}, deviation {self.deviation:.3g}, in {self.windows} windows of "
            f"{self.length}. Window {self.at}: steps {self.start} to {self.start + self.length - 1}, "
            f"{self.window_mean:+.2f} deviations from the mean."
        )


def series_windows(result: Windows, at: int) -> SeriesWindows:
    """The series, and the window in one place of the sequence."""
    windows, length = result.windows.shape
    start, mean = int(result.starts[at]), float(result.windows[at].mean())
    return SeriesWindows(len(result.values), result.mean, result.deviation, windows, length, at, start, mean)
