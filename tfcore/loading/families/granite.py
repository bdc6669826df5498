"""Granite, its mixtures of experts, and Granite 4, in most of whose layers a state of Mamba-2 stands in the place of
attention; with four factors: of embeddings, scores, what a sublayer adds, and logits."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.llama import LAYER, LLAMA, biases, llama_config
from tfcore.loading.families.mamba2 import INFINITE, OURS, state_mixer, state_rows
from tfcore.loading.families.mapping import of
from tfcore.loading.families.nemotron_h import OLDER, STATE
from tfcore.part_configs import ExpertsConfig, LayerConfig, PositionsConfig

_MIXTURE = f"{LAYER}block_sparse_moe."
_SHARED = f"{LAYER}shared_mlp."
_FEED = "decoder.blocks.*.mlp."


def _scales(s: ConfigValues) -> dict[str, Any]:
    """The factors that are settings of ours."""
    if (divisor := s.number("logits_scaling")) == 0:
        raise ValueError("logits_scaling=0 divides by nothing; it must be another number")
    return {
        "embed_scale": s.number("embedding_multiplier"),
        "attn_scale": s.number("attention_multiplier"),
        "logit_scale": 1 / divisor,
    }


def _factors(s: ConfigValues) -> Mapping[str, float]:
    """The factor of what is added to the residual stream, as one of the matrices that write it."""
    writing = (f"{OURS}out", f"{_FEED}down", f"{_FEED}down.weight", f"{_FEED}shared_down")
    return dict.fromkeys(writing, s.number("residual_multiplier"))


def _granite(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return llama_config(s, tensors, bias=s.flag("mlp_bias"), **biases(s), **_scales(s))


def _experts(s: ConfigValues, shared: int = 0) -> ExpertsConfig:
    """The mixture.

    Args:
        shared: width of a shared expert; 0 where there is none.
    """
    if shared % (each := s.whole("intermediate_size")):
        raise ValueError(
            f"shared_intermediate_size={shared} is not supported; supported: a multiple of intermediate_size={each}"
        )
    return ExpertsConfig(
        n_experts=s.whole("num_local_experts"),
        top_k=s.whole("num_experts_per_tok"),
        n_shared=shared // each,
        softmax="after",
        balance_loss=s.number("router_aux_loss_coef"),
    )


def _granite_moe(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return llama_config(s, tensors, **biases(s), **_scales(s), experts=_experts(s))


def _granite_moe_shared(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    experts = _experts(s, s.whole("shared_intermediate_size", low=0))
    return llama_config(s, tensors, **biases(s), **_scales(s), experts=experts)


def _granite_hybrid(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("position_embedding_type", "rope", "nope")
    rotated, kinds, width = s.get("position_embedding_type") == "rope", _kinds(s), s.whole("hidden_size")
    routed, shared = s.whole("num_local_experts", low=0) > 0, s.whole("shared_intermediate_size")
    if STATE in kinds:
        s.only("hidden_act", "silu", "swish")  # after the convolution
    return llama_config(
        s,
        tensors,
        **biases(s),
        **_scales(s),
        d_ff=s.whole("intermediate_size") if routed else shared,
        experts=_experts(s, shared) if routed else None,
        positions=s.rope(width // s.whole("num_attention_heads")) if rotated else PositionsConfig(kind="none"),
        mixer=state_mixer(s, s.whole("mamba_expand") * width, "group") if STATE in kinds else None,
        layers=tuple(LayerConfig(mixer="ssm" if kind == STATE else "attention") for kind in kinds),
    )


def _kinds(s: ConfigValues) -> list[str]:
    """What each layer has: a state, or attention."""
    kinds = s.get("layer_types")
    if isinstance(kinds, list):
        kinds = [OLDER.get(kind, kind) if isinstance(kind, str) else kind for kind in kinds]
    stated = {"num_hidden_layers": s.whole("num_hidden_layers"), "layer_types": kinds}
    return ConfigValues(stated).layer_types(lambda _: True, STATE)


GRANITE = replace(
    LLAMA,
    title="Granite",
    architectures=("GraniteForCausalLM", "GraniteModel"),
    config=_granite,
    factors=_factors,
    defaults={
        **LLAMA.defaults,
        "embedding_multiplier": 1.0,
        "attention_multiplier": 1.0,
        "residual_multiplier": 1.0,
        "logits_scaling": 1.0,
    },
)
GRANITE_MOE = replace(
    GRANITE,
    title="Granite-MoE",
    architectures=("GraniteMoeForCausalLM", "GraniteMoeModel"),
    config=_granite_moe,
    rows={
        **GRANITE.rows,
        "decoder.blocks.*.mlp.router": of(f"{_MIXTURE}router.layer") + of(f"{_MIXTURE}router"),
        "decoder.blocks.*.mlp.up": of(f"{_MIXTURE}input_linear.weight")
        + of(f"{_MIXTURE}experts.gate_up_proj")
        + of(f"{_MIXTURE}experts.#.gate_proj.weight", f"{_MIXTURE}experts.#.up_proj.weight"),
        "decoder.blocks.*.mlp.down": of(f"{_MIXTURE}output_linear.weight")
        + of(f"{_MIXTURE}experts.down_proj")
        + of(f"{_MIXTURE}experts.#.down_proj.weight"),
    },
    defaults={**GRANITE.defaults, "num_local_experts": 8, "num_experts_per_tok": 2, "router_aux_loss_coef": 0.001},
)
GRANITE_MOE_SHARED = replace(
    GRANITE_MOE,
    title="Granite-MoE with a shared expert",
    architectures=("GraniteMoeSharedForCausalLM", "GraniteMoeSharedModel"),
    config=_granite_moe_shared,
    rows={
        **GRANITE_MOE.rows,
        f"{_FEED}shared_up": of(f"{_SHARED}input_linear") + of(f"{_SHARED}gate_proj", f"{_SHARED}up_proj"),
        f"{_FEED}shared_down": of(f"{_SHARED}output_linear"),
    },
    defaults={**GRANITE_MOE.defaults, "shared_intermediate_size": 0},
)
_STATE_ROWS = state_rows(f"{LAYER}mamba.")
GRANITE_HYBRID = replace(
    GRANITE_MOE_SHARED,
    title="Granite 4",
    architectures=("GraniteMoeHybridForCausalLM", "GraniteMoeHybridModel"),
    config=_granite_hybrid,
    rows={
        **GRANITE_MOE_SHARED.rows,
        **_STATE_ROWS,
        **{
            f"{OURS}qkv.{kind}": of(*(f"{LAYER}self_attn.{one}_proj.{kind}" for one in "qkv"))
            + _STATE_ROWS[f"{OURS}qkv.{kind}"]
            for kind in ("weight", "bias")
        },
        f"{OURS}out": GRANITE.rows[f"{OURS}out"] + _STATE_ROWS[f"{OURS}out"],
        f"{_FEED}up.weight": of(f"{_SHARED}input_linear.weight")
        + of(f"{_SHARED}gate_proj.weight", f"{_SHARED}up_proj.weight"),
        f"{_FEED}down.weight": of(f"{_SHARED}output_linear.weight"),
    },
    defaults={
        **GRANITE_MOE_SHARED.defaults,
        "shared_intermediate_size": 1024,
        "position_embedding_type": None,
        "layer_types": None,
        "mamba_n_heads": 128,
        "mamba_n_groups": 1,
        "mamba_d_state": 256,
        "mamba_d_head": "auto",
        "mamba_d_conv": 4,
        "mamba_expand": 2,
        "mamba_conv_bias": True,
        "mamba_proj_bias": False,
        "time_step_limit": [0.0, INFINITE],
    },
    aliases={"layers_block_type": "layer_types"},
)
