"""NomicBERT (arXiv:2402.01613): BERT with rotations in place of vectors of places, and gates in place of biases."""

from dataclasses import replace

from tfcore.config import ModelConfig
from tfcore.loading.families.bert import BERT, masked_head
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.mapping import of

_LAYER = "layers.*."
_ATTENTION, _TRANSFORM = f"{_LAYER}self_attn.", "cls.predictions.transform."


def _config(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    width, n_heads = s.whole("hidden_size"), s.whole("num_attention_heads")
    d_head = s.whole("head_dim", null=width // n_heads)
    head, tied = masked_head(s, tensors, f"{_TRANSFORM}dense.weight", "embeddings.word_embeddings.weight", BERT.head)
    return ModelConfig.from_dict(
        {
            "architecture": "encoder",
            "vocab_size": s.whole("vocab_size"),
            "d_model": width,
            "n_layers": s.whole("num_hidden_layers"),
            "n_heads": n_heads,
            "d_head": d_head,
            "d_ff": s.whole("intermediate_size"),
            "activation": s.activation("hidden_act", gated=True),
            "mlm_activation": s.activation("hidden_act"),
            "max_seq_len": s.whole("max_position_embeddings"),
            "positions": s.rope(d_head),
            "norm": "layernorm",
            "norm_placement": "post",
            "norm_eps": s.number("layer_norm_eps"),
            "norm_bias": True,
            "embed_norm": True,
            "n_segments": s.whole("type_vocab_size"),
            "pooler": "pooler.dense.weight" in tensors,
            "head": head,
            "tie_embeddings": tied,
            "bos_id": s.bos(),
            "init": "normal",
        }
    )


NOMIC_BERT = replace(
    BERT,
    title="NomicBERT",
    architectures=("NomicBertForMaskedLM", "NomicBertModel"),
    config=_config,
    rows={
        **{row: names for row, names in BERT.rows.items() if not row.startswith("encoder.")},
        "encoder.embed_norm": of("embeddings.LayerNorm"),
        "encoder.blocks.*.attn.qkv": of(f"{_LAYER}attn.Wqkv") + of(*(f"{_ATTENTION}{one}_proj" for one in "qkv")),
        "encoder.blocks.*.attn.out": of(f"{_ATTENTION}o_proj"),
        "encoder.blocks.*.ln1": of(f"{_LAYER}post_attention_layernorm"),
        "encoder.blocks.*.mlp.up": of(f"{_LAYER}mlp.gate_proj", f"{_LAYER}mlp.up_proj"),
        "encoder.blocks.*.mlp.down": of(f"{_LAYER}mlp.down_proj"),
        "encoder.blocks.*.ln2": of(f"{_LAYER}post_mlp_layernorm"),
        "mlm.ln": of(f"{_TRANSFORM}layer_norm"),
    },
    prefix="nomic_bert.",
    renamed={  # as its own program calls them
        "encoder.layers.": "layers.",
        "emb_ln.": "embeddings.LayerNorm.",
        ".attn.out_proj.": ".self_attn.o_proj.",
        ".fc11.": ".up_proj.",
        ".fc12.": ".gate_proj.",
        ".fc2.": ".down_proj.",
        ".norm1.": ".post_attention_layernorm.",
        ".norm2.": ".post_mlp_layernorm.",
    },
    defaults={
        **BERT.defaults,
        "vocab_size": 30_528,
        "hidden_act": "silu",
        "max_position_embeddings": 2048,
        "rope_theta": 1000.0,
    },
)
