"""StableLM: LLaMA's, with LayerNorm and a part of each head rotated; some with their sublayers in parallel."""

from dataclasses import replace

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.llama import ATTENTION, LLAMA, llama_config
from tfcore.loading.families.mapping import of


def _stablelm(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return llama_config(
        s,
        tensors,
        norm="layernorm",
        norm_eps=s.number("layer_norm_eps"),
        norm_bias=True,
        qkv_bias=s.flag("use_qkv_bias"),
        qk_norm="each" if s.flag("qk_layernorm") else None,
        parallel=s.flag("use_parallel_residual"),
    )


STABLELM = replace(
    LLAMA,
    title="StableLM",
    architectures=("StableLmForCausalLM", "StableLmModel"),
    config=_stablelm,
    rows={
        **LLAMA.rows,
        # of each head; in GGUF files all together
        "decoder.blocks.*.attn.q_norm": of(f"{ATTENTION}q_layernorm.norms.#") + of(f"{ATTENTION}q_norm"),
        "decoder.blocks.*.attn.k_norm": of(f"{ATTENTION}k_layernorm.norms.#") + of(f"{ATTENTION}k_norm"),
    },
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
