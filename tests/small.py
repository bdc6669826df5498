"""Small models, on the device that models are loaded on, and inputs that many tests share."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.device import device
from tfcore.files import CheckpointError
from tfcore.loading.checkpoints import load
from tfcore.model import Transformer
from tfcore.part_configs import ExpertsConfig, InputConvolutionConfig, LayerConfig, MixerConfig

BASE = {"vocab_size": 61, "d_model": 24, "n_layers": 2, "n_heads": 6, "max_seq_len": 32}
POSITIONS = ("sinusoidal", "learned", "rope", "alibi", "relative", "none")
HEADS = {"multi-head": 6, "grouped": 3, "multi-query": 1}
WIRINGS: dict[str, dict[str, Any]] = {
    "like stories": {},
    "like GPT-2": {"norm": "layernorm", "positions": "learned", "bias": True, "activation": "gelu_tanh"},
    "parallel": {"parallel": True},
    "sandwich": {"norm_placement": "sandwich"},
    "like Gemma 2": {"norm_placement": "sandwich", "attn_softcap": 2.0, "logit_softcap": 3.0, "attn_scale": 0.3},
    "like OLMo 2": {"norm_placement": "after", "qk_norm": "width"},
    "like Pythia": {"norm": "layernorm", "parallel": True, "shared_norm": False, "rotated": 2, "bias": True},
    "like Phi": {
        "norm": "layernorm",
        "parallel": True,
        "rotated": 2,
        "bias": True,
        "tie_embeddings": False,
        "logit_bias": True,
        "logit_scale": 0.5,
    },
    "like ModernBERT": {"norm": "layernorm", "embed_norm": True, "first_norm": False, "activation": "geglu"},
    "like gpt-oss": {
        "attn_sinks": True,
        "ff_gain": 1.702,
        "ff_limit": 1.0,
        "ff_shift": 1.0,
        "qkv_bias": True,
        "experts": ExpertsConfig(n_experts=3, top_k=2, bias=True),
    },
    "like DeepSeek-V3": {
        "kv_latent": 7,
        "q_latent": 9,
        "d_head": 10,
        "d_value": 5,
        "rotated": 4,
        "experts": ExpertsConfig(
            n_experts=6,
            top_k=2,
            n_shared=1,
            n_groups=3,
            top_groups=2,
            group_best=2,
            scores="sigmoid",
            softmax="before",
            renormalize=True,
            bias_rate=0.01,
        ),
    },
    "attention alone": {"d_ff": 0, "tie_embeddings": False, "logit_scale": 0.5},
}
HYBRID: dict[str, Any] = {  # a convolution, and a state of fewer heads than attention would have
    "layers": (LayerConfig(mixer="conv"), LayerConfig(mixer="ssm")),
    "mixer": MixerConfig(n_heads=4, n_key_heads=2, d_key=5, d_value=6, decay="token"),
}
DEBERTA = {  # of encoders alone
    "architecture": "encoder",
    "positions": "disentangled",
    "relative_buckets": 12,
    "relative_distance": 9,
    "relative_normed": True,
    "norm": "layernorm",
    "norm_placement": "post",
    "embed_norm": True,
    "bias": True,
    "activation": "gelu",
    "head": "mlm",
}
CONVOLVED = DEBERTA | {"input_convolution": InputConvolutionConfig(width=3)}  # as v2-xlarge is
ALL_PATTERNS = ("blocks.*.attn.pattern",)


def config(**values: object) -> ModelConfig:
    """A small config; any field may be changed."""
    return ModelConfig.from_dict(BASE | values)


def model(seed: int = 0, **values: object) -> Transformer:
    """A small model in eval mode, its weights large enough that attention is far from uniform."""
    made = Transformer(config(**({"init_std": 0.3} | values)), seed).eval().requires_grad_(False).to(device())
    if made.logit_bias is not None:  # which starts at 0, so that nobody would miss it
        made.logit_bias.copy_(torch.linspace(-1, 1, len(made.logit_bias)).sin())
    return made


def ids(batch: int = 2, seq: int = 13, vocab: int = 61, seed: int = 0) -> Tensor:
    """Random token ids."""
    return torch.randint(0, vocab, (batch, seq), generator=torch.Generator().manual_seed(seed))


def kinds(**more: tuple[object, ...]) -> Iterator[dict[str, object]]:
    """Every positions x heads x window, and whatever else is given."""
    axes = {"positions": POSITIONS, "n_kv_heads": tuple(HEADS.values()), "window": (None, 4), **more}
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def difference(a: Tensor, b: Tensor) -> float:
    """Largest absolute difference."""
    assert a.shape == b.shape
    return float((a - b).detach().abs().max())


def assert_load_refuses(folder: Path, message: str) -> None:
    """In one sentence with these words, that names the folder."""
    with pytest.raises(CheckpointError) as refused:
        load(folder, device="cpu")
    sentence = str(refused.value)
    assert message in sentence
    assert str(folder) in sentence
    assert "\n" not in sentence
