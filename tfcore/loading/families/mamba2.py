"""Mamba-2 (arXiv:2405.21060): states alone, without attention and feed-forward layers; and the names of its layer in
hybrids, where one matrix makes the gate, the values (x), the keys (B), the queries (C) and the steps (dt)."""

import math
from collections.abc import Callable, Mapping

from tfcore.config import LIMITS, ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors, short
from tfcore.loading.families.mapping import Family, Shared, WeightSource, of
from tfcore.part_configs import LayerConfig, MixerConfig, MixerNorm

LAYER = "layers.*."
OURS = "decoder.blocks.*.attn."
INFINITE = {"__float__": "Infinity"}  # as transformers writes it into JSON, which has no such number


def _mamba2(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("hidden_act", "silu", "swish")  # after the convolution
    s.only("rms_norm", True)
    head, tied = s.head(tensors, "embeddings.weight", "lm_head.weight")
    width, heads, d_head = s.whole("hidden_size"), s.whole("num_heads"), s.whole("head_dim")
    s.only("expand", heads * d_head / width)
    mixer = MixerConfig(
        n_heads=heads,
        n_key_heads=s.whole("n_groups"),
        d_key=s.whole("state_size"),
        d_value=d_head,
        decay="token",
        width=s.whole("conv_kernel"),
        conv_bias=s.flag("use_conv_bias"),
        bias=s.flag("use_bias"),
        norm="group",
        least_step=least_step(s),
    )
    n = s.whole("num_hidden_layers")
    return ModelConfig.from_dict(
        {
            "vocab_size": s.whole("vocab_size"),
            "d_model": width,
            "n_layers": n,
            "n_heads": 1,  # no layer has attention
            "d_ff": 0,
            "max_seq_len": LIMITS["max_seq_len"][1],  # nothing bounds it
            "positions": "none",
            "norm_eps": s.number("layer_norm_epsilon"),
            "mixer": mixer,
            "layers": (LayerConfig(mixer="ssm"),) * n,
            "head": head,
            "tie_embeddings": tied,
            "bos_id": s.bos(),
            "init": "normal",
        }
    )


def least_step(s: ConfigValues) -> float:
    """The least step of a token, from time_step_limit, whose largest is not bounded."""
    limits = s.get("time_step_limit")
    if not isinstance(limits, list | tuple) or len(limits) != 2 or limits[1] not in (math.inf, INFINITE):
        raise ValueError(f"time_step_limit={short(limits)} is not supported; supported: [a number, Infinity]")
    return ConfigValues({"time_step_limit": limits[0]}).number("time_step_limit")


def state_mixer(s: ConfigValues, values: int, norm: MixerNorm | None) -> MixerConfig:
    """The states of hybrids that have them beside attention, or in some layers.

    Args:
        values: numbers of all heads' values together.
    """
    if values % (heads := s.whole("mamba_n_heads")):
        raise ValueError(f"mamba_n_heads={heads} must divide the {values} values of a token")
    s.only("mamba_d_head", values // heads, "auto")
    return MixerConfig(
        n_heads=heads,
        n_key_heads=s.whole("mamba_n_groups"),
        d_key=s.whole("mamba_d_state"),
        d_value=values // heads,
        decay="token",
        width=s.whole("mamba_d_conv"),
        conv_bias=s.flag("mamba_conv_bias"),
        bias=s.flag("mamba_proj_bias"),
        norm=norm,
        least_step=least_step(s),
    )


def joint(*parts: str, convolved: bool = False) -> Callable[[ModelConfig], Shared]:
    """Rows of these parts in the matrix that makes all of them, or in the convolution, which has three of them."""

    def where(config: ModelConfig) -> Shared:
        own, (d_key, d_value) = config.mixer or MixerConfig(), config.mixer_sizes
        values, keys = own.n_heads * d_value, own.key_heads * d_key
        sizes = {"x": values, "B": keys, "C": keys}
        sizes = sizes if convolved else {"gate": values} | sizes | {"dt": own.n_heads}
        starts = {part: sum(list(sizes.values())[:i]) for i, part in enumerate(sizes)}
        rows = tuple(range(starts[part], starts[part] + sizes[part]) for part in parts)
        return Shared(1, sum(sizes.values()), rows)

    return where


def state_rows(theirs: str, ours: str = OURS) -> Mapping[str, tuple[WeightSource, ...]]:
    """The names of a layer of Mamba-2.

    Args:
        theirs: what the names of one layer begin with, such as `layers.*.mixer.`.
    """
    rows = {
        f"{ours}{name}.{kind}": of(f"{theirs}in_proj.{kind}", shared=joint(*parts))
        for name, parts in (("qkv", ("C", "B", "x")), ("gate", ("gate",)), ("step", ("dt",)))
        for kind in ("weight", "bias")
    }
    order = joint("C", "B", "x", convolved=True)
    return rows | {
        f"{ours}conv_weight": of(f"{theirs}conv1d.weight", squeezed=True, shared=order),
        f"{ours}conv_bias": of(f"{theirs}conv1d.bias", shared=order),
        f"{ours}step_bias": of(f"{theirs}dt_bias"),
        f"{ours}log_rate": of(f"{theirs}A_log"),
        f"{ours}skip": of(f"{theirs}D"),
        f"{ours}norm_weight": of(f"{theirs}norm.weight"),
        f"{ours}out": of(f"{theirs}out_proj"),
    }


MAMBA2 = Family(
    title="Mamba-2",
    architectures=("Mamba2ForCausalLM", "Mamba2Model"),
    config=_mamba2,
    rows={
        "embed": of("embeddings") + of("lm_head"),
        "unembed": of("lm_head"),
        "decoder.ln_final": of("norm_f"),
        "decoder.blocks.*.ln1": of(f"{LAYER}norm"),
        **state_rows(f"{LAYER}mixer."),
    },
    head="lm_head.weight",
    prefix="backbone.",
    renamed={"embedding.": "embeddings."},
    defaults={
        "vocab_size": 32_768,
        "hidden_size": 4096,
        "num_hidden_layers": 64,
        "num_heads": 128,
        "head_dim": 64,
        "state_size": 128,
        "n_groups": 8,
        "conv_kernel": 4,
        "expand": 2,
        "layer_norm_epsilon": 1e-5,
        "hidden_act": "silu",
        "use_bias": False,
        "use_conv_bias": True,
        "time_step_limit": [0.0, INFINITE],
        "tie_word_embeddings": False,
        "bos_token_id": 0,
    },
)
