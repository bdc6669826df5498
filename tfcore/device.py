"""Which device computes: a CUDA GPU when there is one, Apple's mps, else the CPU."""

import torch


def device(preferred: str | None = None) -> torch.device:
    """The device to compute on.

    Args:
        preferred: a device name such as "cpu" or "cuda:1"; None picks the best there is.
    """
    if preferred is not None:
        return torch.device(preferred)
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")
