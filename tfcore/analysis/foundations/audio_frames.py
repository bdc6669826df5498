"""A sound as a sequence: overlapping frames, and the loudness of each frame by pitch."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.foundations.media import RATE

N_MELS, N_FFT, CONV_STRIDE = 80, 400, 2
SECONDS = 30  # that Whisper always reads, silence added at the end


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


def positions(frames: int) -> int:
    """Places in the sequence after a convolution of width 3 with stride 2, as in Whisper: 3,000 frames -> 1,500."""
    return -(-frames // CONV_STRIDE)
