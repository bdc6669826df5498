"""A feature held at a level for a forward pass: off, or forced on, while all else a layer writes stays."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tfcore.inspection.edits import Edit
from tfcore.inspection.transcoders import Transcoder
from tfcore.loading.transcoders import chosen_dictionary
from tfcore.measures.dictionaries.feature_scan import load_feature_scan
from tfcore.measures.interventions import Effect, continue_text, effect
from tfcore.model import Transformer
from tfcore.views.inside.features.measure.of_text import feature_title


def hold_feature(dictionary: Transcoder, feature: int, level: float) -> list[Edit]:
    """Edits that hold a feature at an activation, at every token of the passes they are used in.

    What the layer writes changes by (level - a) times the feature's row of W_dec, where a is the feature's activation
    at that token in the very pass. All else, the error of the dictionary too, stays as it is; so level 0 takes away
    exactly what the feature adds to the prediction of the dictionary.
    """
    config, row = dictionary.config, dictionary.W_dec[feature]

    def change(x: Tensor) -> Tensor:
        return (level - dictionary.encode(x)[..., feature, None]) * row

    if config.is_autoencoder:
        return [Edit(config.writes, lambda x: x + change(x))]
    read: list[Tensor] = []  # what the layer is given, between the two edits

    def keep(x: Tensor) -> Tensor:
        read.append(x)
        return x

    return [Edit(config.reads, keep), Edit(config.writes, lambda written: written + change(read.pop()))]


@dataclass(frozen=True, slots=True)
class Held:
    """A text and its continuation without and with a feature held at a level.

    Args:
        what: is done, as in "feature 2/517 off".
        level: the activation it is held at.
        effect: on the prediction after the last token.
        before, after: ids of the greedy continuations.
    """

    what: str
    level: float
    effect: Effect
    before: tuple[int, ...]
    after: tuple[int, ...]


@torch.no_grad()
def held_feature(
    model: Transformer, name: str, ids: Sequence[int], dictionary: int, feature: int, factor: float, new_tokens: int
) -> Held:
    """The effect of holding a feature at `factor` times its largest activation in held-out texts; 0 is off.

    Args:
        name: of the model, whose dictionaries and scan are read.
        new_tokens: of the continuations.
    """
    of, largest = chosen_dictionary(name, dictionary), float(load_feature_scan(name).value[dictionary, feature, 0])
    level = factor * largest
    edits = hold_feature(of, feature, level)
    return Held(
        held_words(of, feature, factor, level),
        level,
        effect(model, ids, edits, len(ids) - 1),
        tuple(continue_text(model, ids, (), new_tokens)),
        tuple(continue_text(model, ids, edits, new_tokens)),
    )


def held_words(of: Transcoder, feature: int, factor: float, level: float) -> str:
    """A held feature in words, as in "feature 2/517 off" or "feature 2/517 at 4.20 (2 times its largest)"."""
    title = feature_title(of, feature)
    return f"{title} off" if not factor else f"{title} at {level:.2f} ({factor:g} times its largest)"
