"""Families with ALiBi (arXiv:2108.12409): BLOOM and MPT."""

from typing import Any

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors, short
from tfcore.loading.families.mapping import Family, of

_SHARED: dict[str, Any] = {"positions": "alibi", "norm": "layernorm", "init": "normal"}


def _bloom(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("apply_residual_connection_post_layernorm", False)
    head, tied = s.head(tensors, "word_embeddings.weight", "lm_head.weight")
    width = s.whole("hidden_size")
    s.only("n_inner", 4 * width)
    return ModelConfig.from_dict(
        _SHARED
        | {
            "vocab_size": s.whole("vocab_size"),
            "d_model": width,
            "n_layers": s.whole("n_layer"),
            "n_heads": s.whole("n_head"),
            "d_ff": 4 * width,
            "activation": "gelu_tanh",
            "max_seq_len": s.whole("seq_length"),
            "norm_eps": s.number("layer_norm_epsilon"),
            "embed_norm": True,
            "bias": True,
            "head": head,
            "tie_embeddings": tied,
            "bos_id": s.bos(),
        }
    )


# Settings of MPT's first files, and what the code of transformers does, whatever they say.
_MPT: dict[str, tuple[object, ...]] = {
    "expansion_ratio": (4,),
    "no_bias": (True,),
    "norm_type": ("low_precision_layernorm", "layernorm"),
}
_MPT_ATTENTION: dict[str, tuple[object, ...]] = {
    "attn_type": ("multihead_attention",),
    "prefix_lm": (False,),
    "qk_ln": (False,),
    "attn_uses_sequence_id": (False,),
    "alibi": (True,),
}


def _mpt(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    for name, values in _MPT.items():
        s.only(name, *values)
    stated = s.get("attn_config") or {}
    if not isinstance(stated, dict):
        raise ValueError(f"attn_config={short(stated)} must be an object")
    attention = ConfigValues({f"attn_config.{name}": value for name, value in stated.items()})
    for name, values in _MPT_ATTENTION.items():
        attention.only(f"attn_config.{name}", *values)
    scale, clip, steepness = (f"attn_config.{name}" for name in ("softmax_scale", "clip_qkv", "alibi_bias_max"))
    head, tied = s.head(tensors, "wte.weight", "lm_head.weight")
    width = s.whole("d_model")
    return ModelConfig.from_dict(
        _SHARED
        | {
            "vocab_size": s.whole("vocab_size"),
            "d_model": width,
            "n_layers": s.whole("n_layers"),
            "n_heads": s.whole("n_heads"),
            "attn_scale": None if attention.get(scale) is None else attention.number(scale),
            "attn_clip": attention.number(clip) if attention.get(clip) else None,  # 0 cuts nothing
            "alibi_steepness": 8.0 if attention.get(steepness) is None else attention.number(steepness),
            "d_ff": 4 * width,
            "activation": "gelu",
            "max_seq_len": s.whole("max_seq_len"),
            "norm_eps": s.number("layer_norm_epsilon"),
            "head": head,
            "tie_embeddings": tied,
            "bos_id": s.bos(),
        }
    )


_ATTENTION = "h.*.self_attention."
BLOOM = Family(
    title="BLOOM",
    architectures=("BloomForCausalLM", "BloomModel"),
    config=_bloom,
    rows={
        "embed": of("word_embeddings") + of("lm_head"),
        "unembed": of("lm_head"),
        "decoder.embed_norm": of("word_embeddings_layernorm"),
        "decoder.ln_final": of("ln_f"),
        "decoder.blocks.*.ln1": of("h.*.input_layernorm"),
        "decoder.blocks.*.ln2": of("h.*.post_attention_layernorm"),
        "decoder.blocks.*.attn.qkv": of(f"{_ATTENTION}query_key_value", by_head=True),
        "decoder.blocks.*.attn.out": of(f"{_ATTENTION}dense"),
        "decoder.blocks.*.mlp.up": of("h.*.mlp.dense_h_to_4h"),
        "decoder.blocks.*.mlp.down": of("h.*.mlp.dense_4h_to_h"),
    },
    head="lm_head.weight",
    prefix="transformer.",
    defaults={
        "vocab_size": 250_880,
        "hidden_size": 64,
        "n_layer": 2,
        "n_head": 8,
        "seq_length": 2048,  # of the trained texts; nothing in the model ends there
        "layer_norm_epsilon": 1e-5,
        "bos_token_id": 1,
        "tie_word_embeddings": True,
    },
    aliases={"num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "n_embed": "hidden_size"},
)
MPT = Family(
    title="MPT",
    architectures=("MptForCausalLM", "MptModel"),
    config=_mpt,
    rows={
        "embed": of("wte") + of("lm_head"),
        "unembed": of("lm_head"),
        "decoder.ln_final": of("norm_f"),
        "decoder.blocks.*.ln1": of("blocks.*.norm_1"),
        "decoder.blocks.*.ln2": of("blocks.*.norm_2"),
        "decoder.blocks.*.attn.qkv": of("blocks.*.attn.Wqkv"),
        "decoder.blocks.*.attn.out": of("blocks.*.attn.out_proj"),
        "decoder.blocks.*.mlp.up": of("blocks.*.ffn.up_proj"),
        "decoder.blocks.*.mlp.down": of("blocks.*.ffn.down_proj"),
    },
    head="lm_head.weight",
    prefix="transformer.",
    defaults={
        "vocab_size": 50_368,
        "d_model": 2048,
        "n_layers": 24,
        "n_heads": 16,
        "max_seq_len": 2048,
        "layer_norm_epsilon": 1e-5,
        "tie_word_embeddings": True,
    },
    aliases={"num_attention_heads": "n_heads", "hidden_size": "d_model", "num_hidden_layers": "n_layers"},
)
