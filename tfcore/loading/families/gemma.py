"""Gemma, 1 to 3: LLaMA's table, but norms store how much a scale differs from 1; from 2 on there are norms of what is
added."""

from dataclasses import replace
from typing import Any

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.llama import ATTENTION, LAYER, LLAMA, biases, layers_of, llama_config, rotated_by_kind
from tfcore.loading.families.mapping import Family, of


def _gemma(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    activation = s.activation("hidden_act", gated=True)
    if s.get("hidden_act") == "gelu":  # what the first files say, and the weights were trained with the approximation
        s.only("hidden_activation", "gelu_pytorch_tanh")
        activation = "geglu_tanh"
    return _config(s, tensors, activation=activation)


def _gemma2(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    layers = layers_of(s, lambda layer: layer % 2 == 0, s.window())
    return _config(s, tensors, **_capped(s), layers=layers)


def _gemma3(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    every = s.whole("sliding_window_pattern")
    bases = ("rope_theta", "rope_local_base_freq")
    rotated = rotated_by_kind(s, s.whole("head_dim"), lambda layer: (layer + 1) % every != 0, s.window(), bases)
    return _config(s, tensors, **_capped(s), qk_norm="head", **rotated)


def _config(s: ConfigValues, tensors: Tensors, **more: Any) -> ModelConfig:
    s.only("use_bidirectional_attention", False)
    return llama_config(s, tensors, embed_scale=s.whole("hidden_size") ** 0.5, **biases(s), **more)


def _capped(s: ConfigValues) -> dict[str, Any]:
    """Settings that Gemma 2 and 3 share."""
    caps = {"attn_softcap": "attn_logit_softcapping", "logit_softcap": "final_logit_softcapping"}
    return {
        **{ours: None if s.get(theirs) is None else s.number(theirs) for ours, theirs in caps.items()},
        "activation": s.activation("hidden_activation", gated=True),
        "attn_scale": s.whole("query_pre_attn_scalar") ** -0.5,
        "norm_placement": "sandwich",
    }


GEMMA = replace(
    LLAMA,
    title="Gemma",
    architectures=("GemmaForCausalLM", "GemmaModel"),
    config=_gemma,
    rows={  # it stores how much a scale differs from 1
        **LLAMA.rows,
        "decoder.ln_final": of("norm", offset=1),
        "decoder.blocks.*.ln1": of(f"{LAYER}input_layernorm", offset=1),
        "decoder.blocks.*.ln2": of(f"{LAYER}post_attention_layernorm", offset=1),
    },
    defaults={
        **LLAMA.defaults,
        "vocab_size": 256_000,
        "bos_token_id": 2,
        "hidden_size": 3072,
        "intermediate_size": 24_576,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 16,
        "head_dim": 256,
        "hidden_act": "gelu_pytorch_tanh",
        "max_position_embeddings": 8192,
        "tie_word_embeddings": True,
    },
)
GEMMA2: Family = replace(
    GEMMA,
    title="Gemma 2",
    architectures=("Gemma2ForCausalLM", "Gemma2Model"),
    config=_gemma2,
    rows={
        **GEMMA.rows,
        "decoder.blocks.*.ln1_post": of(f"{LAYER}post_attention_layernorm", offset=1),
        "decoder.blocks.*.ln2": of(f"{LAYER}pre_feedforward_layernorm", offset=1),
        "decoder.blocks.*.ln2_post": of(f"{LAYER}post_feedforward_layernorm", offset=1),
    },
    defaults={
        **GEMMA.defaults,
        "hidden_size": 2304,
        "intermediate_size": 9216,
        "num_hidden_layers": 26,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "hidden_activation": "gelu_pytorch_tanh",
        "sliding_window": 4096,
        "query_pre_attn_scalar": 256,
        "attn_logit_softcapping": 50.0,
        "final_logit_softcapping": 30.0,
    },
)
GEMMA3 = replace(
    GEMMA2,
    title="Gemma 3",
    architectures=("Gemma3ForCausalLM", "Gemma3TextModel"),
    config=_gemma3,
    rows={
        **GEMMA2.rows,
        "decoder.blocks.*.attn.q_norm": of(f"{ATTENTION}q_norm", offset=1),
        "decoder.blocks.*.attn.k_norm": of(f"{ATTENTION}k_norm", offset=1),
    },
    defaults={
        **GEMMA2.defaults,
        "vocab_size": 262_208,
        "max_position_embeddings": 131_072,
        "attn_logit_softcapping": None,
        "final_logit_softcapping": None,
        "rope_theta": 1_000_000.0,
        "rope_local_base_freq": 10_000.0,
        "sliding_window_pattern": 6,
    },
    aliases={"_sliding_window_pattern": "sliding_window_pattern"},
)
