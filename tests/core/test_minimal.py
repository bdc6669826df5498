"""The decoder of one file is the library's: the same logits, and the same text."""

from dataclasses import fields
from typing import Any

import pytest
import torch

import tfcore
from tests.nightly import nightly
from tfcore import minimal
from tfcore.config import OPTIONAL, PARTS, SHORT
from tfcore.part_configs import (
    AttentionConfig,
    ClassesConfig,
    ExpertsConfig,
    FeedForwardConfig,
    InputConvolutionConfig,
    LayerConfig,
    MixerConfig,
    NormConfig,
    PatchesConfig,
    PositionsConfig,
    RopeScaling,
    SoundConfig,
)

TEXT = "One day, a little dog named Max lost his red ball. Max said"


def compare(name: str) -> None:
    decoder, tokenizer = minimal.load(name)
    model, _ = tfcore.load(name)
    ids = tokenizer.encode(TEXT)
    with torch.no_grad():
        expected = model(torch.tensor([ids])).logits[0]
        assert (decoder(torch.tensor(ids)) - expected).abs().max() < 5e-5 * expected.abs().max()


def test_it_gives_the_logits_of_the_library():
    compare("stories")


@nightly
@pytest.mark.usefixtures("real_models")
def test_it_gives_those_of_smollm2():
    compare("smollm2")


def test_it_writes_what_the_library_writes():
    decoder, tokenizer = minimal.load("stories")
    model, _ = tfcore.load("stories")
    ids = tokenizer.encode(TEXT)
    expected = list(ids)
    for _ in range(12):
        expected.append(int(model(torch.tensor([expected])).logits[0, -1].argmax()))
    assert decoder.write(ids, 12) == expected
    assert len(ids) == len(tokenizer.encode(TEXT))  # what it was given is as it was


TOKENIZER = tfcore.load("stories")[1]
OTHERWISE: list[dict[str, Any]] = [
    {"positions": "none"},
    {"positions": "alibi"},
    {"positions": "alibi", "alibi_steepness": 16.0, "alibi_by_key": True},
    {"positions": "sinusoidal"},
    {"positions": "sinusoidal", "sines_first": True},
    {"positions": "sinusoidal", "first_place": 2},
    {"positions": "learned"},
    {"positions": "relative"},
    {"positions": "relative", "relative_by_layer": True, "relative_absolute": True},
    {"architecture": "encoder", "positions": "disentangled"}
    | {"relative_linear": True, "relative_products": "c2p", "relative_shared": True, "relative_normed": True},
    {"rope_scaling": RopeScaling(kind="linear", factor=2.0)},
    {"norm": "layernorm"},
    {"norm_placement": "post"},
    {"norm_placement": "sandwich"},
    {"norm_placement": "after"},
    {"norm": "layernorm", "norm_bias": True},
    {"embed_norm": True},
    {"first_norm": False},
    {"qk_norm": "head"},
    {"qk_norm": "width"},
    {"qk_norm": "each"},
    {"attn_clip": 6.0},
    {"rotated": 4},
    {"rotated": 4, "kv_latent": 6, "q_latent": 5, "d_value": 7},
    {"parallel": True},
    {"parallel": True, "shared_norm": False},
    {"activation": "geglu"},
    {"activation": "relu"},
    {"activation": "xielu"},
    {"layers": (LayerConfig(window=3), LayerConfig())},
    {"layers": (LayerConfig(mixer="conv"),) * 2, "mixer": MixerConfig()},
    {"layers": (LayerConfig(alone=True), LayerConfig(mixer="none"))},
    {"attn_scale": 0.5},
    {"attn_scale_by_layer": True},
    {"attn_softcap": 5.0},
    {"attn_sinks": True},
    {"attn_gate": True},
    {"ff_gain": 1.702},
    {"ff_limit": 7.0},
    {"ff_shift": 1.0},
    {"logit_softcap": 3.0},
    {"bias": True},
    {"qkv_bias": True},
    {"out_bias": True},
    {"head": "none"},
    {"architecture": "encoder", "head": "mlm", "mlm_activation": "relu", "mlm_bias": False},
    {"logit_bias": True},
    {
        "architecture": "encoder-decoder",
        "forced_first": 1,
        "forced_last": 2,
        "never_written": (3,),
        "never_first": (4,),
    },
    {"tie_embeddings": False},
    {"embed_scale": 4.0},
    {"logit_scale": 0.5},
    {"architecture": "encoder", "n_segments": 2, "pooler": True},
    {"architecture": "encoder", "head": "none", "d_embed": 6},
    {"architecture": "encoder", "norm_placement": "post", "input_convolution": InputConvolutionConfig()},
    {"architecture": "encoder"},
    {"architecture": "encoder-decoder"},
    {"experts": ExpertsConfig()},
    {
        "architecture": "encoder",
        "head": "none",
        "vocab_size": 1,
        "max_seq_len": 5,
        "patches": PatchesConfig(side=4, size=2),
    },
    {"architecture": "encoder-decoder", "positions": "learned", "sound": SoundConfig(mels=8, frames=20)},
    {"head": "classes", "classes": ClassesConfig(labels=("no", "yes"), place="last", bias=False)},
]
SIZES = {"n_encoder_layers", "vocab_size", "d_model", "n_layers", "n_heads", "n_kv_heads", "d_head", "d_ff"}
SIZES |= {"rope_base", "norm_eps", "relative_buckets", "relative_distance"}
NOT_COMPUTED = {"max_seq_len", "sentences", "start_id", "bos_id", "dropout", "init", "init_std"}


@pytest.mark.parametrize("given", OTHERWISE, ids=str)
def test_a_model_of_another_kind_is_refused(given, monkeypatch):
    """Where its weights have the same names and sizes, too: none is computed wrongly in silence."""
    config = tfcore.ModelConfig.from_dict(
        {"vocab_size": 11, "d_model": 16, "n_layers": 2, "n_heads": 2, "d_ff": 24} | given
    )
    monkeypatch.setattr(minimal, "load_checkpoint", lambda _: (tfcore.Transformer(config), TOKENIZER))
    with pytest.raises((ValueError, RuntimeError), match=r"no decoder of this kind|state_dict"):
        minimal.load("another")


def test_every_switch_of_a_config_is_tried_above():
    tried = {SHORT.get(name, (name, "")) for name in {*SIZES, *NOT_COMPUTED}.union(*OTHERWISE)}
    parts = {(name, one.name) for name in PARTS if name not in OPTIONAL for one in fields(PARTS[name])}
    others = {(one.name, "") for one in fields(tfcore.ModelConfig)} - {(name, "") for name in PARTS}
    assert tried == parts | others | {(name, "") for name in OPTIONAL}


def test_sizes_may_be_any(monkeypatch):
    config = tfcore.ModelConfig(
        vocab_size=11,
        d_model=16,
        n_layers=3,
        attention=AttentionConfig(n_heads=4, n_kv_heads=2, d_head=6),
        feed_forward=FeedForwardConfig(d_ff=20),
        positions=PositionsConfig(base=500.0),
        norm=NormConfig(eps=0.1),
    )
    model = tfcore.Transformer(config, seed=3).eval()
    monkeypatch.setattr(minimal, "load_checkpoint", lambda _: (model, TOKENIZER))
    decoder, _ = minimal.load("small")
    ids = torch.tensor([3, 1, 4, 1, 5, 9])
    torch.testing.assert_close(decoder(ids), model(ids[None]).logits[0])
