"""One feature: how often and how strongly it is active in held-out texts, what it writes, and those most like it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.inspection.transcoders import Transcoder
from tfcore.loading.transcoders import chosen_dictionary
from tfcore.measures.dictionaries.feature_scan import FeatureScan, load_feature_scan
from tfcore.measures.lenses import unembedding
from tfcore.measures.neuron_scan import Snippet
from tfcore.measures.one_text import one_text
from tfcore.measures.token_text import visible
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.inside.features.measure.of_text import feature_title

NAMED = 3  # tokens in a sentence


@torch.no_grad()
def feature_texts(model: Transformer, name: str, dictionary: int, feature: int) -> list[Snippet]:
    """The held-out texts in which a feature is strongest, the strongest first, each read again by the model.

    Args:
        name: of the model, whose dictionaries and scan are read.
    """
    scan, of = load_feature_scan(name), chosen_dictionary(name, dictionary)
    stored = [float(value) for value in scan.value[dictionary, feature] if value > 0]
    if not stored:
        return []
    rows = [scan.ids(int(window)) for window in scan.window[dictionary, feature, : len(stored)]]
    longest = max(map(len, rows))
    # What is appended to shorter ones comes after all that counts, and a decoder does not look ahead.
    batch = torch.cat([one_text(model, [*ids, *[0] * (longest - len(ids))]) for ids in rows])
    x = model.activations(batch, of.config.reads)[of.config.reads]
    values = of.encode(x)[..., feature].float().cpu().numpy()  # (row, seq)
    peaks = scan.position[dictionary, feature].tolist()
    return [
        Snippet(tuple(ids), peak, own[: len(ids)], largest)
        for ids, peak, own, largest in zip(rows, peaks, values, stored, strict=False)
    ]


class FeaturePromotion(NamedTuple):
    """The tokens whose logits a feature raises and lowers most, where it is strongest.

    Args:
        title: of the feature.
        activation: its largest in held-out texts.
        tokens, lifts: those it raises most, then those it lowers most, and its direct effect on their logits.
        raised: how many of them come first.
    """

    title: str
    activation: float
    tokens: tuple[str, ...]
    lifts: tuple[float, ...]
    raised: int


@torch.no_grad()
def feature_promotion(
    model: Transformer,
    tokenizer: Tokenizer,
    name: str,
    dictionary: int,
    feature: int,
    raised: int = 8,
    lowered: int = 4,
) -> FeaturePromotion:
    """The direct effect of a feature on the logits: activation * W_U (gamma * row of W_dec) / scale, with the final
    norm's gamma and its scale at the place where the feature is strongest; what later layers make of it is left out.

    Args:
        name: of the model, whose dictionaries and scan are read.
        raised, lowered: how many tokens.
    """
    scan, of = load_feature_scan(name), chosen_dictionary(name, dictionary)
    activation = float(scan.value[dictionary, feature, 0])
    row = one_text(model, scan.ids(int(scan.window[dictionary, feature, 0])))
    scale = model.activations(row, "ln_final.scale")["ln_final.scale"].squeeze(0)
    direction = model.decoder.ln_final.weight * of.W_dec[feature]
    lift = activation * (unembedding(model) @ direction) / scale[int(scan.position[dictionary, feature, 0])]
    values = lift.float().cpu().numpy()
    order = np.argsort(-values, kind="stable")
    ids = [*order[:raised].tolist(), *order[-lowered:].tolist()]
    return FeaturePromotion(
        feature_title(of, feature), activation, tuple(tokenizer.tokens(ids)), tuple(values[ids].tolist()), raised
    )


class NearestFeatures(NamedTuple):
    """The features of a dictionary that write most nearly the same as one of them, the nearest first, and the cosines
    of their rows of W_dec with its own."""

    features: tuple[int, ...]
    cosines: tuple[float, ...]


def feature_neighbours(of: Transcoder, feature: int, count: int = 8) -> NearestFeatures:
    """The features whose rows of W_dec have the largest cosines with that of one feature."""
    rows: Float[ndarray, "feature d_model"] = of.W_dec.detach().float().cpu().numpy()
    cosines = rows @ rows[feature] / (np.linalg.norm(rows, axis=1) * np.linalg.norm(rows[feature]))
    cosines[feature] = -np.inf
    best = np.argsort(-cosines, kind="stable")[:count]
    return NearestFeatures(tuple(best.tolist()), tuple(cosines[best].tolist()))


def token_words(scan: FeatureScan, dictionary: int, tokenizer: Tokenizer, count: int = NAMED) -> list[str]:
    """The tokens that each feature of a dictionary is active on most often, as in "·big ·little"; "" for one that
    was never active."""
    kept = scan.token_share[dictionary, :, :count] > 0
    names = [visible(token) for token in tokenizer.tokens(list(range(tokenizer.vocab_size)))]
    rows: Sequence[list[int]] = scan.token[dictionary, :, :count].tolist()
    return [
        " ".join(names[i] for i, on in zip(row, own, strict=True) if on) for row, own in zip(rows, kept, strict=True)
    ]
