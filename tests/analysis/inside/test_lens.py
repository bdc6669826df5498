"""The logit lens and the shape of the stream, against loops over captured states."""

import math

import numpy as np
import pytest
import torch

import tfcore
from tests import small
from tfcore.analysis.inside.logit_attribution import unembedding
from tfcore.analysis.inside.logit_lens import (
    follow_tokens,
    leads_from,
    lens_logits,
    logit_lens,
    share_predicting_input,
    stages,
)
from tfcore.analysis.inside.residual_stream import largest_turn, stream_shape

TEXT = small.ids(1, 9)[0].tolist()
KINDS = {
    "like stories": {},
    "like GPT-2": {"norm": "layernorm", "positions": "learned", "bias": True, "activation": "gelu_tanh"},
    "parallel": {"parallel": True},
    "sandwich": {"norm_placement": "sandwich"},
    "attention alone": {"d_ff": 0, "tie_embeddings": False, "logit_scale": 0.5},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_last_stage_is_the_model_itself_and_the_first_its_embedding(kind):
    model = small.model(**KINDS[kind])
    found, logits = logit_lens(model, TEXT), model(torch.tensor([TEXT])).logits[0]
    chance = logits.softmax(-1)
    assert found.stages == stages(model.config)
    assert found.stages[-1] == "blocks.1.resid_post"
    np.testing.assert_array_equal(found.best[-1], chance.topk(5).indices)
    np.testing.assert_allclose(found.chance[-1], chance.topk(5).values, atol=1e-6)
    for i, following in enumerate(TEXT[1:]):
        assert found.right[-1, i] == pytest.approx(float(chance[i, following]), abs=1e-6)
        assert found.place[-1, i] == int((logits[i] > logits[i, following]).sum())
        assert (found.best[-1, i, 0] == following) == (found.place[-1, i] == 0)


def test_a_stage_is_read_with_the_norm_of_its_own_state():
    model = small.model()
    found = logit_lens(model, TEXT)
    x = model(torch.tensor([TEXT]), capture=("blocks.0.resid_mid",)).activations["blocks.0.resid_mid"][0, 4].tolist()
    size = math.sqrt(sum(v * v for v in x) / len(x) + model.config.norm_eps)
    weight = model.decoder.ln_final.weight.tolist()
    logits = [
        sum(v / size * g * w for v, g, w in zip(x, weight, row, strict=True)) for row in model.embed.weight.tolist()
    ]
    best = sorted(range(61), key=lambda token: -logits[token])[:5]
    assert found.best[1, 4].tolist() == best
    total = sum(math.exp(v) for v in logits)
    np.testing.assert_allclose(found.chance[1, 4], [math.exp(logits[token]) / total for token in best], rtol=1e-4)


def test_a_frozen_scale_changes_no_order():
    """As TransformerLens reads it with the final state's scale: the same order of tokens at every stage."""
    model = small.model()
    names = ("blocks.0.resid_mid", "ln_final.scale")
    states = model(torch.tensor([TEXT]), capture=names).activations
    frozen = states[names[0]][0] / states[names[1]][0] * model.decoder.ln_final.weight @ model.embed.weight.T
    own = lens_logits(model, states[names[0]][0])
    np.testing.assert_array_equal(frozen.argsort(-1), own.argsort(-1))


def test_the_climb_of_a_token_agrees_with_the_lens():
    model = small.model()
    found = logit_lens(model, TEXT)
    tokens = [TEXT[5], 7]
    path = follow_tokens(model, TEXT, 4, tokens)
    np.testing.assert_allclose(path.chance[:, 0], found.right[:, 4], atol=1e-6)
    np.testing.assert_array_equal(path.place[:, 0], found.place[:, 4])
    logits = model(torch.tensor([TEXT])).logits[0, 4]
    np.testing.assert_allclose(path.logits[-1], (logits[tokens] - logits.mean()).numpy(), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_lengths_and_angles_of_the_stream(kind):
    model = small.model(**KINDS[kind])
    found = stream_shape(model, TEXT)
    kept = model(torch.tensor([TEXT]), capture=("*resid*", "*_out")).activations
    last = kept[found.stages[-1]][0, 3].tolist()

    def cosine(a, b):
        return sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))

    for row, name in enumerate(found.stages):
        state = kept[name][0, 3].tolist()
        assert found.norm[row, 3] == pytest.approx(math.hypot(*state), rel=1e-5)
        assert found.cosine[row, 3] == pytest.approx(cosine(state, last), abs=1e-5)
    np.testing.assert_allclose(found.cosine[-1], 1, atol=1e-6)
    for row, name in enumerate(found.parts):
        written = kept[name][0, 3].tolist()
        before = name.replace("attn_out", "resid_pre")
        before = before.replace("mlp_out", "resid_pre" if kind == "parallel" else "resid_mid")
        assert found.added[row, 3] == pytest.approx(math.hypot(*written), rel=1e-5)
        assert found.along[row, 3] == pytest.approx(cosine(written, kept[before][0, 3].tolist()), abs=1e-5)


def test_one_token_has_guesses_and_nothing_to_be_right_about():
    found = logit_lens(small.model(), TEXT[:1])
    assert found.best.shape == (5, 1, 5)
    assert found.right.shape == found.place.shape == (5, 0)


@pytest.mark.parametrize("measure", [logit_lens, stream_shape])
def test_other_models_are_refused(measure):
    with pytest.raises(ValueError, match="post"):
        measure(small.model(norm_placement="post"), TEXT)


def test_with_a_biased_norm_the_frozen_scale_changes_the_order():
    model = small.model(**KINDS["like GPT-2"])
    norm = model.decoder.ln_final
    assert norm.bias is not None
    biased = norm.bias + torch.linspace(-3, 3, len(norm.bias))
    states = model(torch.tensor([TEXT]), capture=("blocks.0.resid_pre",)).activations["blocks.0.resid_pre"][0]
    centred = (states - states.mean(-1, keepdim=True)) * norm.weight
    scales = (0.2, 20.0)  # an own one and a foreign one
    orders = [((centred / scale + biased) @ unembedding(model).T).argsort(-1) for scale in scales]
    assert not torch.equal(*orders)
    plain = [((centred / scale) @ unembedding(model).T).argsort(-1) for scale in scales]
    assert torch.equal(*plain), "without the bias the order is the same"


def test_where_the_stream_turns_most_and_what_the_embedding_predicts():
    model, ids = small.model(), torch.tensor([TEXT])
    found = stream_shape(model, TEXT)
    stage, rise = largest_turn(found)
    rises = {
        i: np.mean([found.cosine[i, j] - found.cosine[i - 1, j] for j in range(len(TEXT))])
        for i in range(1, len(found.stages))
    }
    assert stage == max(rises, key=rises.get)
    assert rise == pytest.approx(rises[stage])
    state = model(ids, capture=("blocks.0.resid_pre",)).activations["blocks.0.resid_pre"][0]
    own = [int(lens_logits(model, x).argmax()) == token for x, token in zip(state, TEXT, strict=True)]
    assert share_predicting_input(logit_lens(model, TEXT), TEXT) == pytest.approx(sum(own) / len(TEXT))


def test_what_the_page_says_of_the_ball():
    """The examples of the page on the residual stream, on the shipped model."""
    model, tokenizer = tfcore.load("stories")
    text = "Once upon a time there was a little girl named Lily. Lily had a red ball. One day Lily lost the red"
    ids, (ball,), (red,) = tokenizer.encode(text), tokenizer.encode(" ball"), tokenizer.encode(" red")
    path = follow_tokens(model.eval(), ids, len(ids) - 1, [ball])
    names = stages(model.config)
    assert names[leads_from(path)] == "blocks.1.resid_mid", "from attention 1 on"
    assert follow_tokens(model, ids, len(ids) - 1, [red]).place[2, 0] == 0, "after feed-forward 0 red itself leads"
    assert round(float(path.chance[names.index("blocks.3.resid_mid"), 0]), 3) == 0.999
    behind = leads_from(follow_tokens(model, ids, len(ids) - 1, [red]))
    assert behind is None
