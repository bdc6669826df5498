"""LFM2 (arXiv:2511.23404): short convolutions in most layers, grouped-query attention with QK-norm in the others; and
its mixture of experts, whose scores are sigmoids."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors, short
from tfcore.loading.families.llama import LAYER, llama_config
from tfcore.loading.families.mapping import Family, of
from tfcore.part_configs import ExpertsConfig, LayerConfig, MixerConfig

CONVOLUTION = "conv"
_BIAS_RATE = 0.001  # of the balancing in training (arXiv:2408.15664, section 4.2)


def _lfm2(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return _hybrid(s, tensors, d_ff=_width(s))


def _lfm2_moe(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    experts = ExpertsConfig(
        n_experts=s.whole("num_experts"),
        top_k=s.whole("num_experts_per_tok"),
        d_expert=s.whole("moe_intermediate_size"),
        scores="sigmoid",
        softmax="before",
        renormalize=s.flag("norm_topk_prob"),
        bias_rate=_BIAS_RATE if s.flag("use_expert_bias") else 0.0,
        balance_loss=0.0,
    )
    return _hybrid(s, tensors, dense=s.whole("num_dense_layers", low=0), experts=experts)


def _hybrid(s: ConfigValues, tensors: Tensors, dense: int = 0, **more: Any) -> ModelConfig:
    """The settings that both have.

    Args:
        dense: how many of the first layers have no experts.
    """
    kinds = _kinds(s)
    layers = tuple(
        LayerConfig(mixer="conv" if kind == CONVOLUTION else "attention", dense=i < dense)
        for i, kind in enumerate(kinds)
    )
    biased = s.flag("conv_bias")
    mixer = MixerConfig(n_heads=1, width=s.whole("conv_L_cache"), bias=biased, conv_bias=biased)
    return llama_config(
        s,
        tensors,
        norm_eps=s.number("norm_eps"),
        activation="swiglu",
        qk_norm="head",
        layers=layers if dense or CONVOLUTION in kinds else (),
        mixer=mixer if CONVOLUTION in kinds else None,
        **more,
    )


def _kinds(s: ConfigValues) -> list[str]:
    """For each layer whether it is a convolution or attention."""
    attending = s.get("full_attn_idxs")
    if attending is not None and not isinstance(attending, list):
        raise ValueError(f"full_attn_idxs={short(attending)} must be a list of the layers with attention")
    return s.layer_types(lambda layer: attending is not None and layer not in attending, CONVOLUTION)


def _width(s: ConfigValues) -> int:
    """d_ff: two thirds of what is said, times a factor, rounded up to whole blocks, where the settings ask for that."""
    d_ff = s.whole("intermediate_size")
    if not s.flag("block_auto_adjust_ff_dim"):
        return d_ff
    d_ff = int(2 * d_ff / 3)
    if s.get("block_ffn_dim_multiplier") is None:
        return d_ff
    block = s.whole("block_multiple_of")
    return -(-int(s.number("block_ffn_dim_multiplier") * d_ff) // block) * block


def _routed_scale(s: ConfigValues) -> Mapping[str, float]:
    """The factor of what the experts write, as one of their matrices."""
    return {"decoder.blocks.*.mlp.down": s.number("routed_scaling_factor")}


ATTENTION = f"{LAYER}self_attn."
SHORT = f"{LAYER}conv."
LFM2 = Family(
    title="LFM2",
    architectures=("Lfm2ForCausalLM", "Lfm2Model"),
    config=_lfm2,
    rows={
        "embed": of("embed_tokens") + of("lm_head"),
        "unembed": of("lm_head"),
        "decoder.ln_final": of("embedding_norm"),
        "decoder.blocks.*.ln1": of(f"{LAYER}operator_norm"),
        "decoder.blocks.*.ln2": of(f"{LAYER}ffn_norm"),
        "decoder.blocks.*.attn.qkv": of(f"{ATTENTION}q_proj", f"{ATTENTION}k_proj", f"{ATTENTION}v_proj"),
        "decoder.blocks.*.attn.q_norm": of(f"{ATTENTION}q_layernorm"),
        "decoder.blocks.*.attn.k_norm": of(f"{ATTENTION}k_layernorm"),
        "decoder.blocks.*.attn.project": of(f"{SHORT}in_proj"),
        "decoder.blocks.*.attn.conv_weight": of(f"{SHORT}conv.weight", squeezed=True),
        "decoder.blocks.*.attn.conv_bias": of(f"{SHORT}conv.bias"),
        "decoder.blocks.*.attn.out": of(f"{ATTENTION}out_proj") + of(f"{SHORT}out_proj"),
        "decoder.blocks.*.mlp.up": of(f"{LAYER}feed_forward.w1", f"{LAYER}feed_forward.w3"),
        "decoder.blocks.*.mlp.down": of(f"{LAYER}feed_forward.w2"),
    },
    head="lm_head.weight",
    prefix="model.",
    defaults={
        "vocab_size": 65_536,
        "hidden_size": 2560,
        "intermediate_size": 12_288,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "max_position_embeddings": 128_000,
        "norm_eps": 1e-5,
        "tie_word_embeddings": True,
        "rope_theta": 1_000_000.0,
        "bos_token_id": 1,
        "conv_bias": False,
        "conv_L_cache": 3,
        "block_multiple_of": 256,
        "block_ffn_dim_multiplier": 1.0,
        "block_auto_adjust_ff_dim": True,
        "full_attn_idxs": None,
        "layer_types": None,
    },
    aliases={"block_ff_dim": "intermediate_size", "tie_embedding": "tie_word_embeddings"},
)
FEED = f"{LAYER}feed_forward."
LFM2_MOE = replace(
    LFM2,
    title="LFM2-MoE",
    architectures=("Lfm2MoeForCausalLM", "Lfm2MoeModel"),
    config=_lfm2_moe,
    rows={
        **LFM2.rows,
        "decoder.blocks.*.mlp.up.weight": of(f"{FEED}w1.weight", f"{FEED}w3.weight"),
        "decoder.blocks.*.mlp.down.weight": of(f"{FEED}w2.weight"),
        "decoder.blocks.*.mlp.router": of(f"{FEED}gate"),
        "decoder.blocks.*.mlp.balance_bias": of(f"{FEED}expert_bias"),
        "decoder.blocks.*.mlp.up": of(f"{FEED}experts.#.w1.weight", f"{FEED}experts.#.w3.weight")
        + of(f"{FEED}experts.gate_up_proj"),
        "decoder.blocks.*.mlp.down": of(f"{FEED}experts.#.w2.weight") + of(f"{FEED}experts.down_proj"),
    },
    factors=_routed_scale,
    defaults={
        **{name: value for name, value in LFM2.defaults.items() if not name.startswith("block_")},
        "hidden_size": 2048,
        "intermediate_size": 7168,
        "moe_intermediate_size": 1792,
        "num_dense_layers": 2,
        "num_experts": 32,
        "num_experts_per_tok": 4,
        "use_expert_bias": True,
        "routed_scaling_factor": 1.0,
        "norm_topk_prob": True,
    },
    aliases={"tie_embedding": "tie_word_embeddings"},
)
