"""Every valid config builds and runs; every invalid one is refused in a sentence with the values and a remedy."""

import dataclasses
import re
from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.small import BASE, config
from tfcore import config as module
from tfcore.config import ModelConfig
from tfcore.model import Transformer


@st.composite
def valid(draw):
    kv_heads, group = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    n_heads, size = kv_heads * group, draw(st.integers(1, 3)) * 2
    free_head = draw(st.booleans())
    return ModelConfig(
        vocab_size=draw(st.integers(1, 50)),
        d_model=2 * draw(st.integers(1, 9)) if free_head else n_heads * size,
        n_layers=draw(st.integers(1, 3)),
        n_heads=n_heads,
        n_kv_heads=draw(st.sampled_from([kv_heads] if group > 1 else [None, kv_heads])),
        d_head=size if free_head else None,
        d_ff=draw(st.none() | st.integers(0, 12)),
        max_seq_len=draw(st.integers(1, 9)),
        positions=draw(st.sampled_from(get_args(module.Positions))),
        norm=draw(st.sampled_from(get_args(module.Norm))),
        norm_placement=draw(st.sampled_from(get_args(module.NormPlacement))),
        activation=draw(st.sampled_from(get_args(module.Activation))),
        window=draw(st.none() | st.integers(1, 12)),
        bias=draw(st.booleans()),
        tie_embeddings=draw(st.booleans()),
        scale_embeddings=draw(st.booleans()),
        init=draw(st.sampled_from(get_args(module.Init))),
    )


@given(valid(), st.integers(0, 2**31))
def test_a_valid_config_builds_runs_and_survives_the_way_through_a_dict(chosen, seed):
    model = Transformer(chosen, seed % 7).eval()
    ids = torch.randint(0, chosen.vocab_size, (2, chosen.max_seq_len), generator=torch.Generator().manual_seed(seed))
    output = model(ids, capture="*")
    assert output.logits.shape == (*ids.shape, chosen.vocab_size)
    assert output.logits.isfinite().all()
    assert ModelConfig.from_dict(chosen.to_dict()) == chosen
    assert hash(ModelConfig.from_dict(chosen.to_dict())) == hash(chosen)


REFUSED = {
    "d_model=100 is not divisible by n_heads=8; nearest: 96 or 104": {"d_model": 100, "n_heads": 8},
    "d_model=5 is not divisible by n_heads=8; nearest: 8": {"d_model": 5, "n_heads": 8},
    "n_heads=6 is not divisible by n_kv_heads=4; possible: 1, 2, 3, 6": {"n_kv_heads": 4},
    "d_head=5 must be even for rope, which rotates pairs; nearest: 6": {"d_head": 5},
    "d_model=25 must be even for sinusoidal positions; nearest: 26": {
        "d_model": 25,
        "n_heads": 5,
        "positions": "sinusoidal",
    },
    "vocab_size=0 must be between 1 and 1,000,000": {"vocab_size": 0},
    "max_seq_len=0 must be between 1 and 1,048,576": {"max_seq_len": 0},
    "n_layers=513 must be between 1 and 512": {"n_layers": 513},
    "n_kv_heads=0 must be between 1 and 1,024, or None": {"n_kv_heads": 0},
    "d_head=1000000 must be between 1 and 65,536, or None": {"d_head": 10**6},
    "window=0 must be between 1 and 1,048,576, or None": {"window": 0},
    "d_ff=-1 must be between 0 and 1,048,576, or None": {"d_ff": -1},
    "dropout=1.0 must be between 0.0 and 0.99": {"dropout": 1.0},
    "norm_eps=nan must be between 0.0 and 1.0": {"norm_eps": float("nan")},
    "init_std=-1 must be between 0.0 and 10.0": {"init_std": -1},
    "rope_base=inf must be above 1 and at most 1e9": {"rope_base": float("inf")},
    "rope_base=1 must be above 1 and at most 1e9": {"rope_base": 1},
    "positions='rotary' is not one of sinusoidal, learned, rope, alibi, none": {"positions": "rotary"},
    "norm=None is not one of layernorm, rmsnorm": {"norm": None},
    "activation=[] is not one of relu, gelu, gelu_tanh, silu, swiglu, geglu": {"activation": []},
    "n_layers=2.0 must be a whole number": {"n_layers": 2.0},
    "d_model='24' must be a whole number": {"d_model": "24"},
    "n_heads=True must be a whole number": {"n_heads": True},
    "n_layers=None must be a whole number": {"n_layers": None},
    "bias=1 must be true or false": {"bias": 1},
    "dropout='0' must be a number": {"dropout": "0"},
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


def test_unknown_and_missing_settings_are_named():
    with pytest.raises(ValueError, match=r"^unknown model setting n_head, rope; known are activation, bias, d_ff"):
        ModelConfig.from_dict(BASE | {"n_head": 4, "rope": True})
    with pytest.raises(ValueError, match=r"^the model settings lack vocab_size$"):
        ModelConfig.from_dict({"d_model": 64})


def test_sizes_left_open_follow_from_the_others():
    assert (config().kv_heads, config().head_size) == (6, 4)
    assert config(activation="gelu").ff_size == 96
    assert config(activation="swiglu", d_model=768, n_heads=12).ff_size == 2048
    assert config(d_ff=0).ff_size == 0


def test_a_config_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        config().d_model = 5
