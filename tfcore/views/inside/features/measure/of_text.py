"""Features of a text: how active each one is at each token, and which of them are the strongest."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Integer
from numpy import ndarray

from tfcore.inspection.capture import layer_of
from tfcore.inspection.transcoders import Transcoder
from tfcore.measures.one_text import one_text
from tfcore.model import Transformer


def dictionary_name(dictionary: Transcoder) -> str:
    """The name of a dictionary, as in "feed-forward 2" or "stream after block 2"."""
    layer = dictionary_layer(dictionary)
    return f"stream after block {layer}" if dictionary.config.is_autoencoder else f"feed-forward {layer}"


def dictionary_layer(dictionary: Transcoder) -> int:
    """Index of the block it belongs to."""
    return layer_of(dictionary.config.writes)


def feature_title(dictionary: Transcoder, feature: int) -> str:
    """The title of a feature, as in "feature 2/517": layer and number; "feature stream/517" in the autoencoder."""
    place = "stream" if dictionary.config.is_autoencoder else dictionary_layer(dictionary)
    return f"feature {place}/{feature}"


@torch.no_grad()
def feature_activations(
    model: Transformer, dictionary: Transcoder, ids: Sequence[int]
) -> Float[ndarray, "seq feature"]:
    """The activation of every feature at every token of a text; 0 for all but the top_k largest of each token."""
    reads = dictionary.config.reads
    x = model.activations(one_text(model, ids), reads)[reads].squeeze(0)
    return dictionary.encode(x).float().cpu().numpy()


def strongest_features(values: Float[ndarray, "seq feature"], count: int) -> Integer[ndarray, " row"]:
    """The features with the largest activations in a text, in the order of the tokens where these are."""
    largest = values.max(0)
    best = np.argsort(-largest, kind="stable")[:count]
    best = best[largest[best] > 0]
    return best[np.lexsort((-largest[best], values[:, best].argmax(0)))]
