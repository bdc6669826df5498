"""OLMo (arXiv:2402.00838): LLaMA's table, with LayerNorm that has no weights, so that ours are ones. OLMo 2 and 3: with
norms of what is added and of all queries and keys of a token together."""

from dataclasses import replace
from typing import Any

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.llama import LAYER, LLAMA, biases, llama_config, rotated_by_kind
from tfcore.loading.families.mapping import of


def _olmo(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    clip = None if s.get("clip_qkv") is None else s.number("clip_qkv")
    return llama_config(s, tensors, norm="layernorm", norm_eps=1e-5, attn_clip=clip, **biases(s))


def _olmo2(s: ConfigValues, tensors: Tensors, **more: Any) -> ModelConfig:
    return llama_config(s, tensors, **biases(s), qk_norm="width", norm_placement="after", **more)


def _olmo3(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    d_head = s.whole("head_dim", null=s.whole("hidden_size") // s.whole("num_attention_heads"))
    return _olmo2(s, tensors, **rotated_by_kind(s, d_head, lambda layer: (layer + 1) % 4 != 0, s.window()))


OLMO = replace(
    LLAMA,
    title="OLMo",
    architectures=("OlmoForCausalLM", "OlmoModel"),
    config=_olmo,
    ones=r"decoder\.(ln_final|blocks\.\d+\.ln[12])\.weight",
    defaults={**LLAMA.defaults, "vocab_size": 50_304, "bos_token_id": None, "clip_qkv": None},
)
OLMO2 = replace(
    LLAMA,
    title="OLMo 2",
    architectures=("Olmo2ForCausalLM", "Olmo2Model"),
    config=_olmo2,
    rows={
        **{row: names for row, names in LLAMA.rows.items() if not row.endswith((".ln1", ".ln2"))},
        "decoder.blocks.*.ln1_post": of(f"{LAYER}post_attention_layernorm"),
        "decoder.blocks.*.ln2_post": of(f"{LAYER}post_feedforward_layernorm"),
    },
    defaults={**LLAMA.defaults, "vocab_size": 50_304, "bos_token_id": None, "rms_norm_eps": 1e-5},
)
OLMO3 = replace(
    OLMO2,
    title="OLMo 3",
    architectures=("Olmo3ForCausalLM", "Olmo3Model"),
    config=_olmo3,
    defaults={**OLMO2.defaults, "rope_theta": 500_000.0, "sliding_window": 4096},
)
