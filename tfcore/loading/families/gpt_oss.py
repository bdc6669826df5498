"""gpt-oss: a mixture of experts with clamped gates and biases, whose heads have sinks (arXiv:2508.10925)."""

from dataclasses import replace

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.llama import ATTENTION, LAYER, LLAMA, biases, layers_of, llama_config
from tfcore.loading.families.mapping import of
from tfcore.part_configs import ExpertsConfig

_EXPERTS = f"{LAYER}mlp.experts."
_YARN = {
    "rope_type": "yarn",
    "factor": 32.0,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "truncate": False,
    "original_max_position_embeddings": 4096,
}


def _gpt_oss(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("hidden_act", "silu")  # the activation of its experts is stated by two numbers of their own
    return llama_config(
        s,
        tensors,
        **biases(s),
        layers=layers_of(s, lambda layer: layer % 2 == 0, s.window()),
        attn_sinks=True,
        ff_gain=s.number("swiglu_alpha"),
        ff_limit=s.number("swiglu_limit"),
        ff_shift=1.0,
        experts=ExpertsConfig(
            n_experts=s.whole("num_local_experts"),
            top_k=s.whole("num_experts_per_tok"),
            bias=True,
            softmax="after",
            balance_loss=s.number("router_aux_loss_coef"),
        ),
    )


GPT_OSS = replace(
    LLAMA,
    title="gpt-oss",
    architectures=("GptOssForCausalLM", "GptOssModel"),
    config=_gpt_oss,
    rows={
        **LLAMA.rows,
        "decoder.blocks.*.attn.sinks": of(f"{ATTENTION}sinks") + of(f"{ATTENTION}sinks.weight"),
        "decoder.blocks.*.mlp.router": of(f"{LAYER}mlp.router"),
        "decoder.blocks.*.mlp.up": of(f"{_EXPERTS}gate_up_proj", transposed=True, in_turn=True)
        + of(f"{_EXPERTS}#.gate_proj.weight", f"{_EXPERTS}#.up_proj.weight"),  # as GGUF files have them
        "decoder.blocks.*.mlp.up_bias": of(f"{_EXPERTS}gate_up_proj_bias", in_turn=True)
        + of(f"{_EXPERTS}#.gate_proj.bias", f"{_EXPERTS}#.up_proj.bias"),
        "decoder.blocks.*.mlp.down": of(f"{_EXPERTS}down_proj", transposed=True) + of(f"{_EXPERTS}#.down_proj.weight"),
        "decoder.blocks.*.mlp.down_bias": of(f"{_EXPERTS}down_proj_bias") + of(f"{_EXPERTS}#.down_proj.bias"),
    },
    defaults={
        **LLAMA.defaults,
        "vocab_size": 201_088,
        "hidden_size": 2880,
        "intermediate_size": 2880,
        "num_hidden_layers": 36,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "max_position_embeddings": 131_072,
        "rms_norm_eps": 1e-5,
        "rope_theta": 150_000.0,
        "rope_parameters": _YARN,
        "bos_token_id": None,
        "sliding_window": 128,
        "attention_bias": True,
        "num_local_experts": 128,
        "num_experts_per_tok": 4,
        "swiglu_alpha": 1.702,
        "swiglu_limit": 7.0,
        "router_aux_loss_coef": 0.001,
    },
    aliases={"num_experts": "num_local_experts"},
    quantised="mxfp4",
)
