"""Falcon (arXiv:2311.16867): attention and feed-forward layer in parallel, few keys and values for many queries.
Falcon-RW has ALiBi, each sublayer after the other, and keys and values for each query."""

from tfcore.config import ModelConfig
from tfcore.loading.families.alibi import BLOOM
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.mapping import Family, of
from tfcore.part_configs import PositionsConfig


def _config(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    head, tied = s.head(tensors, "word_embeddings.weight", "lm_head.weight")
    width, n_heads, grouped = s.whole("hidden_size"), s.whole("num_attention_heads"), s.flag("new_decoder_architecture")
    parallel = grouped or s.flag("parallel_attn")
    stated = s.whole("num_kv_heads", null=n_heads)
    norms = s.whole("num_ln_in_parallel_attn", null=2 if grouped else 1)
    s.only("num_ln_in_parallel_attn", *((1, 2) if grouped else (1,)))
    if grouped:
        s.only("parallel_attn", True)
    elif not s.flag("multi_query"):
        s.only("num_kv_heads", n_heads)
    return ModelConfig.from_dict(
        {
            "vocab_size": s.whole("vocab_size"),
            "d_model": width,
            "n_layers": s.whole("num_hidden_layers"),
            "n_heads": n_heads,
            "n_kv_heads": stated if grouped or not s.flag("multi_query") else 1,
            "d_ff": s.whole("ffn_hidden_size", null=4 * width),
            "activation": s.activation("activation"),
            "max_seq_len": s.whole("max_position_embeddings"),
            "positions": PositionsConfig(kind="alibi", by_key=True) if s.flag("alibi") else s.rope(width // n_heads),
            "norm": "layernorm",
            "norm_eps": s.number("layer_norm_epsilon"),
            "parallel": parallel,
            "shared_norm": norms == 1,
            "bias": s.flag("bias"),
            "norm_bias": True,
            "head": head,
            "tie_embeddings": tied,
            "bos_id": s.bos(),
            "init": "normal",
        }
    )


FALCON = Family(
    title="Falcon",
    architectures=("FalconForCausalLM", "FalconModel"),
    config=_config,
    rows={
        **{row: names for row, names in BLOOM.rows.items() if row != "decoder.embed_norm"},
        "decoder.blocks.*.ln1": of("h.*.input_layernorm") + of("h.*.ln_attn"),
        "decoder.blocks.*.ln2": of("h.*.post_attention_layernorm") + of("h.*.ln_mlp"),
    },
    head="lm_head.weight",
    prefix="transformer.",
    defaults={
        "vocab_size": 65_024,
        "hidden_size": 4544,
        "num_hidden_layers": 32,
        "num_attention_heads": 71,
        "layer_norm_epsilon": 1e-5,
        "alibi": False,
        "new_decoder_architecture": False,
        "multi_query": True,
        "parallel_attn": True,
        "bias": False,
        "max_position_embeddings": 2048,
        "rope_theta": 10_000.0,
        "bos_token_id": 11,
        "activation": "gelu",
        "tie_word_embeddings": True,
    },
    aliases={"n_embed": "hidden_size"},
)
