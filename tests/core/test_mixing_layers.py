"""Layers in the place of attention: their formulas, their cache, their activations, and what they refuse."""

import itertools

import pytest
import torch
import torch.nn.functional as F

from tests.small import config, difference, ids, model
from tfcore.inspection.edits import Edit
from tfcore.kv_cache import KVCache
from tfcore.measures.parameter_count import built_parameters, parameters
from tfcore.mixers import Rule, recurrent, unit
from tfcore.model import Transformer
from tfcore.part_configs import LayerConfig, MixerConfig

KINDS = {
    "linear": ("linear", MixerConfig(width=1)),
    "decay": ("linear", MixerConfig(decay="constant")),
    "gated": ("linear", MixerConfig(n_heads=3, decay="channel", d_value=5)),
    "ssm": ("ssm", MixerConfig(n_key_heads=2, d_key=7, d_value=5, decay="token", conv_bias=True, channel_norm=True)),
    "delta": ("delta", MixerConfig(n_heads=2, width=2)),
    "gated delta": ("delta", MixerConfig(n_key_heads=2, d_key=6, d_value=9, decay="token")),
    "conv": ("conv", MixerConfig(width=3)),
    "conv, biases": ("conv", MixerConfig(width=3, bias=True, conv_bias=True)),
}


def hybrid(name, *layers, **values):
    """A model of layers of this kind, and of attention where "attention" is named."""
    kind, mixer = KINDS[name]
    layers = tuple(LayerConfig(mixer=one or kind) for one in layers or (None, None))
    return model(n_layers=len(layers), layers=layers, mixer=mixer, positions="rope", **values)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("layers", [(None, None), ("attention", None), (None, "attention", None)], ids=str)
def test_cached_is_uncached(name, layers):
    subject, tokens = hybrid(name, *layers), ids()
    whole = subject(tokens).logits
    for sizes in ((1,) * 13, (6, 7), (5, 1, 7)):
        cache = KVCache(subject.config, 2, device=subject.device)
        parts = [subject(part, cache=cache).logits for part in tokens.split(sizes, dim=1)]
        assert difference(torch.cat(parts, 1), whole) < 1e-4 * float(whole.abs().max())


@pytest.mark.parametrize("name", KINDS)
def test_later_tokens_change_nothing_and_earlier_ones_do(name):
    subject, tokens = hybrid(name), ids()
    other = tokens.clone()
    other[:, 6] = (other[:, 6] + 1) % 61
    apart = (subject(other).logits - subject(tokens).logits).abs().amax((0, 2))
    assert float(apart[:6].max()) < 1e-5
    assert float(apart[7]) > 1e-4


@pytest.mark.parametrize("name", [name for name in KINDS if "conv" not in name])
def test_pattern_and_results_are_what_the_layer_computes(name):
    subject, tokens = hybrid(name), ids()
    names = ("attn.pattern", "attn.v", "attn.z", "attn.result", "attn_out")
    seen = subject(tokens, capture=[f"blocks.1.{one}" for one in names]).activations
    pattern, v, z, result, out = (seen[f"blocks.1.{one}"] for one in names)
    assert difference(subject(tokens).logits, subject(tokens, capture=["*.pattern", "*.result"]).logits) < 1e-4
    assert difference(result.sum(2), out) < 1e-4
    assert float(pattern.triu(1).abs().max()) == 0
    assert pattern.shape == (2, subject.config.mixer.n_heads, 13, 13)
    layer = subject.decoder.blocks[1].attn
    output = pattern @ v
    if layer.kind == "ssm":
        output = output + layer.skip[:, None, None] * v
    stream = subject(tokens, capture=["blocks.1.ln1.normalized"]).activations["blocks.1.ln1.normalized"]
    assert difference(layer.gated(output, layer.gate(stream)), z) < 1e-4


def test_the_delta_layer_is_the_formulas_of_its_paper():
    """arXiv:2412.06464, equation 10 and figure 1, with the rates of Mamba-2."""
    subject = hybrid("gated delta")
    names = ["blocks.0.ln1.normalized", "blocks.0.attn_out"]
    seen = subject(ids(), capture=names).activations
    layer, x = subject.decoder.blocks[0].attn, seen[names[0]]
    channels = (x @ layer.qkv.weight.T).mT
    mixed = F.conv1d(F.pad(channels, (3, 0)), layer.conv_weight[:, None], groups=channels.shape[1]).mT
    q, k, v = F.silu(mixed).split((12, 12, 36), -1)
    outputs = []
    for head in range(4):
        shared = slice(6 * (head // 2), 6 * (head // 2) + 6)
        step = F.softplus(x @ layer.step.weight[head] + layer.step_bias[head])
        strength = (x @ layer.strength.weight[head]).sigmoid()
        rule = Rule(log_decay=-(layer.log_rate[head].exp() * step)[..., None], strength=strength, erase=True)
        value = v[..., 9 * head : 9 * head + 9]
        output, _ = recurrent(unit(q[..., shared]) / 6**0.5, unit(k[..., shared]), value, rule)
        normed = output / (output.square().mean(-1, keepdim=True) + 1e-5).sqrt() * layer.norm_weight
        outputs.append(normed * F.silu(x @ layer.gate.weight[9 * head : 9 * head + 9].T))
    assert difference(torch.cat(outputs, -1) @ layer.out.weight.T, seen[names[1]]) < 1e-5


def test_padding_before_a_text_changes_nothing():
    for name in KINDS:
        if KINDS[name][1].bias or KINDS[name][1].conv_bias:
            continue
        subject, tokens = hybrid(name, None, "attention"), ids(seq=9)
        padded = torch.cat((torch.zeros(2, 4, dtype=torch.long), tokens), 1)
        mask = torch.arange(13).expand(2, 13) >= 4
        assert difference(subject(padded, padding_mask=mask).logits[:, 4:], subject(tokens).logits) < 1e-4, name


def test_heads_are_switched_off_and_patched_as_those_of_attention():
    subject, tokens = hybrid("gated delta", None, "attention"), ids()
    result = subject(tokens, capture=["blocks.0.attn.result"]).activations["blocks.0.attn.result"]
    edits = [Edit.zero("blocks.0.attn.z", heads=[1])]
    out = subject(tokens, capture=["blocks.0.attn_out"], edits=edits).activations["blocks.0.attn_out"]
    assert difference(out, result[:, :, [0, 2, 3]].sum(2)) < 1e-5


@pytest.mark.parametrize("name", KINDS)
def test_parameters_are_counted(name):
    for layers in itertools.product((None, "attention"), repeat=2):
        if layers == ("attention", "attention"):
            continue
        subject = hybrid(name, *layers)
        assert parameters(subject.config).total == built_parameters(subject.config)


def test_a_state_is_as_large_for_any_length_and_cannot_be_taken_back():
    subject = hybrid("delta")
    cache = KVCache(subject.config, 2, device=subject.device)
    subject(ids(seq=5), cache=cache)
    short = cache.bytes
    subject(ids(seq=8), cache=cache)
    assert cache.bytes == short == 2 * 2 * 4 * (2 * 12 * 12 + 3 * 24)
    with pytest.raises(ValueError, match="layer 0 carries a state, which cannot be taken back"):
        cache.truncate(3)
    cache.select(torch.tensor([1, 0, 1]))
    assert cache.state(0)[1].shape[0] == 3


def test_what_does_not_go_together_is_refused():
    layers = (LayerConfig(mixer="delta"),) * 2
    for values, words in (
        ({"layers": layers}, "mixer goes with layers of another kind"),
        ({"mixer": MixerConfig()}, "mixer goes with layers of another kind"),
        ({"layers": layers, "mixer": MixerConfig(decay="channel")}, "possible: None, 'token'"),
        ({"layers": layers, "mixer": MixerConfig(n_heads=5)}, "give d_key and d_value"),
        ({"layers": layers, "mixer": MixerConfig(), "architecture": "encoder"}, "architecture='decoder' alone"),
    ):
        with pytest.raises(ValueError, match=words):
            config(**values)
    with pytest.raises(ValueError, match="window=4 goes with layers of attention"):
        LayerConfig(mixer="conv", window=4)
    with pytest.raises(ValueError, match="not divisible by n_key_heads=3"):
        MixerConfig(n_key_heads=3)
    with pytest.raises(ValueError, match="layers of this model carry a state"):
        hybrid("delta")(ids(), mask=torch.ones(13, 13, dtype=torch.bool))
    with pytest.raises(ValueError, match="no activation is called"):
        hybrid("conv")(ids(), capture=["blocks.0.attn.scores"])


def test_a_config_comes_back_from_json():
    subject = hybrid("ssm", None, "attention").config
    assert type(subject).from_dict(subject.to_dict()) == subject


def test_states_begin_with_memories_of_many_lengths():
    layer = Transformer(hybrid("ssm").config).requires_grad_(False).decoder.blocks[0].attn
    kept = torch.exp(-layer.log_rate.exp() * F.softplus(layer.step_bias))
    assert difference(layer.log_rate.exp(), torch.linspace(1, 16, 4)) < 1e-5
    assert 0.998 < float(kept[0]) < 1
    assert 0.15 < float(kept[-1]) < 0.25
