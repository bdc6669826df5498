"""OPT (arXiv:2205.01068): GPT-2 with ReLU, whose smallest but one normalises after each sum."""

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.mapping import Family, of

_BEFORE = 2  # rows of the table of positions that no place has
_LAYER = "decoder.layers.*."


def _opt(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    head, tied = s.head(tensors, "decoder.embed_tokens.weight", "lm_head.weight")
    width, before = s.whole("hidden_size"), s.flag("do_layer_norm_before")
    s.only("word_embed_proj_dim", width)  # embeddings narrower than the stream, and projected
    s.only("layer_norm_elementwise_affine", True)
    if before:
        s.only("_remove_final_layer_norm", False)
    return ModelConfig.from_dict(
        {
            "vocab_size": s.whole("vocab_size"),
            "d_model": width,
            "n_layers": s.whole("num_hidden_layers"),
            "n_heads": s.whole("num_attention_heads"),
            "d_ff": s.whole("ffn_dim"),
            "activation": s.activation("activation_function"),
            "max_seq_len": s.whole("max_position_embeddings"),
            "positions": "learned",
            "norm": "layernorm",
            "norm_placement": "pre" if before else "post",
            "bias": s.flag("enable_bias"),
            "norm_bias": True,
            "head": head,
            "tie_embeddings": tied,
            "bos_id": s.bos(),
            "init": "normal",
        }
    )


OPT = Family(
    title="OPT",
    architectures=("OPTForCausalLM", "OPTModel"),
    config=_opt,
    rows={
        "embed": of("decoder.embed_tokens") + of("lm_head"),
        "unembed": of("lm_head"),
        "decoder.pos_embed": of("decoder.embed_positions", skipped=_BEFORE),
        "decoder.ln_final": of("decoder.final_layer_norm"),
        "decoder.blocks.*.attn.qkv": of(*(f"{_LAYER}self_attn.{one}_proj" for one in "qkv")),
        "decoder.blocks.*.attn.out": of(f"{_LAYER}self_attn.out_proj"),
        "decoder.blocks.*.ln1": of(f"{_LAYER}self_attn_layer_norm"),
        "decoder.blocks.*.mlp.up": of(f"{_LAYER}fc1"),
        "decoder.blocks.*.mlp.down": of(f"{_LAYER}fc2"),
        "decoder.blocks.*.ln2": of(f"{_LAYER}final_layer_norm"),
    },
    head="lm_head.weight",
    prefix="model.",
    ignored=r"decoder\.version",
    defaults={
        "vocab_size": 50_272,
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "ffn_dim": 3072,
        "max_position_embeddings": 2048,
        "do_layer_norm_before": True,
        "num_attention_heads": 12,
        "activation_function": "relu",
        "bos_token_id": 2,
        "enable_bias": True,
        "tie_word_embeddings": True,
    },
)
