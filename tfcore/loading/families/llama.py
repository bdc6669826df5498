"""LLaMA and the families built like it, with one table of names and few differences: Mistral, Ministral, Ministral 3,
Qwen2, Qwen3, SmolLM3, Helium, ERNIE 4.5."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import FULL, SLIDING, ConfigValues, Tensors, short
from tfcore.loading.families.mapping import Family, of
from tfcore.part_configs import LayerConfig, PositionsConfig

LAYER = "layers.*."
ATTENTION = f"{LAYER}self_attn."
GROWTH = "llama_4_scaling_beta"


def llama_config(s: ConfigValues, tensors: Tensors, **more: Any) -> ModelConfig:
    """Settings that all of them share; `more` is what one of them has besides, or otherwise."""
    head, tied = s.head(tensors, "embed_tokens.weight", "lm_head.weight")
    width, n_heads = s.whole("hidden_size"), s.whole("num_attention_heads")
    d_head = s.whole("head_dim", null=width // n_heads)
    common: dict[str, Any] = {
        "vocab_size": s.whole("vocab_size"),
        "d_model": width,
        "n_layers": s.whole("num_hidden_layers"),
        "n_heads": n_heads,
        "n_kv_heads": s.whole("num_key_value_heads", null=n_heads),
        "d_head": d_head,
        "d_ff": s.whole("intermediate_size"),
        "max_seq_len": s.whole("max_position_embeddings"),
        "positions": more.get("positions") or s.rope(d_head),
        "norm_eps": more["norm_eps"] if "norm_eps" in more else s.number("rms_norm_eps"),
        "activation": more.get("activation") or s.activation("hidden_act", gated=True),
        "head": head,
        "tie_embeddings": tied,
        "bos_id": s.bos(),
        "init": "normal",
    }
    return ModelConfig.from_dict(common | more)


def biases(s: ConfigValues) -> dict[str, bool]:
    """Whether the matrices of attention have biases."""
    biased = s.flag("attention_bias")
    return {"qkv_bias": biased, "out_bias": biased}


def _helium(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return llama_config(s, tensors, bias=s.flag("mlp_bias"), qkv_bias=s.flag("attention_bias"), out_bias=False)


def _ernie(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return llama_config(s, tensors, bias=s.flag("use_bias"))


def _llama(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return llama_config(s, tensors, bias=s.flag("mlp_bias"), **biases(s))


def _mistral(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return llama_config(s, tensors, window=s.window())


def _ministral(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return llama_config(s, tensors, layers=layers_of(s, lambda _: True, s.window()))


def _ministral3(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    """Its queries are scaled by 1 + beta ln(1 + floor(place / L)), which is 1 within the length L that it was first
    trained on: texts end there."""
    positions = s.rope(s.whole("head_dim"), silent=(GROWTH, "max_position_embeddings"))
    longest, rope = s.whole("max_position_embeddings"), s.get("rope_scaling") or s.get("rope_parameters") or {}
    if isinstance(rope, dict) and rope.get(GROWTH):
        longest = min(longest, ConfigValues(rope).whole("original_max_position_embeddings"))
    return llama_config(s, tensors, window=s.window(), positions=positions, max_seq_len=longest)


def _qwen2(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return llama_config(s, tensors, qkv_bias=True, layers=_some_windows(s))


def _qwen3(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return llama_config(s, tensors, qk_norm="head", **biases(s), layers=_some_windows(s))


def _smollm3(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    n, rotated = s.whole("num_hidden_layers"), s.get("no_rope_layers")
    if rotated is None:
        every = s.whole("no_rope_layer_interval")
        rotated = [(layer + 1) % every for layer in range(n)]
    if not isinstance(rotated, list) or len(rotated) < n or not all(isinstance(one, int) for one in rotated):
        raise ValueError(f"no_rope_layers={short(rotated)} must be a list of 1 (rotated) and 0, one for each layer")
    windows = layers_of(s, lambda layer: not rotated[layer], s.window() if s.flag("use_sliding_window") else None)
    none = PositionsConfig(kind="none")
    layers = tuple(replace(one, positions=None if rotated[i] else none) for i, one in enumerate(windows))
    return llama_config(s, tensors, bias=s.flag("mlp_bias"), **biases(s), layers=layers)


def layers_of(s: ConfigValues, usual: Callable[[int], bool], window: int | None) -> tuple[LayerConfig, ...]:
    """The windows of the layers.

    Args:
        usual: whether a layer has a window where the settings do not say it.
    """
    kinds = s.layer_types(usual if window is not None else lambda _: False)
    if SLIDING in kinds and window is None:
        switch = "" if s.get("use_sliding_window") is None else "use_sliding_window=True and "
        raise ValueError(f"layer_types has '{SLIDING}', which needs {switch}sliding_window")
    return tuple(LayerConfig(window=window if kind == SLIDING else None) for kind in kinds)


def rotated_by_kind(
    s: ConfigValues,
    d_head: int,
    usual: Callable[[int], bool],
    window: int | None,
    bases: tuple[str, str] = ("rope_theta", "rope_theta"),
) -> dict[str, Any]:
    """Positions and layers of a family whose layers with a window rotate otherwise than the others.

    Args:
        usual: see layers_of.
        window: of the layers that have one.
        bases: the older names of the bases, of layers without a window and of those with one.
    """
    whole, local = (s.rope(d_head, kind, base) for kind, base in zip((FULL, SLIDING), bases, strict=True))
    layers = tuple(
        replace(one, positions=None if one.window is None or local == whole else local)
        for one in layers_of(s, usual, window)
    )
    return {"positions": whole, "layers": layers}


def _some_windows(s: ConfigValues) -> tuple[LayerConfig, ...]:
    """Layers of which those from max_window_layers on have a window, where use_sliding_window says so."""
    window, first = s.window() if s.flag("use_sliding_window") else None, s.whole("max_window_layers", low=0)
    return layers_of(s, lambda layer: layer >= first, window)


LLAMA = Family(
    title="LLaMA",
    architectures=("LlamaForCausalLM", "LlamaModel"),
    config=_llama,
    rows={
        "embed": of("embed_tokens") + of("lm_head"),
        "unembed": of("lm_head"),
        "decoder.ln_final": of("norm"),
        "decoder.blocks.*.ln1": of(f"{LAYER}input_layernorm"),
        "decoder.blocks.*.ln2": of(f"{LAYER}post_attention_layernorm"),
        "decoder.blocks.*.attn.qkv": of(f"{ATTENTION}q_proj", f"{ATTENTION}k_proj", f"{ATTENTION}v_proj"),
        "decoder.blocks.*.attn.out": of(f"{ATTENTION}o_proj"),
        "decoder.blocks.*.attn.q_norm": of(f"{ATTENTION}q_norm"),
        "decoder.blocks.*.attn.k_norm": of(f"{ATTENTION}k_norm"),
        "decoder.blocks.*.mlp.up": of(f"{LAYER}mlp.gate_proj", f"{LAYER}mlp.up_proj"),
        "decoder.blocks.*.mlp.down": of(f"{LAYER}mlp.down_proj"),
    },
    head="lm_head.weight",
    prefix="model.",
    renamed={"transformer.": ""},  # the trunk below a head for answers
    ignored=r"(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq",  # follows from the settings
    defaults={
        "vocab_size": 32_000,
        "hidden_size": 4096,
        "intermediate_size": 11_008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "hidden_act": "silu",
        "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": False,
        "rope_theta": 10_000.0,
        "bos_token_id": 1,
        "attention_bias": False,
        "mlp_bias": False,
    },
)
MISTRAL = replace(
    LLAMA,
    title="Mistral",
    architectures=("MistralForCausalLM", "MistralModel"),
    config=_mistral,
    defaults={
        **LLAMA.defaults,
        "intermediate_size": 14_336,
        "num_key_value_heads": 8,
        "max_position_embeddings": 131_072,
        "sliding_window": 4096,
    },
)
MINISTRAL = replace(
    MISTRAL, title="Ministral", architectures=("MinistralForCausalLM", "MinistralModel"), config=_ministral
)
MINISTRAL3 = replace(
    MISTRAL,
    title="Ministral 3",
    architectures=("Ministral3ForCausalLM", "Ministral3Model"),
    config=_ministral3,
    defaults={
        **MISTRAL.defaults,
        "vocab_size": 131_072,
        "num_hidden_layers": 34,
        "head_dim": 128,
        "max_position_embeddings": 262_144,
        "rms_norm_eps": 1e-5,
        "sliding_window": None,
        "rope_parameters": {
            "rope_type": "yarn",
            "rope_theta": 1_000_000.0,
            "factor": 16.0,
            "original_max_position_embeddings": 16_384,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
            GROWTH: 0.1,
        },
    },
)
QWEN2 = replace(
    LLAMA,
    title="Qwen2",
    architectures=("Qwen2ForCausalLM", "Qwen2Model"),
    config=_qwen2,
    defaults={
        **LLAMA.defaults,
        "vocab_size": 151_936,
        "bos_token_id": None,
        "intermediate_size": 22_016,
        "num_key_value_heads": 32,
        "max_position_embeddings": 32_768,
        "use_sliding_window": False,
        "sliding_window": 4096,
        "max_window_layers": 28,
    },
)
QWEN3 = replace(
    QWEN2,
    title="Qwen3",
    architectures=("Qwen3ForCausalLM", "Qwen3Model"),
    config=_qwen3,
    defaults={**QWEN2.defaults, "head_dim": 128},
)
# Queries and keys of families that rotate neighbouring features together.
NEIGHBOURS = {
    "decoder.blocks.*.attn.qkv": of(f"{ATTENTION}q_proj", f"{ATTENTION}k_proj", f"{ATTENTION}v_proj", neighbours=True)
}
HELIUM = replace(
    LLAMA,
    title="Helium",
    architectures=("HeliumForCausalLM", "HeliumModel"),
    config=_helium,
    rows={**LLAMA.rows, **NEIGHBOURS},
    defaults={
        **LLAMA.defaults,
        "vocab_size": 48_000,
        "hidden_size": 2560,
        "intermediate_size": 7040,
        "num_hidden_layers": 24,
        "num_attention_heads": 20,
        "num_key_value_heads": 20,
        "head_dim": 128,
        "max_position_embeddings": 4096,
        "rms_norm_eps": 1e-8,
        "rope_theta": 100_000.0,
    },
)
ERNIE4_5 = replace(
    HELIUM,
    title="ERNIE 4.5",
    architectures=("Ernie4_5ForCausalLM", "Ernie4_5Model"),
    config=_ernie,
    defaults={
        **LLAMA.defaults,
        "vocab_size": 103_424,
        "hidden_size": 1024,
        "intermediate_size": 3072,
        "num_hidden_layers": 18,
        "num_attention_heads": 16,
        "num_key_value_heads": 2,
        "head_dim": 128,
        "max_position_embeddings": 131_072,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": True,
        "rope_theta": 500_000.0,
        "use_bias": False,
    },
)
SMOLLM3 = replace(
    LLAMA,
    title="SmolLM3",
    architectures=("SmolLM3ForCausalLM", "SmolLM3Model"),
    config=_smollm3,
    defaults={
        **LLAMA.defaults,
        "vocab_size": 128_256,
        "hidden_size": 2048,
        "num_hidden_layers": 36,
        "num_attention_heads": 16,
        "num_key_value_heads": 4,
        "max_position_embeddings": 32_768,
        "tie_word_embeddings": True,
        "rope_theta": 2_000_000.0,
        "bos_token_id": 128_000,
        "use_sliding_window": False,
        "no_rope_layers": None,
        "no_rope_layer_interval": 4,
    },
)
