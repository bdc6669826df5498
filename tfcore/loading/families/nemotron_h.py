"""Nemotron-H (arXiv:2504.03624) and Nemotron 3: each layer is a state of Mamba-2, attention without positions, a
feed-forward layer, or a mixture of experts alone."""

from collections.abc import Mapping

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import FULL, ConfigValues, Tensors, short
from tfcore.loading.families.llama import LAYER, LLAMA, llama_config
from tfcore.loading.families.mamba2 import OURS, state_rows
from tfcore.loading.families.mapping import Family, of
from tfcore.part_configs import ExpertsConfig, LayerConfig, MixerConfig, PositionsConfig

STATE, PLAIN, ROUTED = "linear_attention", "mlp", "moe"
BY_LETTER = {"M": STATE, "*": FULL, "-": PLAIN, "E": ROUTED}  # of hybrid_override_pattern
OLDER = {"mamba": STATE, "attention": FULL}  # names of kinds in older files
LAYERS = {
    STATE: LayerConfig(mixer="ssm", alone=True),
    FULL: LayerConfig(alone=True),
    PLAIN: LayerConfig(mixer="none", dense=True),
    ROUTED: LayerConfig(mixer="none"),
}
_BIAS_RATE = 0.001  # of the balancing in training (arXiv:2408.15664, section 4.2)


def _nemotron_h(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("mamba_hidden_act", "silu", "swish")  # after the convolution
    s.only("mamba_proj_bias", s.flag("use_bias"))
    s.only("sliding_window")
    s.only("attention_bias", False)
    kinds, biased = _kinds(s), s.flag("mlp_bias")
    if biased and ROUTED in kinds:
        raise ValueError("mlp_bias=True is not supported in a model with layers of experts; supported: False")
    mixer = MixerConfig(
        n_heads=s.whole("mamba_num_heads"),
        n_key_heads=s.whole("n_groups"),
        d_key=s.whole("ssm_state_size"),
        d_value=s.whole("mamba_head_dim"),
        decay="token",
        width=s.whole("conv_kernel"),
        conv_bias=s.flag("use_conv_bias"),
        bias=s.flag("use_bias"),
        norm="group",
        least_step=s.number("time_step_min"),
    )
    return llama_config(
        s,
        tensors,
        n_layers=len(kinds),
        positions=PositionsConfig(kind="none"),
        norm_eps=s.number("layer_norm_epsilon"),
        activation=s.activation("mlp_hidden_act"),
        bias=biased,
        qkv_bias=False,
        out_bias=False,
        mixer=mixer if STATE in kinds else None,
        experts=_experts(s) if ROUTED in kinds else None,
        layers=tuple(LAYERS[kind] for kind in kinds),
    )


def _kinds(s: ConfigValues) -> list[str]:
    """What each layer is, from a list of names or a pattern of letters."""
    pattern, kinds = s.get("hybrid_override_pattern"), s.get("layers_block_type")
    if kinds is None and pattern is None:
        return [STATE, ROUTED, FULL, PLAIN]  # as transformers has it
    if kinds is None and isinstance(pattern, str) and pattern and {*pattern} <= BY_LETTER.keys():
        return [BY_LETTER[letter] for letter in pattern]
    if kinds is None and pattern is not None:
        raise ValueError(
            f"hybrid_override_pattern={short(pattern)} is not supported; supported: a letter for each layer, of "
            f"{' '.join(BY_LETTER)}"
        )
    known = (
        [OLDER.get(kind, kind) if isinstance(kind, str) else kind for kind in kinds] if isinstance(kinds, list) else []
    )
    if not known or any(kind not in LAYERS for kind in known):
        raise ValueError(
            f"layers_block_type={short(kinds)} is not supported; supported: for each layer one of {', '.join(LAYERS)}"
        )
    return known


def _experts(s: ConfigValues) -> ExpertsConfig:
    """The mixture: sigmoids, groups by their two best experts, and one shared expert of a width of its own."""
    s.only("moe_latent_size")
    s.only("n_shared_experts", 1)
    each, shared = s.whole("moe_intermediate_size"), s.whole("moe_shared_expert_intermediate_size")
    if shared % each:
        raise ValueError(
            f"moe_shared_expert_intermediate_size={shared} is not supported; supported: a multiple of "
            f"moe_intermediate_size={each}"
        )
    return ExpertsConfig(
        n_experts=s.whole("n_routed_experts"),
        top_k=s.whole("num_experts_per_tok"),
        d_expert=each,
        n_shared=shared // each,
        scores="sigmoid",
        softmax="before",
        renormalize=s.flag("norm_topk_prob"),
        n_groups=s.whole("n_group"),
        top_groups=s.whole("topk_group"),
        group_best=2,
        bias_rate=_BIAS_RATE,
        balance_loss=0.0,
    )


def _routed_scale(s: ConfigValues) -> Mapping[str, float]:
    """The factor of what the routed experts write, as one of their matrices."""
    return {"decoder.blocks.*.mlp.down": s.number("routed_scaling_factor")}


PART = f"{LAYER}mixer."
FEED = "decoder.blocks.*.mlp."
_STATE_ROWS = state_rows(PART)
NEMOTRON_H = Family(
    title="Nemotron-H",
    architectures=("NemotronHForCausalLM", "NemotronHModel"),
    config=_nemotron_h,
    rows={
        **_STATE_ROWS,
        "embed": of("embeddings") + of("lm_head"),
        "unembed": of("lm_head"),
        "decoder.ln_final": of("norm_f"),
        "decoder.blocks.*.ln1": of(f"{LAYER}norm"),
        "decoder.blocks.*.ln2": of(f"{LAYER}norm"),
        f"{OURS}qkv.weight": of(*(f"{PART}{one}_proj.weight" for one in "qkv")) + _STATE_ROWS[f"{OURS}qkv.weight"],
        f"{OURS}out": of(f"{PART}o_proj") + _STATE_ROWS[f"{OURS}out"],
        **{
            f"{FEED}{name}.{kind}": of(f"{PART}{name}_proj.{kind}")
            for name in ("up", "down")
            for kind in ("weight", "bias")
        },
        f"{FEED}router": of(f"{PART}gate"),
        f"{FEED}balance_bias": of(f"{PART}gate.e_score_correction_bias"),
        f"{FEED}up": of(f"{PART}experts.#.up_proj.weight") + of(f"{PART}experts.up_proj"),
        f"{FEED}down": of(f"{PART}experts.#.down_proj.weight") + of(f"{PART}experts.down_proj"),
        f"{FEED}shared_up": of(f"{PART}shared_experts.up_proj"),
        f"{FEED}shared_down": of(f"{PART}shared_experts.down_proj"),
    },
    head="lm_head.weight",
    prefix="model.",
    renamed={"backbone.": ""},
    ignored=r"mtp\..*",  # which predict further tokens: transformers leaves them out, too
    factors=_routed_scale,
    defaults={
        **LLAMA.defaults,
        "vocab_size": 131_072,
        "intermediate_size": 21_504,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "max_position_embeddings": 4096,
        "mlp_hidden_act": "relu2",
        "mamba_hidden_act": "silu",
        "layer_norm_epsilon": 1e-5,
        "ssm_state_size": 128,
        "mamba_num_heads": 128,
        "mamba_head_dim": 64,
        "n_groups": 8,
        "conv_kernel": 4,
        "use_bias": False,
        "use_conv_bias": True,
        "time_step_min": 0.001,
        "n_routed_experts": 8,
        "n_shared_experts": 1,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 7688,
        "moe_shared_expert_intermediate_size": 7688,
        "n_group": 1,
        "topk_group": 1,
        "norm_topk_prob": True,
        "routed_scaling_factor": 1.0,
        "layers_block_type": None,
        "hybrid_override_pattern": None,
    },
    aliases={"mamba_n_groups": "n_groups", "mamba_d_conv": "conv_kernel", "mamba_dt_min": "time_step_min"}
    | {"mamba_conv_bias": "use_conv_bias", "num_local_experts": "n_routed_experts"},
)
