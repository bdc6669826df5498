"""The flow of information through hybrids: what a state or a convolution brings, by the token that it comes from."""

import numpy as np
import pytest
import torch

from tests import small
from tfcore.inspection.edits import Edit
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.logit_attribution import contributions, stream_parts
from tfcore.part_configs import LayerConfig, MixerConfig
from tfcore.tokenizers.tokenizer import ByteTokenizer
from tfcore.views.inside import flow as views
from tfcore.views.inside.flow.measure.heads import direct_by_head, head_kinds, measure_heads
from tfcore.views.inside.flow.measure.mixers import brought_by_mixer
from tfcore.views.inside.flow.measure.passages import attention_layers, heads_there, of_ids
from tfcore.views.inside.flow.measure.routes import read_factors, trace
from tfcore.views.inside.flow.measure.shares import brought_over, record
from tfcore.views.sources import Reading

IDS = small.ids(1, 7)[0].tolist()
STATE = MixerConfig(n_heads=4, n_key_heads=2, d_key=5, d_value=6, decay="token")
KINDS = {
    "a convolution": ("conv", MixerConfig(width=3, bias=True, conv_bias=True)),
    "sums, normalised": ("linear", MixerConfig(n_heads=4, width=1)),
    "gated delta": ("delta", STATE),
    "SSD": ("ssm", MixerConfig(n_heads=4, n_key_heads=2, d_key=5, d_value=6, decay="token", norm="group")),
    "beside attention": ("attention+ssm", MixerConfig(n_heads=3, decay="token", norm=None)),
}


def network(kind: str, **values: object):
    mixer, own = KINDS[kind]
    model = small.model(layers=(LayerConfig(), LayerConfig(mixer=mixer)), mixer=own, **values)
    generator = torch.Generator().manual_seed(1)
    for weight in model.parameters():
        if weight.ndim == 1:
            weight += 0.3 * torch.randn(weight.shape, generator=generator)
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_mixer_brings_adds_up_to_what_it_writes(kind):
    """And nothing comes from later tokens; a token's own values changed, its part alone changes what it brings."""
    model = network(kind)
    mixer, passage = model.decoder.blocks[1].attn, of_ids(IDS, 6)
    here = {name.removeprefix("blocks.1."): value for name, value in record(model, passage).here.items()}
    brought = brought_by_mixer(mixer, here, here["ln1.normalized"], range(7))
    name = "blocks.1.attn.state_out" if kind == "beside attention" else "blocks.1.attn_out"
    out = model(torch.tensor([IDS]), capture=[name]).activations[name][0]
    if kind == "a convolution":  # a bias comes from no token
        _, read, _ = mixer.project(here["ln1.normalized"]).chunk(3, -1)
        out = out - mixer.out.bias - (read * mixer.conv_bias) @ mixer.out.weight.T
    torch.testing.assert_close(brought.sum(1), out, atol=1e-5, rtol=1e-4)
    later = torch.arange(7)[:, None] < torch.arange(7)
    assert not brought[later].any()
    np.testing.assert_allclose(brought_by_mixer(mixer, here, here["ln1.normalized"], [4]), brought[4:5], atol=1e-6)


def test_a_gate_of_attention_is_in_what_heads_bring():
    model = network("gated delta", attn_gate=True)
    passage = of_ids(IDS, 6)
    here = {name.removeprefix("blocks.0."): value for name, value in record(model, passage).here.items()}
    layer = attention_layers(model.config)[0]
    brought = brought_over(layer, model, here, range(7)).sum(2)  # (row, head, d_model)
    result = model(torch.tensor([IDS]), capture=["blocks.0.attn.result"]).activations["blocks.0.attn.result"][0]
    torch.testing.assert_close(brought, result, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", ["a convolution", "SSD", "beside attention"])
def test_shares_of_a_hybrid_add_up_and_its_mixer_can_be_switched_off(kind):
    model = network(kind)
    passage = of_ids(IDS, 6)
    flow = trace(model, passage)
    np.testing.assert_allclose(flow.stream.sum(1), 1, atol=1e-4)  # shares below LEAST are not followed
    there = heads_there(model.config)
    assert there[0] == (True,) * 6 + (False,)
    assert there[1] == (kind == "beside attention",) * 6 + (True,)
    assert flow.carried[1, 6] > 0
    assert not flow.carried[~np.array(there)].any()
    assert (flow.head(1, 6), flow.head(0, 2)) == ("mixer 1", "0.2")
    assert read_factors("1.6*0 0.6*0 0.2*-1", there) == ({(1, 6): 0.0, (0, 2): -1.0}, False)
    name = "blocks.1.attn.state_out" if kind == "beside attention" else "blocks.1.attn_out"
    off = model(torch.tensor([IDS]), edits=[Edit.zero(name)]).logits[0, -1].log_softmax(-1)
    *_, last = measure_heads(model, passage, Quantity("prediction", 5))
    now = model(torch.tensor([IDS])).logits[0, -1].log_softmax(-1)
    assert last.values[1, 6] == pytest.approx(float(now[5] - off[5]), abs=1e-5)
    assert last.exact.all()
    direct = direct_by_head(model, passage, 5)
    assert direct is not None
    assert np.isnan(direct).tolist() == (~np.array(there)).tolist()


def test_a_model_of_states_alone_has_mixers_alone():
    """Of fewer heads than its attention would have."""
    model = small.model(layers=(LayerConfig(mixer="delta"),) * 2, mixer=STATE)
    passage = of_ids(IDS, 6)
    direct, shares = direct_by_head(model, passage, 5), contributions(model, stream_parts(model, IDS, 6), 5, "mean")
    assert direct is not None
    np.testing.assert_allclose(direct[:, 6], shares.heads.sum(1), atol=1e-6)
    assert np.isnan(direct[:, :6]).all()
    assert {route.head for route in trace(model, passage).routes} == {6}


def test_the_river_of_a_hybrid_names_its_mixer():
    model = network("gated delta", vocab_size=256)
    reading = Reading((model, ByteTokenizer()), "abcabc")
    shown = views.river(reading, heads="1.6*0")
    kinds = head_kinds(reading.model)
    assert kinds[1] == [""] * 6 + ["mixer"]
    assert kinds[0][6] == ""
    assert shown.chart.data["kinds"] == kinds
    assert "with mixer 1 × 0" in str(shown)
    assert views.weights_of(reading, None, "", 1, 6) == []
    assert views.cell_of(reading, None, "", 1, 6, 3, 2) is None
