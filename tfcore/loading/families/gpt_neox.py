"""GPT-NeoX and Pythia (arXiv:2204.06745): attention and feed-forward layer in parallel, part of each head rotated."""

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.mapping import Family, of

_LAYER = "layers.*."


def _config(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    head, tied = s.head(tensors, "embed_in.weight", "embed_out.weight")
    width, n_heads = s.whole("hidden_size"), s.whole("num_attention_heads")
    parallel, biased = s.flag("use_parallel_residual"), s.flag("attention_bias")
    return ModelConfig.from_dict(
        {
            "vocab_size": s.whole("vocab_size"),
            "d_model": width,
            "n_layers": s.whole("num_hidden_layers"),
            "n_heads": n_heads,
            "d_ff": s.whole("intermediate_size"),
            "max_seq_len": s.whole("max_position_embeddings"),
            "positions": s.rope(width // n_heads, base="rotary_emb_base", share="rotary_pct"),
            "norm": "layernorm",
            "norm_eps": s.number("layer_norm_eps"),
            "activation": s.activation("hidden_act"),
            "parallel": parallel,
            "shared_norm": not parallel,
            "bias": True,
            "qkv_bias": biased,
            "out_bias": biased,
            "head": head,
            "tie_embeddings": tied,
            "bos_id": s.bos(),
            "init": "normal",
        }
    )


GPT_NEOX = Family(
    title="GPT-NeoX",
    architectures=("GPTNeoXForCausalLM", "GPTNeoXModel"),
    config=_config,
    rows={
        "embed": of("embed_in") + of("embed_out"),
        "unembed": of("embed_out"),
        "decoder.ln_final": of("final_layer_norm"),
        "decoder.blocks.*.ln1": of(f"{_LAYER}input_layernorm"),
        "decoder.blocks.*.ln2": of(f"{_LAYER}post_attention_layernorm"),
        "decoder.blocks.*.attn.qkv": of(f"{_LAYER}attention.query_key_value", by_head=True),
        "decoder.blocks.*.attn.out": of(f"{_LAYER}attention.dense"),
        "decoder.blocks.*.mlp.up": of(f"{_LAYER}mlp.dense_h_to_4h"),
        "decoder.blocks.*.mlp.down": of(f"{_LAYER}mlp.dense_4h_to_h"),
    },
    head="embed_out.weight",
    prefix="gpt_neox.",
    renamed={"lm_head": "embed_out"},  # as newer programs call it
    ignored=r"layers\.\d+\.attention\.(masked_bias|bias|rotary_emb\.inv_freq)",  # follow from the settings
    defaults={
        "vocab_size": 50_432,
        "hidden_size": 6144,
        "intermediate_size": 24_576,
        "num_hidden_layers": 44,
        "num_attention_heads": 64,
        "hidden_act": "gelu",
        "max_position_embeddings": 2048,
        "layer_norm_eps": 1e-5,
        "tie_word_embeddings": False,
        "rotary_emb_base": 10_000.0,
        "rotary_pct": 0.25,
        "bos_token_id": 0,
        "use_parallel_residual": True,
        "attention_bias": True,
    },
)
