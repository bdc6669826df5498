"""Pictures as a model reads them: scaled, cut out, normalised, and cut into patches."""

import math
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Float, UInt8
from numpy import ndarray
from torch import Tensor

from tfcore.part_configs import PatchesConfig

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels


def cut(pictures: Float[Tensor, "batch channel height width"], size: int) -> Float[Tensor, "batch patch values"]:
    """Squares of `size` pixels, line by line, each one vector: first all of its first channel, line by line.

    A linear layer of them is a convolution whose kernel and stride are `size` (arXiv:2010.11929, section 3.1, and its
    published code). A rest at the right and at the bottom is left out.
    """
    return F.unfold(pictures, size, stride=size).mT


def with_places(theirs: Float[Tensor, "place d_model"], n_learned: int, rows: int) -> Float[Tensor, "n_tokens d_model"]:
    """Positions of n_learned tokens and of rows * rows patches, made of those of a class token and of another square of
    patches: 0 for the learned tokens after the first, and for the patches those between theirs (arXiv:2010.11929,
    section 3.2; bicubic, as the published code of DINOv2 has it)."""
    first, patches = theirs[:1], theirs[1:]
    if (side := math.isqrt(len(patches))) != rows:
        grid = patches.float().T.unflatten(1, (side, side))[None]
        patches = F.interpolate(grid, size=(rows, rows), mode="bicubic", align_corners=False)[0].flatten(1).T
    return torch.cat((first, first.new_zeros(n_learned - 1, first.shape[1]), patches.to(first)))


def prepared(picture: UInt8[ndarray, "height width 3"], patches: PatchesConfig) -> Float[Tensor, "1 channel side side"]:
    """A picture as a model takes it: the square in its middle, scaled, of which the middle is read, and normalised.

    Of a square picture it is what `transformers` makes with Pillow.

    Args:
        picture: numbers from 0 to 255.
    """
    from PIL import Image  # here, because models of text need none

    image = Image.fromarray(picture)
    shorter = min(image.size)
    image = _middle(image, shorter)
    if patches.channels == 1:
        image = image.convert("L")
    resized = patches.resized or patches.side
    image = image.resize((resized, resized), Image.Resampling[patches.resampling.upper()])
    pixels = torch.frombuffer(bytearray(_middle(image, patches.side).tobytes()), dtype=torch.uint8)
    numbers = pixels.view(patches.side, patches.side, patches.channels).permute(2, 0, 1).float() / 255
    mean, std = (torch.tensor(one)[:, None, None] for one in (patches.mean, patches.std))
    return ((numbers - mean) / std)[None]


def _middle(image: "Pixels", side: int) -> "Pixels":
    """The square of `side` pixels in the middle."""
    left, top = ((length - side) // 2 for length in image.size)
    return image.crop((left, top, left + side, top + side))
