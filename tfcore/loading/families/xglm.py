"""XGLM (arXiv:2112.10668): a decoder with LayerNorm before each sublayer, and M2M100's sines and cosines."""

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.mapping import Family, of
from tfcore.loading.families.marian import sines_from

_FIRST = 2  # the number of the first place, whatever the id of the padding token is
_LAYER = "layers.*."


def _xglm(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("add_cross_attention", False)
    s.only("pad_token_id", *range(_FIRST))  # the place of this number gets no sines
    head, tied = s.head(tensors, "embed_tokens.weight", "lm_head.weight")
    width = s.whole("d_model", low=4)
    return ModelConfig.from_dict(
        {
            "vocab_size": s.whole("vocab_size"),
            "d_model": width,
            "n_layers": s.whole("num_layers"),
            "n_heads": s.whole("attention_heads"),
            "d_ff": s.whole("ffn_dim"),
            "activation": s.activation("activation_function"),
            "max_seq_len": s.whole("max_position_embeddings"),
            "positions": sines_from(_FIRST, width),
            "norm": "layernorm",
            "bias": True,
            "embed_scale": width**0.5 if s.flag("scale_embedding") else 1.0,
            "head": head,
            "tie_embeddings": tied,
            "bos_id": s.bos(),
            "init": "normal",
        }
    )


XGLM = Family(
    title="XGLM",
    architectures=("XGLMForCausalLM", "XGLMModel"),
    config=_xglm,
    rows={
        "embed": of("embed_tokens") + of("lm_head"),
        "unembed": of("lm_head"),
        "decoder.ln_final": of("layer_norm"),
        "decoder.blocks.*.attn.qkv": of(*(f"{_LAYER}self_attn.{one}_proj" for one in "qkv")),
        "decoder.blocks.*.attn.out": of(f"{_LAYER}self_attn.out_proj"),
        "decoder.blocks.*.ln1": of(f"{_LAYER}self_attn_layer_norm"),
        "decoder.blocks.*.mlp.up": of(f"{_LAYER}fc1"),
        "decoder.blocks.*.mlp.down": of(f"{_LAYER}fc2"),
        "decoder.blocks.*.ln2": of(f"{_LAYER}final_layer_norm"),
    },
    head="lm_head.weight",
    prefix="model.",
    ignored=r"embed_positions\.weights",  # made anew by transformers, which stored them once
    defaults={
        "vocab_size": 256_008,
        "max_position_embeddings": 2048,
        "d_model": 1024,
        "ffn_dim": 4096,
        "num_layers": 24,
        "attention_heads": 16,
        "activation_function": "gelu",
        "scale_embedding": True,
        "bos_token_id": 0,
        "tie_word_embeddings": True,
    },
    aliases={"hidden_size": "d_model", "num_attention_heads": "attention_heads", "num_hidden_layers": "num_layers"},
)
