"""Our attention and blocks against torch's own modules with the same weights."""

import pytest
import torch
from torch import nn

from benchmarks.torch_layers import same
from tests.small import config, difference
from tfcore.attention import Attention, AttentionContext
from tfcore.inspection.capture import ActivationRecorder, known_names

CAUSAL = torch.ones(9, 9, dtype=torch.bool).tril()
REAL = torch.tensor([[True] * 9, [True] * 6 + [False] * 3])
PLAIN = {"positions": "none", "norm": "layernorm", "bias": True, "d_ff": 40}


def see(mask=None, n=9):
    causal = mask is None
    return AttentionContext(
        mask=mask, is_causal=causal, bias=None, rotation=None, n_query=n, device=torch.device("cpu")
    )


def full(real, n=9):
    """Everyone sees all real tokens."""
    mask = None if real is None else real[:, None, None, :]
    return AttentionContext(mask=mask, is_causal=False, bias=None, rotation=None, n_query=n, device=torch.device("cpu"))


def scrambled(module):
    """The module with every weight random, so that no zero bias or unit scale hides a mistake."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)
    return module.eval().requires_grad_(False)


def copy_attention(ours, theirs):
    ours.qkv.load_state_dict({"weight": theirs.in_proj_weight, "bias": theirs.in_proj_bias})
    ours.out.load_state_dict(theirs.out_proj.state_dict())


@pytest.mark.parametrize("padded", [False, True])
def test_attention_is_multihead_attention(padded):
    theirs = scrambled(nn.MultiheadAttention(24, 6, batch_first=True))
    ours = Attention(config(**PLAIN)).eval().requires_grad_(False)
    copy_attention(ours, theirs)
    x = torch.randn(2, 9, 24)
    expected, weights = theirs(
        x, x, x, attn_mask=~CAUSAL, key_padding_mask=~REAL if padded else None, average_attn_weights=False
    )
    tape = ActivationRecorder(capture=("pattern",))
    mask = CAUSAL & REAL[:, None, None, :] if padded else None
    assert difference(ours(x, see(mask), tape), expected) < 1e-5
    assert difference(ours(x, see(mask), ActivationRecorder()), expected) < 1e-5
    assert difference(tape.record["pattern"], weights) < 1e-5


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_a_block_is_an_encoder_layer_under_a_causal_mask(placement, activation):
    first = placement == "pre"
    layer = nn.TransformerEncoderLayer(24, 6, 40, 0.0, activation, batch_first=True, norm_first=first)
    theirs = scrambled(layer)
    ours = same(theirs)
    x = torch.randn(2, 9, 24)
    for capture in ((), ("attn.pattern",)):
        assert difference(ours(x, see(), ActivationRecorder(capture)), theirs(x, src_mask=~CAUSAL)) < 1e-4


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_a_block_is_an_encoder_layer(placement, padded):
    layer = nn.TransformerEncoderLayer(24, 6, 40, 0.0, "gelu", batch_first=True, norm_first=placement == "pre")
    theirs = scrambled(layer)
    ours = same(theirs)
    x = torch.randn(2, 9, 24)
    expected = theirs(x, src_key_padding_mask=~REAL if padded else None)
    found = ours(x, full(REAL if padded else None), ActivationRecorder())
    assert difference(found[REAL], expected[REAL]) < 1e-4


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_a_block_with_cross_attention_is_a_decoder_layer(placement, padded):
    first = placement == "pre"
    theirs = scrambled(nn.TransformerDecoderLayer(24, 6, 40, 0.0, "gelu", batch_first=True, norm_first=first))
    shape = config(**PLAIN, norm_placement=placement, activation="gelu", architecture="encoder-decoder")
    ours = same(theirs)
    x, memory = torch.randn(2, 7, 24), torch.randn(2, 9, 24)
    real = REAL if padded else None
    expected = theirs(x, memory, tgt_mask=~CAUSAL[:7, :7], memory_key_padding_mask=None if real is None else ~real)
    for capture in ((), ("*.pattern",)):
        tape = ActivationRecorder(capture, shapes=known_names(shape), prefix="decoder.blocks.0.")
        assert difference(ours(x, see(n=7), tape, memory=memory, cross_context=full(real, 7)), expected) < 1e-4
