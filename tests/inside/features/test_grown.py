"""A dictionary in training: cosines and frequent tokens beside plain loops, and the sentences of planted values."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.small import ids, model
from tfcore.inspection.transcoders import Transcoder, TranscoderConfig
from tfcore.measures.dictionaries.growth import DictionaryMoment, chance_cosine, closest_features, grown_features
from tfcore.measures.dictionaries.quality import Quality
from tfcore.views.inside.features.say import grown_quality, shared_features

SHAPE = {"d_model": 24, "n_features": 30, "top_k": 4}


def dictionary(seed, **shape):
    return Transcoder(TranscoderConfig.of_mlp(0, **SHAPE | shape), seed).requires_grad_(False)


def test_the_closest_feature_is_that_of_a_loop():
    one, other = dictionary(0), dictionary(1, n_features=40)
    cosine, closest = closest_features(one, other)
    for i, row in enumerate(one.W_dec):
        every = [float(torch.cosine_similarity(row, its, dim=0)) for its in other.W_dec]
        assert cosine[i] == pytest.approx(max(every), abs=1e-5)
        assert closest[i] == every.index(max(every))
    again, same = closest_features(one, one)
    assert again == pytest.approx(np.ones(30), abs=1e-5)
    assert same.tolist() == list(range(30))


def test_random_directions_are_as_near_as_those_of_another_seed():
    assert chance_cosine(dictionary(0), 4_000) == pytest.approx(
        float(np.median(closest_features(dictionary(5, n_features=4_000), dictionary(0))[0])), abs=0.02
    )


def test_a_feature_is_named_by_the_tokens_it_fires_on_most_often():
    subject, one, windows = model(), dictionary(2), ids(6, 12, seed=4).numpy()
    found = grown_features(subject, one, windows, settled=3)
    counted = [Counter() for _ in range(30)]
    for row in windows:
        x = subject(torch.tensor(row)[None], capture=(one.config.reads,)).activations[one.config.reads][0]
        for place in range(3, 12):
            for feature in (one.encode(x[place]) > 0).nonzero()[:, 0].tolist():
                counted[feature][int(row[place])] += 1
    assert found.fires.tolist() == [own.total() for own in counted]
    for feature, own in enumerate(counted):
        named = [int(token) for token in found.tokens[feature] if token >= 0]
        assert [own[token] for token in named] == sorted(own.values(), reverse=True)[:3]
        assert found.share[feature] == pytest.approx(max(own.values(), default=0) / max(own.total(), 1))


def test_the_sentences_of_a_training():
    quality = Quality(16.0, 0.75, 2.0, 2.5, 7.0, 3, 2_304)
    start = DictionaryMoment(0, quality, quality, np.array([0.2, 0.3, 0.1]), np.zeros(3, dtype=int), 0.25)
    end = replace(
        start, step=50, cosine=np.array([0.7, 0.9, 0.4]), shipped=replace(quality, l0=32.0, loss_substituted=2.1)
    )
    assert grown_quality([start, end]).sentence == (
        "Step 50, on 2,304 held-out tokens: loss recovered 90.0% (shipped 98.0%), explained variance 75.0% "
        "(shipped 75.0%), 16.0 features a token (shipped 32.0); 3 of 3 features fire at none of these tokens."
    )
    assert shared_features([start, end]).sentence == (
        "Each feature beside the shipped one that writes most nearly the same: the median of the cosines is 0.70 at "
        "step 50 (0.20 at step 0, 0.25 for random directions). 2 of 3 have 0.7 or more."
    )
