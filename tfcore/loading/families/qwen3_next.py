"""Qwen3-Next and the text models of Qwen3.5: gated delta rule (arXiv:2412.06464) in most layers, attention with a gate
(arXiv:2505.06708) in every fourth, and norms whose scale is stored less 1."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.llama import ATTENTION, LAYER, LLAMA, biases, llama_config
from tfcore.loading.families.mamba2 import OURS
from tfcore.loading.families.mapping import Shared, of
from tfcore.loading.families.mixtures import QWEN2_MOE, shared_experts, some_dense
from tfcore.part_configs import LayerConfig, MixerConfig

LINEAR = "linear_attention"
DELTA = f"{LAYER}linear_attn."


def _hybrid(s: ConfigValues, tensors: Tensors, layers: tuple[LayerConfig, ...], **more: Any) -> ModelConfig:
    """The settings that all of them share."""
    s.only("hidden_act", "silu", "swish")  # after the convolution
    mixer = MixerConfig(
        n_heads=s.whole("linear_num_value_heads"),
        n_key_heads=s.whole("linear_num_key_heads"),
        d_key=s.whole("linear_key_head_dim"),
        d_value=s.whole("linear_value_head_dim"),
        decay="token",
        width=s.whole("linear_conv_kernel_dim"),
    )
    return llama_config(
        s,
        tensors,
        positions=s.rope(s.whole("head_dim"), silent=("mrope_section", "mrope_interleaved")),
        qk_norm="head",
        attn_gate=True,
        **biases(s),
        mixer=mixer if any(one.mixer == "delta" for one in layers) else None,
        layers=layers,
        **more,
    )


def _layers(s: ConfigValues) -> tuple[LayerConfig, ...]:
    every = s.whole("full_attention_interval")
    kinds = s.layer_types(lambda layer: (layer + 1) % every != 0, LINEAR)
    return tuple(LayerConfig(mixer="delta" if kind == LINEAR else "attention") for kind in kinds)


def _qwen3_next(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return _hybrid(s, tensors, some_dense(s, _layers(s)), experts=shared_experts(s, s.flag("norm_topk_prob")))


def _qwen3_5(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return _hybrid(s, tensors, _layers(s))


def _qwen3_5_moe(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return _hybrid(s, tensors, _layers(s), experts=shared_experts(s, renormalize=True), d_ff=None)


def _of_query(part: int) -> Callable[[ModelConfig], Shared]:
    """Rows of each head in the matrix of queries: the query (0) or the gate (1)."""

    def where(config: ModelConfig) -> Shared:
        d = config.head_size
        return Shared(config.attention.n_heads, 2 * d, (range(part * d, part * d + d),))

    return where


def _joint(*parts: str) -> Callable[[ModelConfig], Shared]:
    """Rows of these parts in the matrices of Qwen3-Next's delta rule, which have those of a head of keys together."""

    def where(config: ModelConfig) -> Shared:
        own, (d_key, d_value) = config.mixer or MixerConfig(), config.mixer_sizes
        each = own.n_heads // own.key_heads
        first = {"q": d_key, "k": d_key, "v": each * d_value, "gate": each * d_value}
        sizes = first if parts[0] in first else {"strength": each, "step": each}
        starts = {part: sum(list(sizes.values())[:i]) for i, part in enumerate(sizes)}
        rows = tuple(range(starts[part], starts[part] + sizes[part]) for part in parts)
        return Shared(own.key_heads, sum(sizes.values()), rows)

    return where


_QKV = of(f"{ATTENTION}q_proj", f"{ATTENTION}k_proj", f"{ATTENTION}v_proj", shared=_of_query(0))
_GATE = of(f"{ATTENTION}q_proj", shared=_of_query(1))
_NORMS = ("decoder.ln_final", "decoder.blocks.*.ln1", "decoder.blocks.*.ln2", f"{OURS}q_norm", f"{OURS}k_norm")
_ROWS = {
    **{row: sources for row, sources in QWEN2_MOE.rows.items() if row not in _NORMS},
    **{
        f"{row}.weight": tuple(replace(one, names=(f"{one.names[0]}.weight",), offset=1.0) for one in LLAMA.rows[row])
        for row in _NORMS
    },
    f"{OURS}conv_weight": of(f"{DELTA}conv1d.weight", squeezed=True),
    f"{OURS}step_bias": of(f"{DELTA}dt_bias"),
    f"{OURS}log_rate": of(f"{DELTA}A_log"),
    f"{OURS}norm_weight": of(f"{DELTA}norm.weight"),
    f"{OURS}out": LLAMA.rows[f"{OURS}out"] + of(f"{DELTA}out_proj"),
}
QWEN3_NEXT = replace(
    QWEN2_MOE,
    title="Qwen3-Next",
    architectures=("Qwen3NextForCausalLM", "Qwen3NextModel"),
    config=_qwen3_next,
    rows={
        **_ROWS,
        f"{OURS}qkv": _QKV + of(f"{DELTA}in_proj_qkvz", shared=_joint("q", "k", "v")) + of(f"{DELTA}in_proj_qkv"),
        f"{OURS}gate": _GATE + of(f"{DELTA}in_proj_qkvz", shared=_joint("gate")) + of(f"{DELTA}in_proj_z"),  # of GGUF
        f"{OURS}strength": of(f"{DELTA}in_proj_ba", shared=_joint("strength")),
        f"{OURS}step": of(f"{DELTA}in_proj_ba", shared=_joint("step")),
    },
    ignored=r"mtp\..*",  # which predict further tokens: transformers leaves them out, too
    defaults={
        **LLAMA.defaults,
        "vocab_size": 151_936,
        "bos_token_id": None,
        "hidden_size": 2048,
        "intermediate_size": 5632,
        "num_hidden_layers": 48,
        "num_attention_heads": 16,
        "num_key_value_heads": 2,
        "head_dim": 256,
        "max_position_embeddings": 32_768,
        "partial_rotary_factor": 0.25,
        "full_attention_interval": 4,
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 32,
        "decoder_sparse_step": 1,
        "moe_intermediate_size": 512,
        "shared_expert_intermediate_size": 512,
        "num_experts_per_tok": 10,
        "num_experts": 512,
        "norm_topk_prob": True,
        "router_aux_loss_coef": 0.001,
    },
)
QWEN3_5 = replace(
    QWEN3_NEXT,
    title="Qwen3.5",
    architectures=("Qwen3_5ForCausalLM", "Qwen3_5TextModel"),
    config=_qwen3_5,
    rows={
        **_ROWS,
        "decoder.blocks.*.mlp.up": LLAMA.rows["decoder.blocks.*.mlp.up"],
        "decoder.blocks.*.mlp.down": LLAMA.rows["decoder.blocks.*.mlp.down"],
        f"{OURS}qkv": _QKV + of(f"{DELTA}in_proj_qkv"),
        f"{OURS}gate": _GATE + of(f"{DELTA}in_proj_z"),
        f"{OURS}strength": of(f"{DELTA}in_proj_b"),
        f"{OURS}step": of(f"{DELTA}in_proj_a"),
    },
    defaults={
        **{name: value for name, value in QWEN3_NEXT.defaults.items() if name != "norm_topk_prob"},
        "vocab_size": 248_320,
        "hidden_size": 4096,
        "intermediate_size": 12_288,
        "num_hidden_layers": 32,
        "num_key_value_heads": 4,
    },
)
QWEN3_5_MOE = replace(
    QWEN3_5,
    title="Qwen3.5-MoE",
    architectures=("Qwen3_5MoeForCausalLM", "Qwen3_5MoeTextModel"),
    config=_qwen3_5_moe,
    rows={**QWEN3_5.rows, **{row: _ROWS[row] for row in ("decoder.blocks.*.mlp.up", "decoder.blocks.*.mlp.down")}},
    defaults={
        **QWEN3_5.defaults,
        "hidden_size": 2048,
        "num_hidden_layers": 40,
        "num_key_value_heads": 2,
        "num_experts_per_tok": 8,
        "num_experts": 256,
    },
)
