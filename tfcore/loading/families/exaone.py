"""EXAONE 4 (arXiv:2507.11407): norms of what is added and of each head's queries and keys; of layers with and without a
window, those without one rotate nothing."""

from dataclasses import replace

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.llama import LLAMA, layers_of, llama_config
from tfcore.loading.families.olmo import OLMO2
from tfcore.part_configs import PositionsConfig


def _exaone4(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    window = s.window()
    if window is None or s.get("layer_types") is not None:
        layers = layers_of(s, lambda _: False, window)
    else:
        every = s.whole("sliding_window_pattern")
        layers = layers_of(s, lambda layer: (layer + 1) % every != 0, window)
    if window is not None:
        none = PositionsConfig(kind="none")
        layers = tuple(replace(one, positions=none if one.window is None else None) for one in layers)
    return llama_config(s, tensors, qk_norm="head", norm_placement="after", layers=layers)


EXAONE4 = replace(
    OLMO2,
    title="EXAONE 4",
    architectures=("Exaone4ForCausalLM", "Exaone4Model"),
    config=_exaone4,
    defaults={
        **LLAMA.defaults,
        "vocab_size": 102_400,
        "intermediate_size": 16_384,
        "num_key_value_heads": 32,
        "rms_norm_eps": 1e-5,
        "bos_token_id": 0,
        "sliding_window": 4096,
        "sliding_window_pattern": 4,
    },
)
