"""Loads are counted by hand from the routers' choices."""

import numpy as np
import pytest
import torch

from tests.small import ids, model
from tfcore.analysis.experts.expert_load import expert_load
from tfcore.part_configs import ExpertsConfig


def test_loads_are_shares_of_tokens_and_of_choices():
    subject = model(experts=ExpertsConfig(n_experts=5, top_k=2, dense_layers=1), d_ff=16, n_layers=3)
    texts = [ids(1, n, seed=n)[0].tolist() for n in (3, 13, 20)]
    found = expert_load(subject, texts)
    assert found.tokens.shape == (2, 5), "the first layer is dense"
    name = "blocks.2.mlp.router.indices"
    chosen = [subject(torch.tensor([text]), capture=(name,)).activations[name] for text in texts]
    by_hand = [sum(int((choice == expert).sum()) for choice in chosen) / 36 for expert in range(5)]
    np.testing.assert_allclose(found.tokens[1], by_hand, atol=1e-6)
    np.testing.assert_allclose(found.tokens.sum(-1), 2, atol=1e-6)
    np.testing.assert_allclose(found.choices.sum(-1), 1, atol=1e-6)


def test_a_dense_model_is_refused():
    with pytest.raises(ValueError, match="has no experts to count"):
        expert_load(model(), [[1]])
