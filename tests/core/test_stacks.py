"""Encoders, encoder-decoders and the placements of the norms, each against what its formula says."""

import itertools
import re

import pytest
import torch

from tests.small import ALL_PATTERNS, difference, ids, model
from tfcore.kv_cache import KVCache

PADDING = torch.tensor([[True] * 13, [True] * 9 + [False] * 4])
POSITIONS = ("sinusoidal", "learned", "rope", "alibi", "relative", "none")


def both(**values):
    return model(architecture="encoder-decoder", **values)


@pytest.mark.parametrize("positions", POSITIONS)
def test_in_an_encoder_every_token_sees_every_real_token(positions):
    subject = model(architecture="encoder", positions=positions)
    for pattern in subject(ids(), padding_mask=PADDING, capture=ALL_PATTERNS).activations.values():
        allowed = PADDING[:, None, None, :] | torch.eye(13, dtype=torch.bool)
        assert torch.equal(pattern > 0, allowed.expand_as(pattern))


def test_an_encoders_window_is_to_both_sides():
    subject = model(architecture="encoder", window=3)
    place = torch.arange(13)
    near = (place[:, None] - place[None, :]).abs() < 3
    for pattern in subject(ids(), capture=ALL_PATTERNS).activations.values():
        assert torch.equal(pattern > 0, near.expand_as(pattern))


def test_the_first_layers_may_have_no_window():
    a = model(n_layers=3, window=3, window_from=2)(ids(), capture=ALL_PATTERNS).activations
    assert [int((a[f"blocks.{i}.attn.pattern"] > 0).sum()) // 12 for i in range(3)] == [91, 91, 36]


def test_the_decoder_looks_at_the_real_tokens_of_the_encoder_and_at_its_own_past():
    decoder_ids = ids(2, 7, seed=1)
    a = both()(ids(), decoder_ids=decoder_ids, padding_mask=PADDING, capture="*.pattern").activations
    assert {name.split(".")[0] for name in a} == {"encoder", "decoder"}
    for i in range(2):
        cross, own = (a[f"decoder.blocks.{i}.{kind}.pattern"] for kind in ("cross_attn", "attn"))
        assert cross.shape == (2, 6, 7, 13)
        assert torch.equal(cross > 0, PADDING[:, None, None, :].expand_as(cross))
        assert torch.equal(own > 0, torch.ones(7, 7, dtype=torch.bool).tril().expand_as(own))


def test_padding_of_the_encoder_changes_nothing():
    for positions in POSITIONS:
        subject, decoder_ids = both(positions=positions), ids(1, 5, seed=1)
        short = subject(ids()[1:, :9], decoder_ids=decoder_ids).logits
        padded = subject(ids()[1:], decoder_ids=decoder_ids, padding_mask=PADDING[1:]).logits
        assert difference(short, padded) < 1e-4, positions


def test_the_fused_kernel_and_the_steps_in_sight_agree_in_both_stacks():
    for positions, heads in itertools.product(POSITIONS, (6, 2)):
        subject, decoder_ids = both(positions=positions, n_kv_heads=heads), ids(2, 7, seed=1)
        given = {"decoder_ids": decoder_ids, "padding_mask": PADDING}
        explicit = subject(ids(), capture="*.pattern", **given).logits
        assert difference(subject(ids(), **given).logits, explicit) < 1e-4, positions


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("window", [None, 3])
def test_a_cached_decoder_is_an_uncached_one_and_runs_the_encoder_once(positions, window):
    subject, decoder_ids = both(positions=positions, window=window), ids(2, 7, seed=1)
    whole = subject(ids(), decoder_ids=decoder_ids, padding_mask=PADDING).logits
    cache = KVCache(subject.config, batch=2, device=subject.device)
    parts = [
        subject(ids(), decoder_ids=part, padding_mask=PADDING, cache=cache).logits
        for part in decoder_ids.split((1, 3, 1, 2), dim=1)
    ]
    assert difference(torch.cat(parts, 1), whole) < 1e-4
    later = subject(ids(), decoder_ids=decoder_ids[:, :1], cache=cache, capture="*")
    assert not any(name.startswith("encoder.") for name in later.activations)


def test_sandwich_norms_what_a_sublayer_adds():
    a = model(norm_placement="sandwich")(ids(), capture="*").activations
    assert difference(a["blocks.0.ln1_post.normalized"], a["blocks.0.attn_out"]) == 0
    assert difference(a["blocks.0.resid_mid"], a["blocks.0.resid_pre"] + a["blocks.0.attn_out"]) < 1e-6
    rms = a["blocks.0.mlp_out"].pow(2).mean(-1).sqrt()
    assert difference(rms, torch.ones_like(rms)) < 1e-3


def test_parallel_adds_attention_and_feed_forward_of_the_same_input():
    subject = model(parallel=True)
    a = subject(ids(), capture="*").activations
    x, h = a["blocks.1.resid_pre"], a["blocks.1.ln1.normalized"]
    mlp = subject.decoder.blocks[1].mlp
    gate, linear = (h @ mlp.up.weight.T).chunk(2, -1)
    expected = (torch.nn.functional.silu(gate) * linear) @ mlp.down.weight.T
    assert difference(a["blocks.1.mlp_out"], expected) < 1e-5
    assert difference(a["blocks.1.resid_post"], x + a["blocks.1.attn_out"] + expected) < 1e-5
    assert "ln2.weight" not in subject.decoder.blocks[1].state_dict()


def test_qk_norm_gives_every_query_and_key_the_same_length():
    a = model(qk_norm=True)(ids(), capture="*.attn.[qk]").activations
    for value in a.values():
        length = value.pow(2).mean(-1).sqrt()
        assert difference(length, torch.ones_like(length)) < 1e-3


def test_segments_are_added_and_the_pooler_reads_the_first_token():
    subject = model(architecture="encoder", n_segments=2, pooler=True, head="none", positions="learned")
    segments = torch.tensor([[0] * 5 + [1] * 8] * 2)
    output = subject(ids(), segment_ids=segments, capture=["segment_embed", "embed", "blocks.0.resid_pre", "pos_embed"])
    a = output.activations
    assert torch.equal(a["segment_embed"], subject.segment_embed.weight[segments])
    assert difference(a["blocks.0.resid_pre"], a["embed"] + a["segment_embed"] + a["pos_embed"]) < 1e-6
    pooled = torch.tanh(output.hidden[:, 0] @ subject.pooler.weight.T + subject.pooler.bias)
    assert difference(output.pooled, pooled) < 1e-6
    with pytest.raises(AttributeError, match=r"has no language head, so no logits; its result is in output\.hidden"):
        _ = output.logits


REFUSED = {
    "an encoder-decoder reads ids and writes decoder_ids; give decoder_ids, too": (both, {}),
    "decoder_ids go with an encoder-decoder; this model's architecture is 'decoder'": (model, {"decoder_ids": ids()}),
    "this model knows no segments (n_segments=0); leave segment_ids out": (model, {"segment_ids": ids()}),
    "a row of padding_mask has no real token, so the decoder would have nothing to look at": (
        both,
        {"decoder_ids": ids(), "padding_mask": PADDING & torch.tensor([[True], [False]])},
    ),
    "mask goes with a model of one stack; leave it out for an encoder-decoder": (
        both,
        {"decoder_ids": ids(), "mask": torch.ones(13, 13, dtype=torch.bool)},
    ),
}


@pytest.mark.parametrize(("message", "case"), REFUSED.items(), ids=list(REFUSED))
def test_input_that_does_not_fit_the_architecture_is_refused(message, case):
    make, given = case
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make()(ids(), **given)


def test_segments_outside_the_table_and_a_cache_for_an_encoder_are_refused():
    subject = model(architecture="encoder", n_segments=2).cpu()  # only there are they checked before the pass
    with pytest.raises(ValueError, match="segment_ids from 0 to 60 do not fit n_segments=2"):
        subject(ids(), segment_ids=torch.tensor([[0, 60] + [1] * 11] * 2))
    with pytest.raises(ValueError, match="an encoder sees all tokens at once, a cache is of no use to it"):
        subject(ids(), cache=KVCache(model().config, batch=2, device="meta"))


KINDS = {
    "gpt-2": {"positions": "learned", "norm": "layernorm", "activation": "gelu_tanh", "bias": True},
    "llama": {"n_kv_heads": 1},
    "qwen3": {"qk_norm": True, "n_kv_heads": 1},
    "bert": {
        "architecture": "encoder",
        "positions": "learned",
        "norm": "layernorm",
        "norm_placement": "post",
        "embed_norm": True,
        "bias": True,
        "activation": "gelu",
        "head": "mlm",
        "n_segments": 2,
    },
    "t5": {"architecture": "encoder-decoder", "positions": "relative", "attn_scale": 1.0, "activation": "geglu_tanh"},
    "2017": {"architecture": "encoder-decoder", "positions": "sinusoidal", "norm_placement": "post"},
    "palm": {"parallel": True, "n_kv_heads": 1},
    "sandwich, alibi, window": {"norm_placement": "sandwich", "positions": "alibi", "window": 2},
}
TINY = {"vocab_size": 5, "d_model": 4, "n_layers": 1, "n_heads": 2, "d_ff": 6, "max_seq_len": 4}


@pytest.mark.parametrize("capture", [(), ("*.pattern",)], ids=["fused", "explicit"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_gradients_are_those_of_the_function(kind, capture):
    subject = model(**(TINY | kind)).double().requires_grad_(True)
    tokens = torch.tensor([[1, 4, 2]])
    given = {"decoder_ids": tokens[:, :2]} if "decoder" in kind.get("architecture", "") else {}

    def loss(*_):
        return subject(tokens, capture=capture, **given).logits.square().sum()

    names = ("embed", "qkv", "q.weight", "up", "ln1", "relative_bias")
    weights = [p for name, p in subject.named_parameters() if any(part in name for part in names)]
    assert torch.autograd.gradcheck(loss, weights, eps=1e-6, atol=1e-5, fast_mode=True)


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_double_and_single_precision_agree(kind):
    single = model(**kind)
    double = model(**kind).double()
    given = {"decoder_ids": ids(2, 7, seed=1)} if "decoder" in kind.get("architecture", "") else {}
    for capture in ((), ("*.pattern",)):
        precise = double(ids(), capture=capture, **given).logits
        assert difference(single(ids(), capture=capture, **given).logits.double(), precise) < 1e-4
