"""Mixtures of experts built like LLaMA: Mixtral, Qwen's, OLMoE."""

from dataclasses import replace

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors, short
from tfcore.loading.families.llama import LAYER, LLAMA, MISTRAL, biases, layers_of, llama_config
from tfcore.loading.families.mapping import of
from tfcore.part_configs import ExpertsConfig, LayerConfig

_EXPERTS = f"{LAYER}mlp.experts."
_SHARED = f"{LAYER}mlp.shared_expert."
MIXTURE = {
    **LLAMA.rows,
    "decoder.blocks.*.mlp.router": of(f"{LAYER}mlp.gate"),
    "decoder.blocks.*.mlp.up": of(f"{_EXPERTS}#.gate_proj.weight", f"{_EXPERTS}#.up_proj.weight")
    + of(f"{_EXPERTS}gate_up_proj"),
    "decoder.blocks.*.mlp.down": of(f"{_EXPERTS}#.down_proj.weight") + of(f"{_EXPERTS}down_proj"),
}
DENSE = {
    "decoder.blocks.*.mlp.up.weight": of(f"{LAYER}mlp.gate_proj.weight", f"{LAYER}mlp.up_proj.weight"),
    "decoder.blocks.*.mlp.down.weight": of(f"{LAYER}mlp.down_proj.weight"),
}


def _mixtral(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    experts = ExpertsConfig(
        n_experts=s.whole("num_local_experts"),
        top_k=s.whole("num_experts_per_tok"),
        softmax="after",
        balance_loss=s.number("router_aux_loss_coef"),
    )
    return llama_config(s, tensors, window=s.window(), experts=experts)


def _qwen2_moe(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    window, last = s.window() if s.flag("use_sliding_window") else None, s.whole("max_window_layers", low=0)
    layers = layers_of(s, lambda layer: layer % 2 == 0 and layer < last, window)
    experts = shared_experts(s, s.flag("norm_topk_prob"))
    return llama_config(s, tensors, qkv_bias=s.flag("qkv_bias"), experts=experts, layers=some_dense(s, layers))


def _qwen3_moe(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    window = s.window() if s.flag("use_sliding_window") else None
    layers = some_dense(s, tuple(LayerConfig(window=window) for _ in range(s.whole("num_hidden_layers"))))
    return llama_config(
        s, tensors, qk_norm="head", **biases(s), experts=_experts(s, s.flag("norm_topk_prob")), layers=layers
    )


def _olmoe(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    experts = replace(_experts(s, s.flag("norm_topk_prob")), d_expert=None)
    return llama_config(s, tensors, qk_norm="width", **biases(s), experts=experts)


def _experts(s: ConfigValues, renormalize: bool) -> ExpertsConfig:
    return ExpertsConfig(
        n_experts=s.whole("num_experts"),
        top_k=s.whole("num_experts_per_tok"),
        d_expert=s.whole("moe_intermediate_size", null=s.whole("intermediate_size")),
        softmax="before",
        renormalize=renormalize,
        balance_loss=s.number("router_aux_loss_coef"),
    )


def shared_experts(s: ConfigValues, renormalize: bool) -> ExpertsConfig:
    """A mixture with a shared expert of a width of its own, behind a gate."""
    each, shared = s.whole("moe_intermediate_size"), s.whole("shared_expert_intermediate_size")
    if shared % each:
        raise ValueError(
            f"shared_expert_intermediate_size={shared} is not supported; supported: a multiple of "
            f"moe_intermediate_size={each}"
        )
    return replace(_experts(s, renormalize), n_shared=shared // each, shared_gate=True)


def some_dense(s: ConfigValues, layers: tuple[LayerConfig, ...]) -> tuple[LayerConfig, ...]:
    """The layers, of which those of mlp_only_layers, and those between decoder_sparse_step, have no experts."""
    step, plain = s.whole("decoder_sparse_step"), s.get("mlp_only_layers") or []
    if not isinstance(plain, list) or not all(isinstance(one, int) for one in plain):
        raise ValueError(f"mlp_only_layers={short(plain)} must be a list of layers")
    return tuple(replace(one, dense=i in plain or (i + 1) % step != 0) for i, one in enumerate(layers))


MIXTRAL = replace(
    MISTRAL,
    title="Mixtral",
    architectures=("MixtralForCausalLM", "MixtralModel"),
    config=_mixtral,
    rows={
        **MIXTURE,
        "decoder.blocks.*.mlp.up": of(f"{_EXPERTS}#.w1.weight", f"{_EXPERTS}#.w3.weight")
        + of(f"{_EXPERTS}gate_up_proj"),
        "decoder.blocks.*.mlp.down": of(f"{_EXPERTS}#.w2.weight") + of(f"{_EXPERTS}down_proj"),
    },
    renamed={".block_sparse_moe.": ".mlp."},
    defaults={
        **MISTRAL.defaults,
        "rms_norm_eps": 1e-5,
        "sliding_window": None,
        "rope_theta": 1_000_000.0,
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
        "router_aux_loss_coef": 0.001,
    },
    aliases={"num_experts": "num_local_experts"},
)
QWEN2_MOE = replace(
    LLAMA,
    title="Qwen2-MoE",
    architectures=("Qwen2MoeForCausalLM", "Qwen2MoeModel"),
    config=_qwen2_moe,
    rows={
        **MIXTURE,
        **DENSE,
        "decoder.blocks.*.mlp.shared_gate": of(f"{LAYER}mlp.shared_expert_gate"),
        "decoder.blocks.*.mlp.shared_up": of(f"{_SHARED}gate_proj", f"{_SHARED}up_proj"),
        "decoder.blocks.*.mlp.shared_down": of(f"{_SHARED}down_proj"),
    },
    defaults={
        **LLAMA.defaults,
        "vocab_size": 151_936,
        "bos_token_id": None,
        "hidden_size": 2048,
        "intermediate_size": 5632,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "num_key_value_heads": 16,
        "max_position_embeddings": 32_768,
        "use_sliding_window": False,
        "sliding_window": 4096,
        "max_window_layers": 28,
        "decoder_sparse_step": 1,
        "moe_intermediate_size": 1408,
        "shared_expert_intermediate_size": 5632,
        "num_experts_per_tok": 4,
        "num_experts": 60,
        "norm_topk_prob": False,
        "router_aux_loss_coef": 0.001,
        "qkv_bias": True,
    },
)
QWEN3_MOE = replace(
    QWEN2_MOE,
    title="Qwen3-MoE",
    architectures=("Qwen3MoeForCausalLM", "Qwen3MoeModel"),
    config=_qwen3_moe,
    rows={**MIXTURE, **DENSE},
    defaults={
        **QWEN2_MOE.defaults,
        "intermediate_size": 6144,
        "num_attention_heads": 32,
        "num_key_value_heads": 4,
        "moe_intermediate_size": 768,
        "num_experts_per_tok": 8,
        "num_experts": 128,
    },
    aliases={"num_local_experts": "num_experts"},
)
OLMOE = replace(
    LLAMA,
    title="OLMoE",
    architectures=("OlmoeForCausalLM", "OlmoeModel"),
    config=_olmoe,
    rows=MIXTURE,
    defaults={
        **LLAMA.defaults,
        "vocab_size": 50_304,
        "bos_token_id": None,
        "hidden_size": 2048,
        "intermediate_size": 2048,
        "num_hidden_layers": 16,
        "num_attention_heads": 16,
        "max_position_embeddings": 4096,
        "rms_norm_eps": 1e-5,
        "num_experts_per_tok": 8,
        "num_experts": 64,
        "norm_topk_prob": False,
        "router_aux_loss_coef": 0.01,
    },
    aliases={"num_local_experts": "num_experts"},
)
