"""BART: an encoder-decoder of post-norm blocks with learned positions and a norm of the embeddings in each stack; and
mBART, whose blocks are pre-norm, with a norm after each stack."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors, short
from tfcore.loading.families.mapping import Family, WeightSource, of
from tfcore.part_configs import WritingConfig

_TABLES = ("shared", "encoder.embed_tokens", "decoder.embed_tokens")  # one table, which files call by any of them
_BEFORE = 2  # rows of the tables of positions that no place has
_BIAS = "final_logits_bias"
# Settings of BART's first files, and what its code does, whatever they say now.
_FIXED = {
    "normalize_before": False,
    "normalize_embedding": True,
    "add_final_layer_norm": False,
    "static_position_embeddings": False,
}
_FIXED_MBART = _FIXED | {"normalize_before": True, "add_final_layer_norm": True}


def _bart(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return bart_config(s, tensors, _FIXED, positions="learned", embed_norm=True)


def _mbart(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return bart_config(s, tensors, _FIXED_MBART, positions="learned", embed_norm=True, norm_placement="pre")


def bart_config(s: ConfigValues, tensors: Tensors, fixed: Mapping[str, bool], **more: Any) -> ModelConfig:
    """Settings of BART and those built like it.

    Args:
        fixed: settings that files may state, and must state so.
        more: settings that one of them has besides, or otherwise.
    """
    for name, value in {**fixed, "is_decoder": False}.items():
        s.only(name, value)
    for name in ("attention_heads", "ffn_dim"):
        s.only(f"decoder_{name}", s.whole(f"encoder_{name}"))  # stacks of two sizes
    head, tied = _head(s, tensors)
    width = s.whole("d_model")
    settings = {
        "architecture": "encoder-decoder",
        "vocab_size": s.whole("vocab_size"),
        "d_model": width,
        "n_layers": s.whole("decoder_layers"),
        "n_encoder_layers": s.whole("encoder_layers"),
        "n_heads": s.whole("encoder_attention_heads"),
        "d_ff": s.whole("encoder_ffn_dim"),
        "activation": s.activation("activation_function"),
        "max_seq_len": s.whole("max_position_embeddings"),
        "norm": "layernorm",
        "norm_placement": "post",
        "bias": True,
        "head": "lm" if head else "none",
        "logit_bias": head and _BIAS in tensors,
        "tie_embeddings": tied,
        "embed_scale": width**0.5 if s.flag("scale_embedding") else 1.0,
        "start_id": s.whole("decoder_start_token_id", null=s.bos(), low=0),
        "writing": _writing(s),
        "init": "normal",
    }
    return ModelConfig.from_dict(settings | more)


def _head(s: ConfigValues, tensors: Tensors) -> tuple[bool, bool]:
    """Whether there is a language head, and whether it is the embedding table."""
    tied = s.flag("tie_word_embeddings")
    if (own := "lm_head.weight") in tensors:
        table = next((name for name in _TABLES if f"{name}.weight" in tensors), None)
        return True, tied and (table is None or tensors.same(f"{table}.weight", own))
    return not s.is_base(), tied


def _writing(s: ConfigValues) -> WritingConfig:
    """The ids that `generate` of transformers puts into texts, and those that it never writes."""
    first, last = (_forced(s, f"forced_{name}_token_id") for name in ("bos", "eos"))
    if first is None and s.get("force_bos_token_to_be_generated"):  # of older files
        first = s.bos()
    listed = s.get("bad_words_ids") or []
    if not isinstance(listed, list) or not all(isinstance(one, list) and len(one) == 1 for one in listed):
        raise ValueError(f"bad_words_ids={short(listed)} is not supported; supported: words of one token each")
    ends = s.get("eos_token_id")
    ends = ends if isinstance(ends, list) else [ends]
    return WritingConfig(first=first, last=last, never=tuple(one for (one,) in listed if one not in ends))


def _forced(s: ConfigValues, name: str) -> int | None:
    value = s.get(name)
    if isinstance(value, list):
        if len(value) != 1:
            raise ValueError(f"{name}={short(value)} is not supported; supported: one token")
        (value,) = value
    return None if value is None else ConfigValues({name: value}).whole(name, low=0)


def _stack(name: str) -> dict[str, tuple[WeightSource, ...]]:
    layer = f"{name}.layers.*."
    return {
        f"{name}.pos_embed": of(f"{name}.embed_positions", skipped=_BEFORE),
        f"{name}.embed_norm": of(f"{name}.layernorm_embedding"),
        f"{name}.blocks.*.attn.qkv": of(*(f"{layer}self_attn.{one}_proj" for one in "qkv")),
        f"{name}.blocks.*.attn.out": of(f"{layer}self_attn.out_proj"),
        f"{name}.blocks.*.ln1": of(f"{layer}self_attn_layer_norm"),
        f"{name}.blocks.*.mlp.up": of(f"{layer}fc1"),
        f"{name}.blocks.*.mlp.down": of(f"{layer}fc2"),
        f"{name}.blocks.*.ln2": of(f"{layer}final_layer_norm"),
    }


_ACROSS = "decoder.layers.*.encoder_attn"
BART = Family(
    title="BART",
    architectures=("BartForConditionalGeneration", "BartModel"),
    config=_bart,
    rows={
        "embed": sum((of(name) for name in (*_TABLES, "lm_head")), ()),
        "unembed": of("lm_head"),
        "logit_bias": of(_BIAS, as_row=True),
        **_stack("encoder"),
        **_stack("decoder"),
        "decoder.blocks.*.cross_attn.q": of(f"{_ACROSS}.q_proj"),
        "decoder.blocks.*.cross_attn.kv": of(f"{_ACROSS}.k_proj", f"{_ACROSS}.v_proj"),
        "decoder.blocks.*.cross_attn.out": of(f"{_ACROSS}.out_proj"),
        "decoder.blocks.*.ln_cross": of(f"{_ACROSS}_layer_norm"),
    },
    head="lm_head.weight",
    prefix="model.",
    ignored=r"(encoder|decoder)\.version",
    defaults={
        "vocab_size": 50_265,
        "max_position_embeddings": 1024,
        "encoder_layers": 12,
        "encoder_ffn_dim": 4096,
        "encoder_attention_heads": 16,
        "decoder_layers": 12,
        "decoder_ffn_dim": 4096,
        "decoder_attention_heads": 16,
        "activation_function": "gelu",
        "d_model": 1024,
        "scale_embedding": False,
        "bos_token_id": 0,
        "eos_token_id": 2,
        "decoder_start_token_id": 2,
        "forced_eos_token_id": 2,
        "tie_word_embeddings": True,
    },
    aliases={
        "hidden_size": "d_model",
        "num_attention_heads": "encoder_attention_heads",
        "num_hidden_layers": "encoder_layers",
    },
)
MBART = replace(
    BART,
    title="mBART",
    architectures=("MBartForConditionalGeneration", "MBartModel"),
    config=_mbart,
    rows={**BART.rows, **{f"{stack}.ln_final": of(f"{stack}.layer_norm") for stack in ("encoder", "decoder")}},
    defaults={**BART.defaults, "decoder_start_token_id": None},  # the language's id; else that of a text's beginning
)
