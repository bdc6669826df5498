"""An image as a sequence: square patches in reading order, each flattened into one vector."""

import numpy as np
from jaxtyping import UInt8
from numpy import ndarray

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
