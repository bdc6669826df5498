"""Sound as a model reads it: a log-mel spectrogram of it, and two convolutions over that, of which the second halves
its frames (arXiv:2212.04356, section 2.2, and its published code)."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from tfcore.config import ModelConfig
from tfcore.part_configs import SoundConfig

RATE = 16_000  # samples a second
N_FFT = 400  # samples of a window: 25 ms
HOP = 160  # samples from one frame to the next: 10 ms
STRIDE = 2  # frames that the second convolution makes one position of
SPAN = 3  # frames, or positions, that each convolution sees
TOP = RATE / 2  # hertz: where the highest band ends
LINEAR = 200 / 3  # hertz of a mel below BREAK
BREAK = 1_000.0  # hertz, from which on mels grow with the logarithm
LOGARITHMIC = math.log(6.4) / 27  # of a mel above it
FLOOR = 1e-10  # of the power in a band
RANGE = 8.0  # powers of ten below the loudest that are kept


def mel(hertz: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """Slaney's mel scale: linear below 1,000 hertz, logarithmic above (M. Slaney, Auditory Toolbox, 1998)."""
    above = BREAK / LINEAR + (hertz.clamp(min=BREAK) / BREAK).log() / LOGARITHMIC
    return torch.where(hertz < BREAK, hertz / LINEAR, above)


def hertz(mels: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """The inverse of mel."""
    first = BREAK / LINEAR
    return torch.where(mels < first, mels * LINEAR, BREAK * ((mels - first) * LOGARITHMIC).exp())


def mel_filters(mels: int) -> Float[Tensor, "mel bin"]:
    """Triangles over the bins of a spectrum, their corners evenly spaced in mels from 0 to 8,000 hertz, each of area 1
    (Slaney's normalisation)."""
    ends = mel(torch.tensor([0.0, TOP], dtype=torch.float64))
    corners = hertz(torch.linspace(float(ends[0]), float(ends[1]), mels + 2, dtype=torch.float64))
    bins = torch.linspace(0, TOP, N_FFT // 2 + 1, dtype=torch.float64)
    low, middle, high = corners[:-2, None], corners[1:-1, None], corners[2:, None]
    rising, falling = (bins - low) / (middle - low), (high - bins) / (high - middle)
    return (torch.minimum(rising, falling).clamp(min=0) * 2 / (high - low)).float()


def log_mel(samples: Float[Tensor, "batch sample"], sound: SoundConfig) -> Float[Tensor, "batch mel frame"]:
    """The log-mel spectrogram of sounds, with silence after them as far as the model reads: powers in bands, their
    logarithm, cut 8 powers of ten below the loudest, moved and scaled to about -1 to 1.

    Args:
        samples: from -1 to 1, 16,000 a second; what is beyond the model's length is left out.
    """
    length = sound.frames * HOP
    padded = F.pad(samples[:, :length], (0, max(0, length - samples.shape[1])))
    window = torch.hann_window(N_FFT, device=padded.device)
    spectrum = torch.stft(padded, N_FFT, HOP, window=window, return_complex=True)
    power = spectrum[..., :-1].abs().square()  # (batch, bin, frame)
    bands = (mel_filters(sound.mels).to(power) @ power).clamp(min=FLOOR).log10()
    loudest = bands.amax((1, 2), keepdim=True)
    return (torch.maximum(bands, loudest - RANGE) + 4) / 4


class SoundEmbedding(nn.Module):
    """gelu(conv(gelu(conv(x)))), each over SPAN frames, the second with a stride of 2: one position every 20 ms."""

    def __init__(self, config: ModelConfig, sound: SoundConfig) -> None:
        super().__init__()
        self.conv1 = _Convolution(sound.mels, config.d_model, 1)
        self.conv2 = _Convolution(config.d_model, config.d_model, STRIDE)

    def forward(self, x: Float[Tensor, "batch mel frame"]) -> Float[Tensor, "batch seq d_model"]:
        return self.conv2(self.conv1(x)).mT


class _Convolution(nn.Module):
    """gelu(conv(x)), with 0 beyond both ends."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width, channels, SPAN))
        self.bias = nn.Parameter(torch.zeros(width))
        self.stride = stride

    def forward(self, x: Float[Tensor, "batch channel frame"]) -> Float[Tensor, "batch width new"]:
        return F.gelu(F.conv1d(x, self.weight.to(x), self.bias, stride=self.stride, padding=SPAN // 2))
