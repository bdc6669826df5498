"""ViT, DeiT and DINOv2 (arXiv:2010.11929, arXiv:2012.12877, arXiv:2304.07193): encoders of the patches of a picture."""

from collections.abc import Callable
from typing import Any

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors, short
from tfcore.loading.families.mapping import Family, WeightSource, of
from tfcore.part_configs import AttentionConfig, FeedForwardConfig, NormConfig, PatchesConfig, PositionsConfig

CLASS, DISTILLED = "CLS", "DIST"  # names of learned tokens; registers are R1, R2, ...
_LAYER = "encoder.layer.*."
_SELF = f"{_LAYER}attention.attention."
_WIDTH = "hidden_size"


def _vit(s: ConfigValues, tensors: Tensors, tokens: tuple[str, ...] = (CLASS,)) -> ModelConfig:
    s.only("pooler_act", "tanh")
    s.only("pooler_output_size", s.whole(_WIDTH))
    return _of_patches(s, tensors, tokens, s.whole("intermediate_size"))


def _deit(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return _vit(s, tensors, (CLASS, DISTILLED))


def _dinov2(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("use_swiglu_ffn", False)
    registers = s.whole("num_register_tokens", low=0) if s.get("num_register_tokens") is not None else 0
    tokens = (CLASS, *(f"R{i + 1}" for i in range(registers)))
    return _of_patches(s, tensors, tokens, int(s.whole(_WIDTH) * s.number("mlp_ratio")))


def _of_patches(s: ConfigValues, tensors: Tensors, tokens: tuple[str, ...], d_ff: int) -> ModelConfig:
    channels = s.whole("num_channels")
    patches = PatchesConfig(
        side=_side(s, "image_size"),
        size=_side(s, "patch_size"),
        channels=channels,
        tokens=tokens,
        mean=(0.5,) * channels,
        std=(0.5,) * channels,
    )
    return ModelConfig(
        architecture="encoder",
        vocab_size=len(tokens),
        d_model=s.whole(_WIDTH),
        n_layers=s.whole("num_hidden_layers"),
        attention=AttentionConfig(n_heads=s.whole("num_attention_heads"), qkv_bias=s.flag("qkv_bias")),
        feed_forward=FeedForwardConfig(d_ff=d_ff, activation=s.activation("hidden_act")),
        max_seq_len=len(tokens) + patches.rows**2,
        positions=PositionsConfig(kind="learned"),
        norm=NormConfig(kind="layernorm", eps=s.number("layer_norm_eps")),
        patches=patches,
        bias=True,
        head="none",
        pooler="pooler.dense.weight" in tensors,
        init="normal",
    )


def _side(s: ConfigValues, name: str) -> int:
    """A size in pixels, which may be said as two that are equal."""
    value = s.get(name)
    if isinstance(value, list) and len(value) == 2:
        if value[0] != value[1]:
            raise ValueError(f"{name}={short(value)} is not supported; supported: a square")
        return ConfigValues({name: value[0]}).whole(name)
    return s.whole(name)


def _rows(up: str, down: str, norms: tuple[str, str], scales: tuple[str | None, str | None]) -> dict[str, Any]:
    """The rows of a layer.

    Args:
        up, down: their names of the feed-forward layer's matrices.
        norms: of the norms before attention and before it.
        scales: of the vectors that what both add is multiplied with.
    """
    return {
        "patch_embed.weight": of("embeddings.patch_embeddings.projection.weight", flattened=True),
        "patch_embed.bias": of("embeddings.patch_embeddings.projection.bias"),
        "encoder.blocks.*.attn.qkv": of(f"{_SELF}query", f"{_SELF}key", f"{_SELF}value"),
        "encoder.blocks.*.attn.out": of(f"{_LAYER}attention.output.dense", scaled_by=scales[0]),
        "encoder.blocks.*.ln1": of(_LAYER + norms[0]),
        "encoder.blocks.*.mlp.up": of(_LAYER + up),
        "encoder.blocks.*.mlp.down": of(_LAYER + down, scaled_by=scales[1]),
        "encoder.blocks.*.ln2": of(_LAYER + norms[1]),
        "encoder.ln_final": of("layernorm"),
        "pooler": of("pooler.dense"),
    }


def _first(*tokens: str, placed: bool = False) -> dict[str, tuple[WeightSource, ...]]:
    """The rows of learned tokens and of positions."""
    return {
        "embed.weight": of(*(f"embeddings.{token}" for token in tokens), as_row=True),
        "encoder.pos_embed.weight": of("embeddings.position_embeddings", as_row=True, placed=placed),
    }


def _family(
    title: str,
    classes: tuple[str, ...],
    config: Callable[[ConfigValues, Tensors], ModelConfig],
    rows: dict[str, Any],
    defaults: dict[str, object],
    prefix: str,
) -> Family:
    return Family(
        title=title,
        architectures=classes,
        config=config,
        rows=rows,
        head="",
        prefix=prefix,
        ignored=r"embeddings\.mask_token",  # takes the place of patches in training alone
        defaults={
            _WIDTH: 768,
            "num_hidden_layers": 12,
            "num_attention_heads": 12,
            "hidden_act": "gelu",
            "layer_norm_eps": 1e-12,
            "image_size": 224,
            "num_channels": 3,
            "qkv_bias": True,
            **defaults,
        },
    )


_VIT_ROWS = _rows("intermediate.dense", "output.dense", ("layernorm_before", "layernorm_after"), (None, None))
_VIT_DEFAULTS: dict[str, object] = {
    "intermediate_size": 3072,
    "patch_size": 16,
    "pooler_act": "tanh",
    "pooler_output_size": None,
}
_DINO_ROWS = _rows(
    "mlp.fc1", "mlp.fc2", ("norm1", "norm2"), (f"{_LAYER}layer_scale1.lambda1", f"{_LAYER}layer_scale2.lambda1")
)
_DINO_DEFAULTS: dict[str, object] = {"mlp_ratio": 4, "layer_norm_eps": 1e-6, "patch_size": 14, "use_swiglu_ffn": False}
VIT = _family("ViT", ("ViTModel",), _vit, {**_first("cls_token"), **_VIT_ROWS}, _VIT_DEFAULTS, "vit.")
DEIT = _family(
    "DeiT", ("DeiTModel",), _deit, {**_first("cls_token", "distillation_token"), **_VIT_ROWS}, _VIT_DEFAULTS, "deit."
)
DINOV2 = _family(
    "DINOv2", ("Dinov2Model",), _dinov2, {**_first("cls_token", placed=True), **_DINO_ROWS}, _DINO_DEFAULTS, "dinov2."
)
DINOV2_WITH_REGISTERS = _family(
    "DINOv2 with registers",
    ("Dinov2WithRegistersModel",),
    _dinov2,
    {**_first("cls_token", "register_tokens", placed=True), **_DINO_ROWS},
    {**_DINO_DEFAULTS, "num_register_tokens": 4, "patch_size": 16},
    "dinov2_with_registers.",
)
