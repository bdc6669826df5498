"""Apertus (arXiv:2509.14233): LLaMA's with QK-norm, its feed-forward layer without a gate and with xIELU."""

from dataclasses import replace

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.llama import LAYER, LLAMA, biases, llama_config
from tfcore.loading.families.mapping import of

_ACTIVATION = f"{LAYER}mlp.act_fn."
_FIXED = {"beta": 0.5, "eps": 0.0}  # which files hold besides, and no training changes


def _apertus(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    for layer in range(s.whole("num_hidden_layers")):
        for name, value in _FIXED.items():
            stored = _ACTIVATION.replace("*", str(layer)) + name
            if stored in tensors and abs(float(tensors.read(stored)) - value) > 1e-3:
                raise ValueError(f"{stored} is not {value}, as in all of xIELU; it is not supported")
    learned = s.get("hidden_act") == "xielu"
    activation = "xielu" if learned else s.activation("hidden_act")
    return llama_config(s, tensors, activation=activation, qk_norm="head", **biases(s))


APERTUS = replace(
    LLAMA,
    title="Apertus",
    architectures=("ApertusForCausalLM", "ApertusModel"),
    config=_apertus,
    rows={
        **LLAMA.rows,
        "decoder.blocks.*.ln1": of(f"{LAYER}attention_layernorm"),
        "decoder.blocks.*.ln2": of(f"{LAYER}feedforward_layernorm"),
        "decoder.blocks.*.mlp.up": of(f"{LAYER}mlp.up_proj"),
        "decoder.blocks.*.mlp.curve": of(f"{_ACTIVATION}alpha_p", f"{_ACTIVATION}alpha_n"),
    },
    checked=r"layers\.\d+\.mlp\.act_fn\.(beta|eps)",
    defaults={
        **LLAMA.defaults,
        "vocab_size": 131_072,
        "intermediate_size": 14_336,
        "hidden_act": "xielu",
        "max_position_embeddings": 65_536,
        "rms_norm_eps": 1e-5,
        "rope_parameters": {
            "rope_type": "llama3",
            "rope_theta": 12_000_000.0,
            "factor": 8.0,
            "original_max_position_embeddings": 8192,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
        },
    },
)
