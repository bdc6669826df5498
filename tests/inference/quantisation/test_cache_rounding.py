"""A rounded KV cache, beside loops over groups; its bytes by the one formula."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.small import config, model
from tfcore.loading.checkpoints import load
from tfcore.measures.head_vectors import text_vectors
from tfcore.measures.kv_bytes import CacheShape, cache_bytes
from tfcore.measures.quantisation.rounded_cache import CacheScheme, cache_edits, rounded_cache
from tfcore.views.inference.quantisation import say
from tfcore.views.inference.quantisation.measure.cache_rounding import cache_effect, rounded_cache_bytes

IDS = [3, 14, 15, 9, 2, 6, 5]
TEXT = "Once upon a time there was a little dog named Max."


@pytest.mark.parametrize("axis", ["channel", "token"])
@pytest.mark.parametrize("tokens", [8, 9])
def test_rounding_is_a_loop_over_groups(axis, tokens):
    x = torch.randn(2, tokens, 6, generator=torch.Generator().manual_seed(3))
    found = rounded_cache(x, 3, axis, group=4).numpy()
    for head in range(2):
        lines = x[head].T if axis == "channel" else x[head]
        after = found[head].T if axis == "channel" else found[head]
        for line, of_line in zip(lines.numpy(), after, strict=True):
            for start in range(0, len(line), 4):
                group = line[start : start + 4].astype(np.float64)
                step = (group.max() - group.min()) / 7
                expected = group.min() + step * np.round((group - group.min()) / step) if step else group
                assert of_line[start : start + 4] == pytest.approx(expected, abs=4e-3)


def test_a_large_channel_is_no_loss_with_a_scale_by_channel():
    x = torch.randn(1, 32, 32, generator=torch.Generator().manual_seed(0))
    x[..., 5] += 50
    others = [channel for channel in range(32) if channel != 5]
    error = {axis: float((rounded_cache(x, 2, axis) - x)[..., others].norm()) for axis in ("channel", "token")}
    assert error["token"] > 2 * error["channel"]


@pytest.mark.parametrize("values", [{"attn_softcap": 2.0}, {"attn_sinks": True}], ids=str)
def test_of_a_cache_that_is_not_rounded_nothing_moves(values):
    """8 bits leave keys and values nearly as they are, under a soft cap and with a learned sink too."""
    read = text_vectors(model(**values), IDS, [0, 1])
    effect = cache_effect(read, 1, 2, CacheScheme(bits=8, keys="channel", values="token"))
    assert 0 <= effect.moved < 0.01
    assert effect.output_error < 0.02
    recorded = model(**values)(torch.tensor([IDS]), capture="*pattern").activations["blocks.1.attn.pattern"][0, 2]
    assert effect.before == pytest.approx(recorded.cpu().numpy(), abs=1e-5)


def test_edits_round_keys_after_their_rotation_and_values():
    """The same pass with keys and values replaced by rounded ones, layer by layer."""
    of, scheme = model(), CacheScheme(bits=3, keys="channel", values="token")
    ids = torch.tensor([IDS])
    seen = of(ids, edits=cache_edits(of.config, scheme), capture="blocks.*").activations
    plain = of(ids, capture="blocks.*").activations
    for name, axis in (("rot_k", "channel"), ("v", "token")):
        first = f"blocks.0.attn.{name}"
        assert torch.equal(seen[first], rounded_cache(plain[first], 3, axis))
    assert not torch.allclose(seen["blocks.1.resid_post"], plain["blocks.1.resid_post"], atol=1e-3)
    learned = cache_edits(config(positions="learned"), scheme)
    assert [one.name for one in learned] == ["blocks.0.attn.k", "blocks.1.attn.k", "blocks.*.attn.v"]


@pytest.fixture(scope="module")
def stories():
    of, tokenizer = load("stories")
    return of.eval(), tokenizer


def vectors(of, tokenizer):
    return text_vectors(of, tokenizer.encode(TEXT), range(of.config.n_layers))


def test_one_head_by_hand(stories):
    of, tokenizer = stories
    scheme = CacheScheme(bits=2, keys="channel", values="token")
    found = cache_effect(vectors(of, tokenizer), 1, 4, scheme)
    ids = tokenizer.encode(TEXT)
    seen = of(torch.tensor([ids]), capture="blocks.1.attn.*").activations
    q, k, v = (seen[f"blocks.1.attn.{name}"][0, 4] for name in ("rot_q", "rot_k", "v"))
    later = torch.ones(len(ids), len(ids)).triu(1) > 0
    keys, values = rounded_cache(k, 2, "channel"), rounded_cache(v, 2, "token")
    after = (q @ keys.T * 32**-0.5).masked_fill(later, -torch.inf).softmax(-1)
    before = seen["blocks.1.attn.pattern"][0, 4]
    assert found.after == pytest.approx(after.numpy(), abs=1e-5)
    assert found.before == pytest.approx(before.numpy(), abs=1e-5)
    assert found.moved == pytest.approx(float((after - before).abs().sum(1).mean()) / 2, abs=1e-5)
    assert found.keys_error == pytest.approx(float((keys - k).norm() / k.norm()), rel=1e-4)
    assert found.values_error == pytest.approx(float((values - v).norm() / v.norm()), rel=1e-4)
    output, rounded = before @ v, after @ values
    assert found.output_error == pytest.approx(float((rounded - output).norm() / output.norm()), rel=1e-3)
    assert str(say.rounded_head("stories", found)).startswith(
        "Layer 1, head 4 of stories with a cache in int2, keys by channel, values by token: "
    )


def test_channels_that_stand_out(stories):
    of, tokenizer = stories
    found = cache_effect(vectors(of, tokenizer), 1, 4, CacheScheme(bits=4))
    for what, numbers in (("keys", found.keys), ("values", found.values)):
        said = say.spread(found, what).values
        largest = [max(abs(one) for one in channel) for channel in numbers.T.tolist()]
        assert said["channel"] == largest.index(max(largest))
        assert said["by_channel"] == pytest.approx(max(largest) / float(np.median(largest)))
    planted, weights = np.array([[1.0, 4.04, 0.5], [0.8, 3.0, 1.0]]), np.eye(2)
    found = replace(found, keys=planted, values=planted, before=weights, after=weights)
    assert str(say.spread(found, "keys")) == (
        "Keys: channel 1 reaches 4.0 times the largest magnitude of the median channel; the largest token reaches 1.1 "
        "times that of the median token."
    )


def test_bytes_are_those_of_the_one_formula_and_of_the_scales():
    shape = CacheShape(layers=30, heads=9, kv_heads=3, d_head=64)
    values = 2 * 30 * 3 * 64 * 8_192
    assert rounded_cache_bytes(shape, 8_192, 16) == cache_bytes(shape, 8_192) == 2 * values
    for bits in (8, 4, 2):
        assert rounded_cache_bytes(shape, 8_192, bits) == values * bits // 8 + values // 32 * 4
    said = say.cache_size("m", config(n_layers=2, n_heads=6, d_model=24, max_seq_len=64), 2)
    assert (said.values["plain"], said.values["rounded"]) == (2 * 2 * 24 * 64 * 2, 2 * 2 * 24 * 64 * 3 // 8)
    assert "5.3 times less." in str(said)
