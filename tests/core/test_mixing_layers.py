"""Layers in the place of attention: their formulas, their cache, their activations, and what they refuse."""

import itertools

import pytest
import torch
import torch.nn.functional as F

from tests.small import config, difference, ids, model
from tfcore.inspection.capture import ActivationRecorder, known_names
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
    "ssm": ("ssm", MixerConfig(n_key_heads=2, d_key=7, d_value=5, decay="token", conv_bias=True, norm="group")),
    "delta": ("delta", MixerConfig(n_heads=2, width=2)),
    "gated delta": ("delta", MixerConfig(n_key_heads=2, d_key=6, d_value=9, decay="token")),
    "beside": (
        "attention+ssm",
        MixerConfig(n_heads=6, n_key_heads=3, d_key=7, d_value=5, decay="token", norm=None, bias=True, least_step=0.3),
    ),
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


@pytest.mark.parametrize("name", [name for name, (kind, _) in KINDS.items() if kind in ("linear", "ssm", "delta")])
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


def test_attention_and_a_state_beside_each_other_are_added():
    subject, tokens = hybrid("beside"), ids()
    names = ("attn.result", "attn.pattern", "attn.state.result", "attn.state.pattern", "attn.state_out", "attn_out")
    seen = subject(tokens, capture=[f"blocks.1.{one}" for one in names]).activations
    result, pattern, written, implied, state, out = (seen[f"blocks.1.{one}"] for one in names)
    layer = subject.decoder.blocks[1].attn
    assert difference(written.sum(2) + layer.state.out.bias, state) < 1e-5
    assert difference(result.sum(2) + state, out) < 1e-5
    assert (pattern.shape[1], implied.shape[1]) == (subject.config.attention.n_heads, 6)
    assert difference(pattern.sum(-1), torch.ones_like(pattern[..., 0])) < 1e-5
    without = subject(tokens, capture=[f"blocks.1.{names[-1]}"], edits=[Edit.zero("blocks.1.attn.state.z")])
    assert difference(without.activations["blocks.1.attn_out"] - layer.state.out.bias, result.sum(2)) < 1e-5


def test_a_step_is_never_below_the_least():
    subject, names = hybrid("beside"), ("blocks.0.attn.state.strength", "blocks.0.attn.state.log_decay")
    subject.decoder.blocks[0].attn.state.step_bias.data.copy_(torch.tensor([-9.0, -9, -9, 1, 1, 1]))
    step, decay = subject(ids(), capture=names).activations.values()
    step, decay = (step, decay) if step.ndim == 3 else (decay, step)
    assert float(step.min()) == pytest.approx(0.3)
    assert float(step.max()) > 0.3
    rates = subject.decoder.blocks[0].attn.state.log_rate.exp()[:, None]
    assert difference(decay[..., 0], -rates * step) < 1e-5


LONE = (
    LayerConfig(mixer="ssm", alone=True),
    LayerConfig(mixer="none"),
    LayerConfig(alone=True),
    LayerConfig(mixer="none"),
)


def test_layers_of_one_part_each():
    """As in Nemotron-H: a state, a feed-forward layer, attention, a feed-forward layer; a loop over their parts."""
    subject, tokens = model(n_layers=4, layers=LONE, mixer=KINDS["ssm"][1], positions="none"), ids()
    assert subject.config.attention_layers == (2,)
    seen = subject(tokens, capture=["*"]).activations
    known = set(known_names(subject.config))
    assert known == seen.keys()
    assert {"blocks.0.attn_out", "blocks.1.mlp_out", "blocks.2.attn.scores"} <= known
    assert not {"blocks.0.mlp_out", "blocks.1.attn_out", "blocks.1.ln1.scale", "blocks.3.attn.pattern"} & known
    x = seen["embed"]
    for i, part in enumerate(("attn_out", "mlp_out", "attn_out", "mlp_out")):
        assert torch.equal(seen[f"blocks.{i}.resid_pre"], x)
        x = x + seen[f"blocks.{i}.{part}"]
        assert difference(seen[f"blocks.{i}.resid_post"], x) < 1e-6
    normed = seen["blocks.3.ln2.normalized"]
    assert difference(subject.decoder.blocks[3].mlp(normed, ActivationRecorder()), seen["blocks.3.mlp_out"]) < 1e-6
    assert parameters(subject.config).total == built_parameters(subject.config)
    cache = KVCache(subject.config, 2, device=subject.device)
    parts = [subject(part, cache=cache).logits for part in tokens.split((5, 1, 7), dim=1)]
    assert difference(torch.cat(parts, 1), subject(tokens).logits) < 1e-4
    assert cache.carries == [0]


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
        ({"layers": LONE[1:3], "parallel": True}, "layer 0 has attention or a feed-forward layer alone"),
        ({"layers": LONE[1:3], "d_ff": 0}, "layer 0 of kind 'none' needs a feed-forward layer, d_ff=0 leaves none"),
    ):
        with pytest.raises(ValueError, match=words):
            config(**values)
    with pytest.raises(ValueError, match="window=4 goes with layers of attention"):
        LayerConfig(mixer="conv", window=4)
    with pytest.raises(ValueError, match="leave nothing in a layer"):
        LayerConfig(mixer="none", alone=True)
    with pytest.raises(ValueError, match="goes with decay='token', not None; leave it 0"):
        MixerConfig(least_step=0.1)
    with pytest.raises(ValueError, match="not divisible by n_key_heads=3"):
        MixerConfig(n_key_heads=3)
    with pytest.raises(ValueError, match="no layer of this model has attention"):
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
