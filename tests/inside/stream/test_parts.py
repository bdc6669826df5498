"""The parts of a logit: they add up to it, and each is what a naive computation gives, for every kind of decoder."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from tests import small
from tfcore.inspection.edits import Edit
from tfcore.measures.interventions import Part
from tfcore.measures.logit_attribution import (
    Contributions,
    Parts,
    contributions,
    parts_at,
    promoted_by,
    stream_parts,
    written,
)
from tfcore.model import Transformer
from tfcore.part_configs import ExpertsConfig, LayerConfig, MixerConfig
from tfcore.tokenizers.tokenizer import NamedTokenizer
from tfcore.views.inside.stream.measure.parts import (
    instalments,
    largest_instalments,
    largest_place,
    most_promoted,
    shares_by_part,
)
from tfcore.views.inside.stream.say.parts import largest_instalment, largest_part, logit_sum, promotes

TEXT = small.ids(1, 9)[0].tolist()
KINDS = {
    "like stories": {},
    "like GPT-2": {"norm": "layernorm", "positions": "learned", "bias": True, "activation": "gelu_tanh"},
    "parallel": {"parallel": True, "n_kv_heads": 2},
    "sandwich": {"norm_placement": "sandwich", "norm": "layernorm", "bias": True, "positions": "sinusoidal"},
    "like Gemma 2": small.WIRINGS["like Gemma 2"] | {"n_kv_heads": 2},
    "like OLMo 2": small.WIRINGS["like OLMo 2"],
    "like Pythia": small.WIRINGS["like Pythia"],
    "like Phi": small.WIRINGS["like Phi"],
    "attention alone": {"d_ff": 0, "tie_embeddings": False, "logit_scale": 0.5},
    "experts": {"experts": ExpertsConfig(n_experts=4, top_k=2)},
    "a convolution first": {
        "layers": (LayerConfig(mixer="conv"), LayerConfig()),
        "mixer": MixerConfig(width=3, bias=True, conv_bias=True),
        "bias": True,
    },
    "a state beside attention": {
        "layers": (LayerConfig(mixer="attention+ssm"),) * 2,
        "mixer": MixerConfig(n_heads=4, n_key_heads=2, d_key=5, d_value=6, decay="token", bias=True, norm=None),
        "norm_placement": "sandwich",
        "norm": "layernorm",
        "bias": True,
        "attn_gate": True,
    },
    "a state of more heads first": {
        "layers": (LayerConfig(mixer="delta"), LayerConfig()),
        "mixer": MixerConfig(n_heads=8, n_key_heads=4, d_key=5, d_value=6, decay="token", bias=True),
        "bias": True,
    },
    "attention alone in a layer": {"layers": (LayerConfig(alone=True), LayerConfig())},
    "a norm after the embeddings": {"embed_norm": True, "positions": "learned", "bias": True},
}


def shaken(**values: object) -> Transformer:
    """A small model whose norms and biases are no longer ones and zeros."""
    model = small.model(**values)
    generator = torch.Generator().manual_seed(3)
    for weight in model.parameters():
        if weight.ndim == 1:
            weight += 0.3 * torch.randn(weight.shape, generator=generator)
    return model


def uncapped(kind: str) -> Transformer:
    """The same weights without a soft cap of the logits, before which the parts add up."""
    return shaken(**KINDS[kind] | {"logit_softcap": None})


@pytest.mark.parametrize("against", ["nothing", "mean", 7])
@pytest.mark.parametrize("kind", KINDS)
def test_the_parts_add_up_to_the_logit_of_the_model(kind, against):
    model = shaken(**KINDS[kind])
    logits = uncapped(kind)(torch.tensor([TEXT])).logits[0].double()
    for position in (0, 4, len(TEXT) - 1):
        found = contributions(model, stream_parts(model, TEXT, position), 5, against)
        other = {"nothing": 0.0, "mean": float(logits[position].mean())}.get(against, float(logits[position][7]))
        assert found.logit == pytest.approx(float(logits[position, 5]) - other, abs=1e-4)
        assert found.total == pytest.approx(found.logit, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_one_run_serves_every_position(kind):
    """Equal to a run of the text up to that position alone, whose last row is the model's."""
    model = shaken(**KINDS[kind])
    run = written(model, TEXT)
    for position in (0, 4, len(TEXT) - 1):
        kept, alone = parts_at(model, run, position), stream_parts(model, TEXT[: position + 1], position)
        for field in fields(Parts):
            torch.testing.assert_close(getattr(kept, field.name), getattr(alone, field.name), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_is_what_the_logit_loses_when_it_alone_is_missing_and_nothing_answers(kind):
    """The last block's parts have no later layer to answer: with the final scale held, taking one away is exact."""
    model = uncapped(kind)
    last, final = "blocks.1.", "ln_final.scale"
    names = [final] + ([f"{last}ln1_post.scale"] if model.config.norm.of_outputs else [])
    held = model(torch.tensor([TEXT]), capture=names).activations
    holding = [Edit.replace(name, value) for name, value in held.items()]
    if model.config.ff_size and not model.config.parallel:  # or the feed-forward layer would answer to the head
        out = model(torch.tensor([TEXT]), capture=[f"{last}mlp_out"]).activations[f"{last}mlp_out"]
        holding.append(Edit.replace(f"{last}mlp_out", out))
    found = contributions(model, stream_parts(model, TEXT, 6), 5)
    for head in range(6):
        off = Edit.zero(f"{last}attn.z", heads=[head], positions=[6])
        without = model(torch.tensor([TEXT]), edits=[*holding, off]).logits[0, 6, 5]
        assert float(found.heads[1, head]) == pytest.approx(found.logit - float(without), abs=2e-4)


def test_a_loop_over_numbers_gives_the_same():
    """gamma_i * part_i / s * W_U[token, i], one number at a time, as ActivationCache.logit_attrs of TransformerLens
    defines it: parts over the cached scale of ln_final, its weight folded into the unembedding, times its column."""
    model = shaken()
    found = contributions(model, stream_parts(model, TEXT, 8), 3)
    cache = model(torch.tensor([TEXT]), capture=("*.result", "*.mlp_out", "embed", "ln_final.scale")).activations
    scale = float(cache["ln_final.scale"][0, 8])
    folded = (model.embed.weight[3] * model.decoder.ln_final.weight).tolist()

    def share(vector):
        return sum(x / scale * w for x, w in zip(vector.tolist(), folded, strict=True))

    for layer in range(2):
        heads = [share(cache[f"blocks.{layer}.attn.result"][0, 8, head]) for head in range(6)]
        np.testing.assert_allclose(found.heads[layer], heads, atol=1e-5)
        assert found.feedforward[layer] == pytest.approx(share(cache[f"blocks.{layer}.mlp_out"][0, 8]), abs=1e-5)
    assert found.embedding == pytest.approx(share(cache["embed"][0, 8]), abs=1e-5)
    assert (found.position, found.biases) == (0.0, 0.0)
    assert found.scale == pytest.approx(scale)


def test_a_mixer_has_a_share_of_its_own():
    model = shaken(**KINDS["a convolution first"])
    found = contributions(model, stream_parts(model, TEXT, 5), 3)
    cache = model(torch.tensor([TEXT]), capture=("blocks.0.attn_out", "ln_final.scale")).activations
    written_by_it = cache["blocks.0.attn_out"][0, 5] - model.decoder.blocks[0].attn.out.bias
    direction = model.embed.weight[3] * model.decoder.ln_final.weight
    share = float(written_by_it @ direction / cache["ln_final.scale"][0, 5])
    np.testing.assert_allclose(found.mixers, [share, 0.0], atol=1e-5)
    assert not found.heads[0].any()
    names = ["embedding", "mixer 0", "feed-forward 0", "attention 1", "feed-forward 1", "biases"]
    assert [name for name, _ in instalments(found)] == names
    assert dict(instalments(found))["mixer 0"] == pytest.approx(share, abs=1e-5)
    shares, names = shares_by_part(found)
    assert names == [*(f"head {head}" for head in range(6)), "mixer", "feed-forward"]
    assert np.isnan(shares).tolist() == [[True] * 6 + [False] * 2, [False] * 6 + [True, False]]
    assert shares[0, 6] == pytest.approx(share, abs=1e-5)
    assert str(largest_part(found)).startswith("Shares of 9 parts of 2 layers; ")
    assert promoted_by(model, stream_parts(model, TEXT, 5), Part(0, "mix"))[3] == pytest.approx(
        contributions(model, stream_parts(model, TEXT, 5), 3, "mean").mixers[0], abs=1e-6
    )


def test_heads_of_a_state_have_shares_of_their_own():
    model = shaken(**KINDS["a state of more heads first"])
    found = contributions(model, stream_parts(model, TEXT, 5), 3)
    cache = model(torch.tensor([TEXT]), capture=("blocks.0.attn.result", "ln_final.scale")).activations
    direction = model.embed.weight[3] * model.decoder.ln_final.weight
    shares = cache["blocks.0.attn.result"][0, 5] @ direction / cache["ln_final.scale"][0, 5]
    np.testing.assert_allclose(found.heads[0], shares, atol=1e-5)
    assert not found.heads[1, 6:].any()
    assert [name for name, _ in instalments(found)][1:4] == ["mixer 0", "feed-forward 0", "attention 1"]


def test_layer_norm_is_centred_as_in_transformer_lens():
    """There each part loses its mean before it is divided by the cached scale (apply_ln_to_stack)."""
    model = shaken(**KINDS["like GPT-2"])
    found = contributions(model, stream_parts(model, TEXT, 5), 3, against=9)
    cache = model(torch.tensor([TEXT]), capture=("*.result", "pos_embed", "ln_final.scale")).activations
    direction = (model.embed.weight[3] - model.embed.weight[9]) * model.decoder.ln_final.weight
    stack = torch.cat([cache["blocks.1.attn.result"][0, 5], cache["pos_embed"][None, 5]])
    stack = (stack - stack.mean(-1, keepdim=True)) / cache["ln_final.scale"][0, 5]
    np.testing.assert_allclose([*found.heads[1], found.position], (stack @ direction).numpy(), atol=1e-5)
    assert found.biases != 0


@pytest.mark.parametrize("other", [{"norm_placement": "post"}, {"architecture": "encoder"}, {"head": "none"}])
def test_a_model_without_such_a_sum_is_refused(other):
    with pytest.raises(ValueError, match=next(iter(other))):
        stream_parts(small.model(**other), TEXT, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_part_promotes_is_its_share_in_every_logit(kind):
    model = shaken(**KINDS[kind])
    parts = stream_parts(model, TEXT, 4)
    for token in (0, 33):
        found = contributions(model, parts, token, "mean")
        assert promoted_by(model, parts, Part(1, 2))[token] == pytest.approx(float(found.heads[1, 2]), abs=1e-6)
        assert promoted_by(model, parts, Part(0, "ff"))[token] == pytest.approx(float(found.feedforward[0]), abs=1e-6)


HEADS = tuple(tuple(Part(layer, head) for head in range(3)) for layer in range(2))


def planted(**values: object) -> Contributions:
    """Two layers of three heads, all shares different; they add up to 2.5."""
    heads = np.array([[0.5, -1.0, 0.25], [2.0, 0.125, -0.5]])
    parts = tuple((*HEADS[layer], Part(layer, "ff")) for layer in range(2))
    found = Contributions(heads, np.array([0.75, -0.625]), np.zeros(2), 1.5, 0.0, 0.0, 3.0, 1.25, parts, (True, True))
    return replace(found, **values)


def test_the_sum_names_every_part_in_order():
    found = logit_sum(planted(), " he")
    assert found.shares == (
        ("embedding", 1.5),
        ("attention 0", -0.25),
        ("feed-forward 0", 0.75),
        ("attention 1", 1.625),
        ("feed-forward 1", -0.625),
    )
    assert (found.total, found.logit, found.count) == (3.0, 3.0, 9)
    assert str(found) == (
        "The logit of '·he' adds up to 3.00: embedding +1.50, attention 0 -0.25, feed-forward 0 +0.75, "
        "attention 1 +1.62, feed-forward 1 -0.62."
    )
    assert (found.logit_text, found.total_text, found.error_text) == ("3.0000", "3.0000", "0e+00")
    more = logit_sum(planted(position=0.5, biases=-0.25, feedforward=np.zeros(2), parts=HEADS), "x")
    assert [name for name, _ in more.shares] == ["embedding", "positions", "attention 0", "attention 1", "biases"]
    assert more.count == 9


def test_the_largest_shares_are_those_of_a_loop():
    found = planted()
    every = instalments(found)
    assert largest_instalments(found, len(every)) == largest_instalments(found, len(every) - 1) == every
    assert len(largest_instalments(found, len(every) - 2)) == len(every) - 1
    two = largest_instalments(found, 2)
    size = sorted((abs(share) for _, share in every), reverse=True)[:2]
    assert [row for row in every if abs(row[1]) in size] == two[:2]
    assert two[2][0] == f"all others ({len(every) - 2})"
    assert sum(share for _, share in two) == pytest.approx(sum(share for _, share in every))
    shares, names = shares_by_part(found)
    layer, name = largest_place(found)
    assert shares[layer, names.index(name)] == max(max(row) for row in shares.tolist())
    assert str(largest_instalment(found)) == (
        "The largest share is that of attention 1, +1.62. The scale of the final norm is held at its true value, 1.250."
    )
    assert str(largest_part(found)) == "Shares of 2 × 4 parts; the largest is head 0 of layer 1, +2.00 logits."
    assert str(largest_part(planted(feedforward=np.array([0.0, 4.0])))) == (
        "Shares of 2 × 4 parts; the largest is feed-forward of layer 1, +4.00 logits."
    )
    assert largest_part(planted(feedforward=np.zeros(2), parts=HEADS)).values["parts"] == 3
    rng = np.random.default_rng(0)
    for _ in range(5):
        found = planted(heads=rng.normal(size=(2, 3)), feedforward=rng.normal(size=2))
        every = [(share, f"head {h}", layer) for layer in range(2) for h, share in enumerate(found.heads[layer])]
        every += [(share, "feed-forward", layer) for layer, share in enumerate(found.feedforward)]
        best = largest_part(found).values
        assert (best["share"], best["part"], best["layer"]) == max(every)


def test_what_a_part_promotes_most_is_sorted_by_hand():
    model, tokenizer = shaken(), NamedTokenizer([chr(0x100 + i) for i in range(61)])
    parts = stream_parts(model, TEXT, 4)
    found = most_promoted(model, tokenizer, parts, Part(1, 2), up=5, down=3)
    lift = promoted_by(model, parts, Part(1, 2)).tolist()
    order = sorted(range(61), key=lambda token: -lift[token])
    assert list(found.ids) == order[:5] + order[-3:]
    assert found.shares == tuple(lift[i] for i in found.ids)
    assert found.tokens == tuple(tokenizer.tokens(list(found.ids)))
    first = ", ".join(f"{token} by {share:.2f}" for token, share in zip(found.tokens[:4], found.shares, strict=False))
    assert str(promotes(found)) == f"head 2 of layer 1 promotes {first}."
    assert most_promoted(model, tokenizer, parts, Part(0, "ff"), 1, 1).part == "feed-forward of layer 0"
