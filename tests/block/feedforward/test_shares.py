"""Shares of neurons in a logit: they add up to those of the layers, and sentences are loops over them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.small import model as small
from tfcore.measures.logit_attribution import contributions, stream_parts
from tfcore.measures.token_text import visible
from tfcore.part_configs import ExpertsConfig
from tfcore.tokenizers.tokenizer import ByteTokenizer
from tfcore.views.block.feedforward import say
from tfcore.views.block.feedforward.measure import shares as neuron_shares
from tfcore.views.block.feedforward.measure.shares import promotion_here, read_neurons, writing_neurons

BYTES, TEXT = ByteTokenizer(), "a tall oak fell"
KINDS = {
    "like stories": {},
    "like GPT-2": {"norm": "layernorm", "positions": "learned", "bias": True, "activation": "gelu_tanh"},
    "parallel": {"parallel": True, "tie_embeddings": False, "logit_scale": 0.5},
}


def read(**values):
    model = small(vocab_size=256, **values)
    return model, read_neurons(model, BYTES, TEXT, 12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_shares_of_a_layer_add_up_to_that_of_the_layer(kind):
    model, reading = read(**KINDS[kind])
    for position in (0, 7, 11):
        shares = neuron_shares.neuron_shares(model, reading, [position])[0]
        parts = stream_parts(model, reading.run.ids, position)
        layers = contributions(model, parts, int(reading.expected[position]), "mean").feedforward
        np.testing.assert_allclose(shares.sum(1), layers, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_neuron_writes_is_seen_by_taking_it_away(kind):
    """In the last layer nothing reads it again: with the norm frozen, each logit falls by its share."""
    model, reading = read(**KINDS[kind])
    position, layer = 6, model.config.n_layers - 1
    neuron = int(np.abs(neuron_shares.neuron_shares(model, reading, [position])[0][layer]).argmax())
    found = promotion_here(model, BYTES, reading, position, layer, neuron)
    ids = torch.tensor([list(reading.run.ids)])
    as_is = model(ids, capture=("blocks.*.resid_post", f"blocks.{layer}.mlp.post"))
    final = as_is.activations[f"blocks.{layer}.resid_post"][0, position].double()
    vector = model.decoder.blocks[layer].mlp.down.weight[:, neuron].double()
    value = float(as_is.activations[f"blocks.{layer}.mlp.post"][0, position, neuron])
    assert found.activation == pytest.approx(value, abs=1e-5)
    norm, centre = model.decoder.ln_final, model.config.norm.kind == "layernorm"
    table = (model.embed if model.config.tie_embeddings else model.unembed).weight.double() * model.config.logit_scale
    lift = table @ (value * (vector - vector.mean() * centre) * norm.weight.double() / float(reading.scale[position]))
    assert found.lifts[0] == pytest.approx(float(lift.max()), rel=1e-4)
    assert found.lifts[-1] == pytest.approx(float(lift.min()), rel=1e-4)
    without = norm((final - value * vector)[None].float())[0]
    logits = model.to_logits(without)
    token = int(reading.expected[position])
    assert found.without_it == pytest.approx(float(logits.softmax(-1)[token]), abs=1e-5)
    assert found.with_it == pytest.approx(float(as_is.logits[0, position].softmax(-1).max()), abs=1e-6)
    assert found.followed == BYTES.tokens([token])[0]


def test_the_sentence_is_a_loop_over_all_neurons():
    model, reading = read()
    shares = neuron_shares.neuron_shares(model, reading, [5])[0]
    found = writing_neurons(model, BYTES, reading, 5)
    every = {(i, j): float(shares[i, j]) for i in range(shares.shape[0]) for j in range(shares.shape[1])}
    by_size = sorted(every, key=lambda place: -abs(every[place]))[:12]
    ordered = sorted(by_size, key=lambda place: -every[place])
    assert [(one.layer, one.neuron) for one in found.largest] == ordered
    assert [one.share for one in found.largest] == [every[place] for place in ordered]
    assert found.all == pytest.approx(sum(every.values()), abs=1e-5)
    raising = sorted((share for share in every.values() if share > 0), reverse=True)
    half = next(n for n in range(1, len(raising) + 1) if sum(raising[:n]) >= sum(raising) / 2)
    assert found.half == half
    (first, second), (last, least) = ordered[0], ordered[-1]
    assert str(say.writing_neurons(found)) == (
        f"After '{chr(reading.run.ids[5])}' (5) the model expects '{visible(found.expected)}' with "
        f"{found.probability:.1%}. The 12 largest of {len(every)} shares in its logit go from "
        f"{every[ordered[0]]:+.2f} (neuron {first}.{second}) to "
        f"{every[ordered[-1]]:+.2f} ({last}.{least}) and come to {sum(every[place] for place in by_size):+.2f}, all "
        f"together to {found.all:+.2f}. {half} neurons make half of all that raises it."
    )
    assert "1 neuron makes half" in str(say.writing_neurons(replace(found, half=1)))
    for block in model.decoder.blocks:
        block.mlp.down.weight.zero_()
    assert writing_neurons(model, BYTES, reading, 5).half == 0, "where nothing raises it"


def test_after_a_sentence_the_neuron_with_the_largest_share_in_a_likely_word_is_looked_at_first():
    model, reading = read()
    last = len(reading.tokens) - 1
    assert neuron_shares.first_token(model, reading) == last
    reading = replace(reading, tokens=[*reading.tokens[:-1], "."], names=["!", *["a"] * (last - 1), " "])
    likely = sorted(range(1, last), key=lambda i: reading.probability[i])[-neuron_shares.SUREST :]
    largest = {i: float(neuron_shares.neuron_shares(model, reading, [i]).max()) for i in likely}
    assert largest[neuron_shares.first_token(model, reading)] == max(largest.values())
    assert neuron_shares.first_token(model, replace(reading, names=["."] * (last + 1))) == last


def test_a_neuron_is_named_by_what_it_raises_with_its_sign():
    model, reading = read()
    for one in writing_neurons(model, BYTES, reading, 5).largest:
        found = promotion_here(model, BYTES, reading, 5, one.layer, one.neuron)
        assert one.raised == found.tokens[: neuron_shares.WORDS]


def test_where_a_neuron_is_most_active():
    found = say.along_text(np.array([0.5, -2.0, 1.0], np.float32), ["a", " b", "c"], 3, 4)
    assert str(found) == "Of the 3 tokens neuron 3.4 is most active at '·b' (1), with -2.00."


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"d_ff": 0}, "no feed-forward layers"),
        ({"experts": ExpertsConfig(n_experts=2, top_k=1)}, "experts"),
        ({"norm_placement": "post"}, "pre-norm"),
        ({"norm_placement": "sandwich"}, "pre-norm"),
        ({"architecture": "encoder"}, "pre-norm"),
    ],
)
def test_models_without_such_neurons_are_refused(values, why):
    model = small(vocab_size=256, **values)
    assert why in str(neuron_shares.without_shares(model.config))
    with pytest.raises(ValueError, match=why):
        read_neurons(model, BYTES, TEXT, 12)
    assert neuron_shares.without_shares(small().config) is None
