"""Attention over a picture: the maps of every head, rollout, mean distances, and the weight on learned tokens."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, UInt8
from numpy import ndarray

from tfcore.measures.text_loss import likeliest
from tfcore.model import Transformer
from tfcore.part_configs import PatchesConfig
from tfcore.pictures import prepared
from tfcore.training.recipes.colours import HELD_OUT
from tfcore.training.shape_pictures import COLOURS, shape_picture
from tfcore.views.foundations.tokens.measure.signals import scene

Drawn = Literal["scene", "balls", "rings", "shapes"]  # pictures that are drawn here
MOST_TOKENS = 1_100  # of a picture; one map of each head of a large model then takes a gigabyte
BEST = 5  # classes


@dataclass(frozen=True, eq=False)
class SeenPicture:
    """A picture as a model has read it.

    Args:
        pixels: of the square that it read, before they were normalised.
        patterns: (layer, head, query, key).
        patches: how it is cut.
        classes: the most likely classes with their probabilities; empty without a head.
    """

    pixels: UInt8[ndarray, "side side 3"]
    patterns: Float[ndarray, "layer head query key"]
    patches: PatchesConfig
    classes: tuple[tuple[str, float], ...]

    @cached_property
    def rolled(self) -> Float[ndarray, "query key"]:
        """The rollout of its maps, which no layer, head or token that is looked at changes; so are its distances."""
        return rollout(self.patterns)

    @cached_property
    def distances(self) -> Float[ndarray, "layer head"]:
        """How far each head looks; see mean_distances."""
        return mean_distances(self)

    @property
    def learned(self) -> int:
        """Learned tokens before the patches."""
        return len(self.patches.tokens)

    def name(self, token: int) -> str:
        """A token in words: the name of a learned one, or where a patch is."""
        if token < self.learned:
            return self.patches.tokens[token]
        row, column = divmod(token - self.learned, self.patches.rows)
        return f"patch {row}, {column}"

    def grid(self, weights: Float[ndarray, "*more key"]) -> Float[ndarray, "*more row column"]:
        """The weights of the patches, as they lie in the picture."""
        rows = self.patches.rows
        return weights[..., self.learned :].reshape(*weights.shape[:-1], rows, rows)


@torch.inference_mode()
def see(model: Transformer, picture: UInt8[ndarray, "height width 3"]) -> SeenPicture:
    """Let a model read a picture.

    Raises:
        ValueError: the model reads texts, or more tokens of a picture than can be shown.
    """
    config, patches = model.config, model.config.patches
    if patches is None:
        raise ValueError("this model reads texts; take one of pictures, such as dinov2")
    if config.max_seq_len > MOST_TOKENS:
        raise ValueError(
            f"this model makes {config.max_seq_len:,} tokens of a picture, and at most {MOST_TOKENS:,} are shown; take "
            "one with larger patches or smaller pictures"
        )
    numbers = prepared(picture, patches)
    names = [f"blocks.{layer}.attn.pattern" for layer in range(config.n_layers)]
    output = model(numbers.to(model.device, model.dtype), capture=names)
    patterns = torch.stack([output.activations[name][0].float().cpu() for name in names])
    mean, std = (torch.tensor(one)[:, None, None] for one in (patches.mean, patches.std))
    shown = ((numbers[0] * std + mean) * 255).round().clamp(0, 255).byte().permute(1, 2, 0)
    classes: tuple[tuple[str, float], ...] = ()
    if config.classes is not None:
        scores = output.logits[0, config.read_at].float().cpu()
        best = likeliest(scores, BEST)
        named = zip(best.ids.tolist(), best.probabilities.tolist(), strict=True)
        classes = tuple((config.classes.labels[i], probability) for i, probability in named)
    return SeenPicture(shown.expand(-1, -1, 3).numpy(), patterns.numpy(), patches, classes)


def rollout(patterns: Float[ndarray, "layer head query key"]) -> Float[ndarray, "query key"]:
    """Attention rollout (arXiv:2005.00928, section 3): the product over layers of (A + I) / 2, A the mean over heads;
    how much of each input token reaches each output token where residual connections count for a half."""
    rolled = np.eye(patterns.shape[-1], dtype=np.float32)
    for pattern in patterns:
        mixed = (pattern.mean(0) + np.eye(len(rolled), dtype=np.float32)) / 2
        rolled = mixed @ rolled
    return rolled


def mean_distances(seen: SeenPicture) -> Float[ndarray, "layer head"]:
    """How far from a patch each head looks, in patches: distances to the patches, weighted with its attention to them,
    over all patches (arXiv:2010.11929, figure 7 and appendix D.7). Learned tokens are left out, and the other weights
    of each row divided by their sum."""
    n, rows = seen.learned, seen.patches.rows
    places = np.stack(np.divmod(np.arange(rows**2), rows), axis=1).astype(np.float32)
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
    among = seen.patterns[:, :, n:, n:]
    return (among * apart).sum((-2, -1)) / among.sum((-2, -1))


def learned_weights(seen: SeenPicture) -> Float[ndarray, "layer head token"]:
    """The share of the patches' attention that goes to each learned token, on average over the patches."""
    return seen.patterns[:, :, seen.learned :, : seen.learned].mean(2)


def telling_head(seen: SeenPicture, layer: int) -> int:
    """The head of a layer whose class token's weights on patches are the least even: of the lowest entropy."""
    weights = seen.patterns[layer, :, 0, seen.learned :]
    shares = weights / weights.sum(-1, keepdims=True)
    return int((-(shares * np.log(np.maximum(shares, 1e-12))).sum(-1)).argmin())


def drawn_picture(kind: Drawn, side: int) -> UInt8[ndarray, "side side 3"]:
    """One of the pictures that are drawn here: "balls", three on a table; "rings", two chains of them; "shapes", one of
    those that `colours` is trained on; or "scene", a house by the sea."""
    if kind == "scene":
        return scene(side)
    if kind == "shapes":
        return shape_picture(list(COLOURS).index("green"), side, seed=HELD_OUT)
    y, x = np.mgrid[0:side, 0:side] / side
    circles: list[tuple[float, float, float, tuple[int, int, int]]]
    if kind == "balls":
        ground = np.where((y < 0.55)[..., None], [196, 214, 232], [168, 130, 92]) * (0.85 + 0.3 * (1 - y))[..., None]
        circles = [
            (0.27, 0.62, 0.13, (205, 48, 40)),
            (0.56, 0.70, 0.16, (44, 96, 190)),
            (0.80, 0.58, 0.10, (240, 190, 40)),
        ]
    else:
        ground = np.full((side, side, 3), 236.0) - 24 * np.sin(40 * (x + y))[..., None] * 0.25
        circles = [(0.16 + 0.17 * i, 0.3 + 0.05 * (i % 2), 0.1, (60, 60, 66)) for i in range(5)]
        circles += [(0.2 + 0.2 * i, 0.72, 0.09, (176, 58, 46)) for i in range(4)]
    for across, down, radius, colour in circles:
        away = np.hypot(x - across, y - down) / radius
        light = np.clip(1.25 - np.hypot(x - across + radius / 3, y - down + radius / 3) / radius * 0.65, 0.2, 1.3)
        inside = away < 1 if kind == "balls" else (away < 1) & (away > 0.66)
        shade = (
            (np.hypot(x - across - radius * 0.4, (y - down - radius * 0.95) * 3) < radius) & ~inside & (kind == "balls")
        )
        ground = np.where(shade[..., None], ground * 0.72, ground)
        ground = np.where(inside[..., None], np.array(colour) * light[..., None], ground)
    return np.clip(ground, 0, 255).astype(np.uint8)
