"""Which device computes: a CUDA GPU when there is one, Apple's mps, else the CPU; or the one of TFCORE_DEVICE."""

import os

import torch


def device(preferred: str | None = None) -> torch.device:
    """The device to compute on.

    Args:
        preferred: a device name such as "cpu" or "cuda:1"; None takes what the environment variable TFCORE_DEVICE
            names, or the best there is.
    """
    if name := preferred or os.environ.get("TFCORE_DEVICE"):
        return torch.device(name)
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")
