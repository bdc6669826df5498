"""Every valid config builds and runs; every invalid one is refused in a sentence with the values and a remedy."""

import dataclasses
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.small import BASE, config
from tests.valid import configs, run
from tfcore.config import ModelConfig
from tfcore.inspection.capture import known_names
from tfcore.model import Transformer
from tfcore.part_configs import ClassesConfig, ExpertsConfig, InputConvolutionConfig, RopeScaling


@given(configs(), st.integers(0, 2**31))
def test_a_valid_config_builds_runs_and_survives_the_way_through_a_dict(chosen, seed):
    output = run(Transformer(chosen, seed % 7).eval(), seed, capture="*")
    if chosen.head != "none":
        assert output.logits.shape == (*output.hidden.shape[:2], chosen.vocab_size)
        assert output.logits.isfinite().all()
    assert output.hidden.isfinite().all()
    assert (output.pooled is not None) == chosen.pooler
    assert sorted(output.activations) == sorted(known_names(chosen))
    through = ModelConfig.from_dict(json.loads(json.dumps(chosen.to_dict())))
    assert through == chosen
    assert hash(through) == hash(chosen)


REFUSED = {
    "d_model=100 is not divisible by n_heads=8; nearest: 96 or 104": {"d_model": 100, "n_heads": 8},
    "d_model=5 is not divisible by n_heads=8; nearest: 8": {"d_model": 5, "n_heads": 8},
    "attention: n_heads=6 is not divisible by n_kv_heads=4; possible: 1, 2, 3, 6": {"n_kv_heads": 4},
    "d_head=5 must be even for rope, which rotates pairs; nearest: 6": {"d_head": 5},
    "d_model=25 must be even for sinusoidal positions; nearest: 26": {
        "d_model": 25,
        "n_heads": 5,
        "positions": "sinusoidal",
    },
    "d_embed=9 goes with architecture='encoder' and head 'mlm' or 'none', not 'decoder' and 'lm'; leave it None": {
        "d_embed": 9
    },
    "d_embed=9 must be even for sinusoidal positions; nearest: 10": {
        "d_embed": 9,
        "architecture": "encoder",
        "head": "mlm",
        "positions": "sinusoidal",
    },
    "vocab_size=0 must be between 1 and 1,000,000": {"vocab_size": 0},
    "max_seq_len=0 must be between 1 and 1,048,576": {"max_seq_len": 0},
    "n_layers=513 must be between 1 and 512": {"n_layers": 513},
    "attention: n_kv_heads=0 must be between 1 and 1,024, or None": {"n_kv_heads": 0},
    "attention: d_head=1000000 must be between 1 and 65,536, or None": {"d_head": 10**6},
    "layers: window=0 must be between 1 and 1,048,576, or None": {"window": 0},
    "feed_forward: d_ff=-1 must be between 0 and 1,048,576, or None": {"d_ff": -1},
    "dropout=1.0 must be between 0.0 and 0.99": {"dropout": 1.0},
    "norm: eps=nan must be between 0.0 and 1.0": {"norm_eps": float("nan")},
    "init_std=-1 must be between 0.0 and 10.0": {"init_std": -1},
    "positions: base=inf must be between 1.001 and 1,000,000,000.0": {"rope_base": float("inf")},
    "positions: base=1 must be between 1.001 and 1,000,000,000.0": {"rope_base": 1},
    "positions: kind='rotary' is not one of sinusoidal, learned, rope, alibi, relative, disentangled, none": {
        "positions": "rotary"
    },
    "norm: kind=None is not one of layernorm, rmsnorm": {"norm": None},
    "feed_forward: activation=[] is not one of relu, relu2, gelu, gelu_tanh, silu, xielu, swiglu, geglu, "
    "geglu_tanh, reglu": {"activation": []},
    "n_layers=2.0 must be a whole number": {"n_layers": 2.0},
    "d_model='24' must be a whole number": {"d_model": "24"},
    "attention: n_heads=True must be a whole number": {"n_heads": True},
    "n_layers=None must be a whole number": {"n_layers": None},
    "bias=1 must be true or false": {"bias": 1},
    "dropout='0' must be a number": {"dropout": "0"},
    "architecture='gpt' is not one of decoder, encoder, encoder-decoder": {"architecture": "gpt"},
    "norm: placement='both' is not one of pre, post, sandwich, after": {"norm_placement": "both"},
    "attention: qkv_bias=2 must be true or false, or None": {"qkv_bias": 2},
    "attention: scale=0 must be between 1e-06 and 1,000,000.0, or None": {"attn_scale": 0},
    "experts=8 must be ExpertsConfig or None": {"experts": 8},
    "n_encoder_layers=2 goes with architecture='encoder-decoder', not 'decoder'; leave it None, n_layers says it all": {
        "n_encoder_layers": 2
    },
    "n_segments=2 goes with architecture='encoder', not 'decoder'": {"n_segments": 2},
    "pooler=True goes with architecture='encoder', not 'encoder-decoder'": {
        "pooler": True,
        "architecture": "encoder-decoder",
    },
    "head='mlm' goes with architecture='encoder', not 'decoder'; take head='lm'": {"head": "mlm"},
    "norm: first=False goes with norms before sublayers, not with 'post'; leave it True": {
        "first_norm": False,
        "norm_placement": "post",
    },
    "parallel=True needs a norm in the first block, too: first_norm=False takes it away": {
        "first_norm": False,
        "parallel": True,
    },
    "mlm_activation='reglu' has a gate, the dense layer none; take 'gelu' or 'silu'": {
        "mlm_activation": "reglu",
        "head": "mlm",
        "architecture": "encoder",
    },
    "writing goes with architecture='encoder-decoder', not 'decoder'; leave it out": {"forced_last": 2},
    "writing has id 61, which must be below vocab_size=61": {"forced_last": 61, "architecture": "encoder-decoder"},
    "writing: never=(-1,) must be a tuple of token ids": {"never_written": (-1,)},
    "writing: never=(3, 5) must not have 5, which is asked of a text": {"never_written": (3, 5), "forced_first": 5},
    "positions: halves=True goes with positions of kind 'sinusoidal', not 'rope'; leave it False": {
        "sines_first": True
    },
    "positions: first=2 goes with positions of kind 'sinusoidal', not 'rope'; leave it 0": {"first_place": 2},
    "positions: by_layer=True goes with positions of kind 'relative', not 'learned'; leave it False": {
        "relative_by_layer": True,
        "positions": "learned",
    },
    "positions: absolute=True goes with positions of kind 'relative' or 'disentangled', not 'rope'; leave it False": {
        "relative_absolute": True
    },
    "positions: products=c2p goes with positions of kind 'disentangled', not 'alibi'; leave it both": {
        "relative_products": "c2p",
        "positions": "alibi",
    },
    "positions: buckets=7 must be even, half are for each direction": {
        "relative_buckets": 7,
        "positions": "disentangled",
    },
    "positions: distance=9 must be at least 10: with buckets=32, shorter distances have a vector each": {
        "relative_distance": 9,
        "positions": "disentangled",
    },
    "positions='disentangled' goes with architecture='encoder', not 'decoder'": {"positions": "disentangled"},
    "positions='disentangled' has keys for every head; leave n_kv_heads and qk_norm None": {
        "positions": "disentangled",
        "architecture": "encoder",
        "qk_norm": "head",
    },
    "a decoder's first tokens have not seen the others: its classes are read at 'last' or at 'each', not 'first'": {
        "architecture": "encoder-decoder",
        "head": "classes",
        "classes": ClassesConfig(labels=("no", "yes")),
    },
    "input_convolution goes with architecture='encoder' and norm_placement='post', not 'encoder' and 'pre'; leave it "
    "None": {"input_convolution": InputConvolutionConfig(), "architecture": "encoder"},
    "input_convolution: width=4 must be odd, as many tokens to either side; nearest: 5": {
        "input_convolution": {"width": 4}
    },
    "gate=True goes with one stack, and not with disentangled positions; leave it False": {
        "attn_gate": True,
        "architecture": "encoder-decoder",
    },
    "clip=2.0 goes with one stack, and not with disentangled positions; leave it None": {
        "attn_clip": 2.0,
        "architecture": "encoder-decoder",
    },
    "attention: clip=2.0 goes with keys and values of their own, not with kv_latent; leave one of them out": {
        "attn_clip": 2.0,
        "kv_latent": 4,
    },
    "positions: steepness=4.0 goes with positions of kind 'alibi', not 'rope'; leave it 8.0": {"alibi_steepness": 4.0},
    "positions: by_key=True goes with positions of kind 'alibi', not 'rope'; leave it False": {"alibi_by_key": True},
    "start_id=61 must be below vocab_size=61": {"start_id": 61, "architecture": "encoder-decoder"},
    "parallel=True goes with norm_placement='pre' and one stack, not with 'post' and 'decoder'": {
        "parallel": True,
        "norm_placement": "post",
    },
    "parallel=True needs a feed-forward layer beside attention, d_ff=0 leaves none": {"parallel": True, "d_ff": 0},
    "experts of width d_ff=0 would be empty; give d_expert or a larger d_ff": {"experts": ExpertsConfig(), "d_ff": 0},
    "attention: sinks=1 must be true or false": {"attn_sinks": 1},
    "attention: d_value=4 goes with latent attention; give kv_latent, or leave it None": {"d_value": 4},
    "attention: kv_latent makes keys and values for every head; leave n_kv_heads and qk_norm None": {
        "kv_latent": 4,
        "n_kv_heads": 2,
    },
    "kv_latent goes with positions of kind 'rope', the same in every layer": {"kv_latent": 4, "positions": "alibi"},
    "kv_latent rotates a part of each head, which all share: rotated=None must be a number below d_head=4": {
        "kv_latent": 4
    },
    "kv_latent goes with one stack, not with architecture='encoder-decoder'; leave it None": {
        "kv_latent": 4,
        "architecture": "encoder-decoder",
    },
    "feed_forward: gain=2.0 goes with 'swiglu' or 'silu', not 'gelu'; leave it 1": {
        "ff_gain": 2.0,
        "activation": "gelu",
    },
    "feed_forward: limit=7.0 goes with a gated activation (swiglu, geglu, geglu_tanh, reglu), not 'gelu'; leave it "
    "None": {"ff_limit": 7.0, "activation": "gelu"},
    "feed_forward: shift=1 goes with a gated activation (swiglu, geglu, geglu_tanh, reglu), not 'relu'; leave it 0": {
        "ff_shift": 1,
        "activation": "relu",
    },
    "feed_forward: limit=0 must be between 0.001 and 1,000,000.0, or None": {"ff_limit": 0},
    "positions: scaling goes with positions of kind 'rope', not 'alibi'; leave it None": {
        "rope_scaling": RopeScaling(),
        "positions": "alibi",
    },
    "positions: distance=16 must be above half of buckets=32": {"relative_distance": 16, "positions": "relative"},
}


@pytest.mark.parametrize(("message", "values"), REFUSED.items(), ids=list(REFUSED))
def test_a_config_that_does_not_fit_is_refused_with_values_and_remedy(message, values):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        config(**values)


@given(
    st.sampled_from([field.name for field in dataclasses.fields(ModelConfig)]),
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(max_size=5)
    | st.lists(st.integers(), max_size=2),
)
def test_any_value_in_any_field_is_taken_or_refused_with_the_field_named(name, value):
    message = f"nothing about {name}"
    try:
        config(**{name: value})
    except ValueError as error:
        message = str(error)
    assert re.fullmatch(rf".*({name}|d_head|d_model|n_heads).*", message)


PARTS = {
    "top_k=3 is more than n_experts=2; possible: 1 to n_experts": lambda: ExpertsConfig(n_experts=2, top_k=3),
    "routing='random' is not one of tokens, experts": lambda: ExpertsConfig(routing="random"),
    "capacity_factor=nan must be between 0.01 and 1,000, or None": lambda: ExpertsConfig(capacity_factor=float("nan")),
    "capacity_factor=1.5 goes with routing='tokens' alone: experts that choose are never too full; leave it None": (
        lambda: ExpertsConfig(routing="experts", capacity_factor=1.5)
    ),
    "softmax='after' goes with scores='softmax'; take 'before', and renormalize=True": (
        lambda: ExpertsConfig(scores="sigmoid")
    ),
    "n_groups=2 goes with routing='tokens'; leave it 1": lambda: ExpertsConfig(n_groups=2, routing="experts"),
    "n_experts=8 is not divisible by n_groups=3": lambda: ExpertsConfig(n_groups=3),
    "group_best=3 is more than the 2 experts of a group": lambda: ExpertsConfig(n_groups=4, group_best=3),
    "top_k=3 is more than the 2 experts of top_groups=1; possible: 1 to 2": (
        lambda: ExpertsConfig(n_groups=4, top_groups=1, top_k=3)
    ),
    "factor=0.5 must be between 1 and 1,000,000": lambda: RopeScaling(factor=0.5),
    "low_freq=4.0 must be below high_freq=4.0": lambda: RopeScaling(kind="llama3", low_freq=4.0),
}


@pytest.mark.parametrize(("message", "make"), PARTS.items(), ids=list(PARTS))
def test_a_part_that_does_not_fit_is_refused(message, make):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make()


def test_settings_of_a_part_that_are_not_known_are_named():
    with pytest.raises(ValueError, match=r"^unknown experts setting n; known are balance_loss, bias, bias_rate"):
        ModelConfig.from_dict(BASE | {"experts": {"n": 4}})


def test_unknown_and_missing_settings_are_named():
    message = r"^unknown model setting n_head, rope; known are activation, alibi_by_key, alibi_steepness, "
    with pytest.raises(ValueError, match=message):
        ModelConfig.from_dict(BASE | {"n_head": 4, "rope": True})
    with pytest.raises(ValueError, match=r"^the model settings lack vocab_size$"):
        ModelConfig.from_dict({"d_model": 64})


def test_short_names_reach_into_parts_and_old_configs_are_read():
    old = {"norm_placement": "post", "window": 4, "window_from": 1, "rope_base": 500.0, "scale_embeddings": True}
    experts = {"n_experts": 4, "dense_layers": 1}
    found = ModelConfig.from_dict(BASE | old | {"experts": experts})
    assert (found.norm.placement, found.positions.base, found.embed_scale) == ("post", 500.0, 24**0.5)
    assert [found.window_of(i) for i in range(2)] == [None, 4]
    assert found.routed_layers == (1,)
    assert experts == {"n_experts": 4, "dense_layers": 1}, "what was given stays"
    assert found.changed(window=None).routed_layers == (1,)
    assert found.changed(n_heads=3, window=None, dense_layers=0) == ModelConfig.from_dict(
        BASE | old | {"experts": {"n_experts": 4}, "n_heads": 3, "window": None}
    )
    assert found.changed(n_layers=4).window_of(3) == 4
    assert len(found.changed(n_layers=1).layers) == 1
    assert (found.setting("d_model"), found.setting("n_heads")) == (24, 6)


@pytest.mark.parametrize("name", ["n_heads", "norm_placement", "window", "scale_embeddings"])
def test_a_program_that_was_saved_before_there_were_parts_is_told_who_takes_its_settings(name):
    with pytest.raises(TypeError, match=f"^{name} is a setting of a part now; ModelConfig.from_dict"):
        ModelConfig(vocab_size=5, **{name: 1})


def test_sizes_left_open_follow_from_the_others():
    assert (config().attention.kv_heads, config().head_size) == (6, 4)
    assert config(activation="gelu").ff_size == 96
    assert config(activation="swiglu", d_model=768, n_heads=12).ff_size == 2048
    assert config(d_ff=0).ff_size == 0


def test_a_config_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        config().d_model = 5
