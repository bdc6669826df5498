"""Images, sounds and time series cut into tokens."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from numpy import ndarray
from torch import Tensor

from tfcore.measures.token_counts import RATE

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


# Whisper's (arXiv:2212.04356, section 2.2).
N_MELS = 80  # bands of the spectrogram
N_FFT = 400  # samples that are taken apart into frequencies, at least: 25 ms
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
        """The number of frames."""
        return self.mel.shape[1]


def cut_frames(samples: Float[ndarray, " sample"], window_ms: float, hop_ms: float) -> AudioFrames:
    """Frames of `window_ms` milliseconds every `hop_ms`, and their log-mel spectrogram."""
    window, hop = round(RATE * window_ms / 1000), round(RATE * hop_ms / 1000)
    mel = log_mel(torch.tensor(samples), window, hop)
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


Values = Float[ndarray, " time"]


@dataclass(frozen=True, slots=True)
class SeriesWindows:
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


def cut_windows(values: Values, length: int, stride: int) -> SeriesWindows:
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
    return SeriesWindows(values, mean, deviation, stride * np.arange(len(rows)), np.ascontiguousarray(rows), stride)
