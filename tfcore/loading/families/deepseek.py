"""DeepSeek V2 and V3: multi-head latent attention (arXiv:2405.04434), and a mixture of shared and routed experts in
groups, whose scores are in V3 sigmoids (arXiv:2412.19437)."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.llama import ATTENTION, LAYER, LLAMA, biases, llama_config
from tfcore.loading.families.mapping import of
from tfcore.loading.families.mixtures import DENSE, MIXTURE
from tfcore.part_configs import ExpertsConfig, LayerConfig

_SHARED = f"{LAYER}mlp.shared_experts."
_BIAS_RATE = 0.001  # of V3's balancing in training (arXiv:2412.19437, section 4.2)


def latent_config(s: ConfigValues, tensors: Tensors, **more: Any) -> ModelConfig:
    """The settings of a model with latent attention."""
    rotated, n_heads = s.whole("qk_rope_head_dim"), s.whole("num_attention_heads")
    d_head = s.whole("qk_nope_head_dim") + rotated
    s.only("num_key_value_heads", n_heads)  # keys and values are made for every head
    return llama_config(
        s,
        tensors,
        d_head=d_head,
        n_kv_heads=None,
        d_value=s.whole("v_head_dim"),
        kv_latent=s.whole("kv_lora_rank"),
        q_latent=_q_latent(s),
        positions=replace(s.rope(rotated), rotated=rotated),
        attn_scale=_scale(s, d_head),
        **biases(s),
        **more,
    )


def _q_latent(s: ConfigValues) -> int | None:
    return None if s.get("q_lora_rank") is None else s.whole("q_lora_rank")


def _scale(s: ConfigValues, d_head: int) -> float | None:
    """The factor of the scores where a longer context sharpens it, by mscale_all_dim."""
    rope = s.get("rope_scaling") or s.get("rope_parameters") or {}
    stated = ConfigValues(rope if isinstance(rope, dict) else {})
    kind = stated.get("rope_type") or stated.get("type") or "default"
    if kind == "default" or not stated.get("mscale_all_dim"):
        return None
    factor = max(stated.number("factor"), 1.0)
    return d_head**-0.5 * (0.1 * stated.number("mscale_all_dim") * math.log(factor) + 1) ** 2


def _experts(s: ConfigValues, **more: Any) -> dict[str, Any]:
    """The mixture, and the first layers, which have none."""
    s.only("moe_layer_freq", 1)
    first = s.whole("first_k_dense_replace", low=0)
    experts = ExpertsConfig(
        n_experts=s.whole("n_routed_experts"),
        top_k=s.whole("num_experts_per_tok"),
        d_expert=s.whole("moe_intermediate_size"),
        n_shared=s.whole("n_shared_experts"),
        softmax="before",
        **more,
    )
    layers = tuple(LayerConfig(dense=i < first) for i in range(s.whole("num_hidden_layers")))
    return {"experts": experts, "layers": layers if first else ()}


def _routed_scale(s: ConfigValues) -> Mapping[str, float]:
    """The factor of what the routed experts write, as one of their matrices."""
    return {"decoder.blocks.*.mlp.down": s.number("routed_scaling_factor")}


def _deepseek_v2(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("scoring_func", "softmax")
    s.only("topk_method", "greedy", "group_limited_greedy")
    s.only("norm_topk_prob", False)  # `transformers` reads it and does not do it
    s.only("mlp_bias", False)
    grouped = s.get("topk_method") == "group_limited_greedy"
    groups = {"n_groups": s.whole("n_group"), "top_groups": s.whole("topk_group")} if grouped else {}
    balance = s.number("aux_loss_alpha")
    return latent_config(s, tensors, **_experts(s, balance_loss=balance, **groups))


def _deepseek_v3(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("rope_interleave", True)
    return latent_config(s, tensors, **sigmoid_experts(s))


def sigmoid_experts(s: ConfigValues) -> dict[str, Any]:
    """The mixture of V3: sigmoids, groups by their two best experts, and a bias that keeps the load even."""
    s.only("scoring_func", "sigmoid")
    s.only("topk_method", "noaux_tc")
    return _experts(
        s,
        scores="sigmoid",
        renormalize=s.flag("norm_topk_prob"),
        n_groups=s.whole("n_group"),
        top_groups=s.whole("topk_group"),
        group_best=2,
        bias_rate=_BIAS_RATE,
        balance_loss=0.0,
    )


ROUTED = {
    **MIXTURE,
    **DENSE,
    "decoder.blocks.*.mlp.shared_up": of(f"{_SHARED}gate_proj", f"{_SHARED}up_proj"),
    "decoder.blocks.*.mlp.shared_down": of(f"{_SHARED}down_proj"),
}
BALANCED = {"decoder.blocks.*.mlp.balance_bias": of(f"{LAYER}mlp.gate.e_score_correction_bias")}
LATENT = {
    "decoder.blocks.*.attn.q": of(f"{ATTENTION}q_proj", rotated_last="each"),
    "decoder.blocks.*.attn.q_down": of(f"{ATTENTION}q_a_proj"),
    "decoder.blocks.*.attn.q_latent_norm": of(f"{ATTENTION}q_a_layernorm"),
    "decoder.blocks.*.attn.q_up": of(f"{ATTENTION}q_b_proj", rotated_last="each"),
    "decoder.blocks.*.attn.kv_down": of(f"{ATTENTION}kv_a_proj_with_mqa", rotated_last="all"),
    "decoder.blocks.*.attn.latent_norm": of(f"{ATTENTION}kv_a_layernorm"),
    "decoder.blocks.*.attn.kv_up": of(f"{ATTENTION}kv_b_proj"),
}
DEEPSEEK_V2 = replace(
    LLAMA,
    title="DeepSeek-V2",
    architectures=("DeepseekV2ForCausalLM", "DeepseekV2Model"),
    config=_deepseek_v2,
    rows={**ROUTED, **LATENT},
    factors=_routed_scale,
    defaults={
        **LLAMA.defaults,
        "vocab_size": 102_400,
        "first_k_dense_replace": 0,
        "kv_lora_rank": 512,
        "q_lora_rank": 1536,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "n_routed_experts": 64,
        "n_shared_experts": 2,
        "moe_intermediate_size": 1407,
        "num_experts_per_tok": 6,
        "routed_scaling_factor": 1.0,
        "topk_method": "greedy",
        "norm_topk_prob": False,
        "aux_loss_alpha": 0.001,
    },
    aliases={"num_experts": "n_routed_experts"},
)
DEEPSEEK_V3 = replace(
    DEEPSEEK_V2,
    title="DeepSeek-V3",
    architectures=("DeepseekV3ForCausalLM", "DeepseekV3Model"),
    config=_deepseek_v3,
    rows={**DEEPSEEK_V2.rows, **BALANCED},
    ignored=rf"{LLAMA.ignored}|layers\.61\..*",  # which predicts a token further, and stands after the last layer
    defaults={
        **LLAMA.defaults,
        "vocab_size": 129_280,
        "hidden_size": 7168,
        "intermediate_size": 18_432,
        "num_hidden_layers": 61,
        "num_attention_heads": 128,
        "max_position_embeddings": 4096,
        "bos_token_id": 0,
        "first_k_dense_replace": 3,
        "kv_lora_rank": 512,
        "q_lora_rank": 1536,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "n_routed_experts": 256,
        "n_shared_experts": 1,
        "moe_intermediate_size": 2048,
        "num_experts_per_tok": 8,
        "n_group": 8,
        "topk_group": 4,
        "routed_scaling_factor": 2.5,
        "norm_topk_prob": True,
    },
    aliases={"num_local_experts": "n_routed_experts"},
)
