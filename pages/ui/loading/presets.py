"""Published models by the names people know them by, and those that ship with the app."""

from pages.ui import cache
from pages.ui.loading import models, own_models
from tfcore import available, presets, shipped
from tfcore.config import ModelConfig

NAMES = {
    "transformer_base": "Transformer base (2017)",
    "transformer_big": "Transformer big (2017)",
    "bert_base": "BERT base",
    "bert_large": "BERT large",
    "gpt2_small": "GPT-2 small",
    "gpt2_medium": "GPT-2 medium",
    "gpt2_large": "GPT-2 large",
    "gpt2_xl": "GPT-2 XL",
    "gpt3_175b": "GPT-3 175B",
    "t5_small": "T5 small",
    "t5_base": "T5 base",
    "t5_large": "T5 large",
    "llama_7b": "LLaMA 7B",
    "llama2_7b": "LLaMA 2 7B",
    "llama2_13b": "LLaMA 2 13B",
    "llama2_70b": "LLaMA 2 70B",
    "llama3_8b": "LLaMA 3 8B",
    "llama3_70b": "LLaMA 3 70B",
    "llama3_405b": "LLaMA 3.1 405B",
    "mistral_7b": "Mistral 7B",
    "mixtral_8x7b": "Mixtral 8x7B",
    "qwen2_7b": "Qwen2 7B",
    "gemma_7b": "Gemma 7B",
    "deepseek_moe_16b": "DeepSeekMoE 16B",
}


def all_names() -> dict[str, str]:
    """Key -> label of everything that can be counted without sliders."""
    own = {name: name for name in models.names() if own_models.is_own(name)}
    ours = {name: f"{name} (ours)" if name in shipped() else name for name in available()}
    return NAMES | ours | own


def known(name: str) -> ModelConfig:
    """The config of a preset or of a model that is loaded."""
    if name in presets.PRESETS:
        return presets.PRESETS[name]()
    config: ModelConfig = cache.model(name)[0].config
    return config
