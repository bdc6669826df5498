"""StableLM: LLaMA's, with LayerNorm and a part of each head rotated; some with their sublayers in parallel."""

from dataclasses import replace

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.llama import LLAMA, llama_config


def _stablelm(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("qk_layernorm", False)  # a LayerNorm of each head's own
    return llama_config(
        s,
        tensors,
        norm="layernorm",
        norm_eps=s.number("layer_norm_eps"),
        norm_bias=True,
        qkv_bias=s.flag("use_qkv_bias"),
        parallel=s.flag("use_parallel_residual"),
    )


STABLELM = replace(
    LLAMA,
    title="StableLM",
    architectures=("StableLmForCausalLM", "StableLmModel"),
    config=_stablelm,
    defaults={
        **LLAMA.defaults,
        "vocab_size": 50_304,
        "hidden_size": 2560,
        "intermediate_size": 6912,
        "num_key_value_heads": 32,
        "max_position_embeddings": 4096,
        "layer_norm_eps": 1e-5,
        "bos_token_id": 0,
        "partial_rotary_factor": 0.25,
        "use_qkv_bias": False,
        "qk_layernorm": False,
        "use_parallel_residual": False,
    },
)
