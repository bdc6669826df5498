"""Falcon-H1 (arXiv:2507.22448): in each layer grouped-query attention and a state of Mamba-2 beside each other, and
factors of nearly every matrix, which are multiplied into them here."""

from collections.abc import Mapping

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors, short
from tfcore.loading.families.llama import LAYER, LLAMA, biases, llama_config
from tfcore.loading.families.mamba2 import INFINITE, OURS, state_mixer, state_rows
from tfcore.loading.families.mapping import Family, of
from tfcore.part_configs import LayerConfig

STATE = f"{OURS}state."


def _falcon_h1(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("hidden_act", "silu", "swish")  # after the convolution
    s.only("projectors_bias", s.flag("mamba_proj_bias"))  # of the matrix behind the state, and of that before it
    normed = s.flag("mamba_rms_norm")
    if normed:
        s.only("mamba_norm_before_gate", False)
    return llama_config(
        s,
        tensors,
        bias=s.flag("mlp_bias"),
        **biases(s),
        mixer=state_mixer(s, _values(s), "group" if normed else None),
        layers=(LayerConfig(mixer="attention+ssm"),) * s.whole("num_hidden_layers"),
        embed_scale=s.number("embedding_multiplier"),
        logit_scale=s.number("lm_head_multiplier"),
    )


def _values(s: ConfigValues) -> int:
    """Numbers of all heads' values together."""
    if s.get("mamba_d_ssm") is None:
        return s.whole("mamba_expand") * s.whole("hidden_size")
    return s.whole("mamba_d_ssm")


def _listed(s: ConfigValues, name: str, n: int) -> tuple[float, ...]:
    """Several factors under one name; all 1 where it is null."""
    values = s.get(name)
    if values is None:
        return (1.0,) * n
    if not isinstance(values, list) or len(values) != n:
        raise ValueError(f"{name}={short(values)} must be a list of {n} numbers")
    return tuple(ConfigValues({name: value}).number(name) for value in values)


def _factors(s: ConfigValues) -> Mapping[str, float | tuple[float, ...]]:
    """The factors of what matrices read and write, as factors of their rows; biases are added in between."""
    gate, x, b, c, dt = _listed(s, "ssm_multipliers", 5)
    up, down = _listed(s, "mlp_multipliers", 2)
    read, attended, key = (s.number(f"{name}_multiplier") for name in ("ssm_in", "attention_in", "key"))
    of_state = {"qkv": (c, b, x), "gate": (gate,), "step": (dt,)}
    return {
        **{f"{STATE}{name}.weight": tuple(read * one for one in parts) for name, parts in of_state.items()},
        **{f"{STATE}{name}.bias": parts for name, parts in of_state.items()},
        f"{STATE}out": s.number("ssm_out_multiplier"),
        f"{OURS}qkv.weight": (attended, attended * key, attended),
        f"{OURS}qkv.bias": (1.0, key, 1.0),
        f"{OURS}out": s.number("attention_out_multiplier"),
        "decoder.blocks.*.mlp.up": (up, 1.0),
        "decoder.blocks.*.mlp.down": down,
    }


ATTENTION = f"{LAYER}self_attn."
FEED = f"{LAYER}feed_forward."
FALCON_H1 = Family(
    title="Falcon-H1",
    architectures=("FalconH1ForCausalLM", "FalconH1Model"),
    config=_falcon_h1,
    rows={
        "embed": of("embed_tokens") + of("lm_head"),
        "unembed": of("lm_head"),
        "decoder.ln_final": of("final_layernorm"),
        "decoder.blocks.*.ln1": of(f"{LAYER}input_layernorm"),
        "decoder.blocks.*.ln2": of(f"{LAYER}pre_ff_layernorm"),
        **{f"{OURS}qkv.{kind}": of(*(f"{ATTENTION}{one}_proj.{kind}" for one in "qkv")) for kind in ("weight", "bias")},
        f"{OURS}out": of(f"{ATTENTION}o_proj"),
        **state_rows(f"{LAYER}mamba.", STATE),
        "decoder.blocks.*.mlp.up": of(f"{FEED}gate_proj", f"{FEED}up_proj"),
        "decoder.blocks.*.mlp.down": of(f"{FEED}down_proj"),
    },
    head="lm_head.weight",
    prefix="model.",
    factors=_factors,
    defaults={
        **LLAMA.defaults,
        "vocab_size": 128_000,
        "intermediate_size": 14_336,
        "num_key_value_heads": 8,
        "max_position_embeddings": 8192,
        "rms_norm_eps": 1e-5,
        "mamba_d_ssm": 1024,
        "mamba_n_heads": 128,
        "mamba_d_head": "auto",
        "mamba_n_groups": 1,
        "mamba_d_state": 256,
        "mamba_d_conv": 4,
        "mamba_expand": 2,
        "mamba_conv_bias": True,
        "mamba_proj_bias": False,
        "mamba_norm_before_gate": True,
        "mamba_rms_norm": False,
        "projectors_bias": False,
        "time_step_limit": [0.0, INFINITE],
        "ssm_multipliers": None,
        "mlp_multipliers": None,
        **dict.fromkeys(("lm_head_multiplier", "embedding_multiplier", "key_multiplier"), 1.0),
        **dict.fromkeys(("attention_in_multiplier", "attention_out_multiplier"), 1.0),
        **dict.fromkeys(("ssm_in_multiplier", "ssm_out_multiplier"), 1.0),
    },
)
