"""The parts of a logit: they add up to it, and each is what a naive computation gives, for every kind of decoder."""

import numpy as np
import pytest
import torch

from tests import small
from tfcore.analysis.inside.logit_attribution import contributions, promoted_by, stream_parts
from tfcore.inspection.edits import Edit
from tfcore.model import Transformer
from tfcore.part_configs import ExpertsConfig

TEXT = small.ids(1, 9)[0].tolist()
KINDS = {
    "like stories": {},
    "like GPT-2": {"norm": "layernorm", "positions": "learned", "bias": True, "activation": "gelu_tanh"},
    "parallel": {"parallel": True, "n_kv_heads": 2},
    "sandwich": {"norm_placement": "sandwich", "norm": "layernorm", "bias": True, "positions": "sinusoidal"},
    "attention alone": {"d_ff": 0, "tie_embeddings": False, "logit_scale": 0.5},
    "experts": {"experts": ExpertsConfig(n_experts=4, top_k=2)},
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


@pytest.mark.parametrize("against", ["nothing", "mean", 7])
@pytest.mark.parametrize("kind", KINDS)
def test_the_parts_add_up_to_the_logit_of_the_model(kind, against):
    model = shaken(**KINDS[kind])
    logits = model(torch.tensor([TEXT])).logits[0].double()
    for position in (0, 4, len(TEXT) - 1):
        found = contributions(model, stream_parts(model, TEXT, position), 5, against)
        other = {"nothing": 0.0, "mean": float(logits[position].mean())}.get(against, float(logits[position][7]))
        assert found.logit == pytest.approx(float(logits[position, 5]) - other, abs=1e-4)
        assert found.total == pytest.approx(found.logit, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_is_what_the_logit_loses_when_it_alone_is_missing_and_nothing_answers(kind):
    """The last block's parts have no later layer to answer: with the final scale held, taking one away is exact."""
    model = shaken(**KINDS[kind])
    last, final = "blocks.1.", "ln_final.scale"
    names = [final] + ([f"{last}ln1_post.scale"] if kind == "sandwich" else [])
    held = model(torch.tensor([TEXT]), capture=names).activations
    holding = [Edit.replace(name, value) for name, value in held.items()]
    if kind not in ("attention alone", "parallel"):  # or the feed-forward layer would answer to the head
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
        assert promoted_by(model, parts, 1, 2)[token] == pytest.approx(float(found.heads[1, 2]), abs=1e-9)
        assert promoted_by(model, parts, 0, None)[token] == pytest.approx(float(found.feedforward[0]), abs=1e-9)
