"""Cohere's Command R and Command R7B: attention and feed-forward layer in parallel, LayerNorm without a bias, scaled
logits, neighbouring features rotated together; in the second those of layers with a window alone."""

from dataclasses import replace
from typing import Any

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.llama import ATTENTION, LLAMA, NEIGHBOURS, biases, layers_of, llama_config
from tfcore.loading.families.mapping import of
from tfcore.part_configs import PositionsConfig

_NORMS = ("decoder.blocks.*.attn.q_norm", "decoder.blocks.*.attn.k_norm")


def _cohere(s: ConfigValues, tensors: Tensors, **more: Any) -> ModelConfig:
    return llama_config(
        s,
        tensors,
        norm="layernorm",
        norm_eps=s.number("layer_norm_eps"),
        parallel=True,
        logit_scale=s.number("logit_scale"),
        qk_norm="each" if s.flag("use_qk_norm") else None,
        **biases(s),
        **more,
    )


def _cohere2(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("use_qk_norm", False)
    if (window := s.window()) is None:
        raise ValueError("sliding_window=None is not supported; supported: a number of tokens")
    every = s.whole("sliding_window_pattern")
    layers = layers_of(s, lambda layer: (layer + 1) % every != 0, window)
    none = PositionsConfig(kind="none")
    return _cohere(s, tensors, layers=tuple(one if one.window else replace(one, positions=none) for one in layers))


COHERE = replace(
    LLAMA,
    title="Cohere",
    architectures=("CohereForCausalLM", "CohereModel"),
    config=_cohere,
    rows={**LLAMA.rows, **NEIGHBOURS, **{name: of(f"{ATTENTION}{name[-6:]}", in_turn=True) for name in _NORMS}},
    defaults={
        **LLAMA.defaults,
        "vocab_size": 256_000,
        "hidden_size": 8192,
        "intermediate_size": 22_528,
        "num_hidden_layers": 40,
        "num_attention_heads": 64,
        "max_position_embeddings": 8192,
        "layer_norm_eps": 1e-5,
        "rope_theta": 500_000.0,
        "bos_token_id": 5,
        "tie_word_embeddings": True,
        "logit_scale": 0.0625,
        "use_qk_norm": False,
    },
)
COHERE2 = replace(
    COHERE,
    title="Cohere 2",
    architectures=("Cohere2ForCausalLM", "Cohere2Model"),
    config=_cohere2,
    defaults={**COHERE.defaults, "rope_theta": 10_000.0, "sliding_window": 4096, "sliding_window_pattern": 4},
)
