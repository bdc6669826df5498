"""StarCoder2 (arXiv:2402.19173): LLaMA's attention, with LayerNorm, biases and a feed-forward layer without a gate."""

from dataclasses import replace

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.llama import LAYER, LLAMA, llama_config
from tfcore.loading.families.mapping import of


def _starcoder2(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return llama_config(
        s,
        tensors,
        norm="layernorm",
        norm_eps=s.number("norm_epsilon"),
        norm_bias=True,
        activation=s.activation("hidden_act"),
        bias=s.flag("use_bias"),
        window=s.window(),
    )


STARCODER2 = replace(
    LLAMA,
    title="StarCoder2",
    architectures=("Starcoder2ForCausalLM", "Starcoder2Model"),
    config=_starcoder2,
    rows={
        **LLAMA.rows,
        "decoder.blocks.*.mlp.up": of(f"{LAYER}mlp.c_fc"),
        "decoder.blocks.*.mlp.down": of(f"{LAYER}mlp.c_proj"),
    },
    defaults={
        **LLAMA.defaults,
        "vocab_size": 49_152,
        "hidden_size": 3072,
        "intermediate_size": 12_288,
        "num_hidden_layers": 30,
        "num_attention_heads": 24,
        "num_key_value_heads": 2,
        "hidden_act": "gelu_pytorch_tanh",
        "max_position_embeddings": 4096,
        "norm_epsilon": 1e-5,
        "bos_token_id": 50_256,
        "use_bias": True,
        "tie_word_embeddings": True,
    },
)
