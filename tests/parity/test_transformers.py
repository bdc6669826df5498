"""The GPT-2 of `transformers` that benchmarks run against is our model: same weights, same logits and patterns."""

import pytest
from torch import nn

from benchmarks.gpt2_shape import peer
from tests.small import ALL_PATTERNS, config, difference, ids
from tfcore.model import Transformer

TOLERANCE = 1e-4
SHAPE = {"positions": "learned", "norm": "layernorm", "activation": "gelu_tanh", "bias": True, "d_ff": 40}


@pytest.mark.parametrize("seq", [1, 20, 32])
def test_the_peer_of_the_benchmarks(seq):
    ours = Transformer(config(**SHAPE, tie_embeddings=True)).eval().requires_grad_(False)
    for parameter in ours.parameters():  # large enough that attention is far from uniform
        nn.init.normal_(parameter, std=0.3)
    theirs, tokens = peer(ours), ids(2, seq)
    output, expected = ours(tokens, capture=ALL_PATTERNS), theirs(tokens, output_attentions=True)
    assert difference(output.logits, expected.logits) < TOLERANCE
    assert difference(ours(tokens).logits, expected.logits) < TOLERANCE
    assert len(expected.attentions) == ours.config.n_layers
    for i, pattern in enumerate(expected.attentions):
        assert difference(output.activations[f"blocks.{i}.attn.pattern"], pattern) < TOLERANCE
