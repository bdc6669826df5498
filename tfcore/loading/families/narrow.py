"""BERTs whose embeddings may be narrower than the stream: ELECTRA (arXiv:2003.10555), and ALBERT (arXiv:1909.11942),
all of whose layers are one, which is copied."""

from dataclasses import replace

from tfcore.config import ModelConfig
from tfcore.loading.families.bert import BERT, bert_config
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.mapping import of


def _electra(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    """The generator has a head for masked words; the discriminator's, which asks of each token whether it was replaced,
    is left out."""
    config = bert_config(s, tensors, dense="generator_predictions.dense.weight", unembedding=ELECTRA.head)
    width, config = s.whole("embedding_size"), config.changed(mlm_activation="gelu")
    return config if width == config.d_model else config.changed(d_embed=width)


def _albert(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    for name in ("num_hidden_groups", "inner_group_num"):
        s.only(name, 1)
    config = bert_config(s, tensors, dense="predictions.dense.weight", unembedding=ALBERT.head)
    return config.changed(d_embed=s.whole("embedding_size"), bos_id=s.bos())


ELECTRA = replace(
    BERT,
    title="ELECTRA",
    architectures=("ElectraForMaskedLM", "ElectraForPreTraining", "ElectraModel"),
    config=_electra,
    rows={
        **{row: names for row, names in BERT.rows.items() if row != "pooler"},
        "embed": of("embeddings.word_embeddings") + of("generator_lm_head"),
        "encoder.embed_project": of("embeddings_project"),
        "mlm.dense": of("generator_predictions.dense"),
        "mlm.ln": of("generator_predictions.LayerNorm"),
        "mlm.bias": of("generator_lm_head.bias"),
        "unembed": of("generator_lm_head"),
    },
    head="generator_lm_head.weight",
    prefix="electra.",
    # places, and whether a token was replaced, which nothing here asks
    ignored=r"embeddings\.(position|token_type)_ids|discriminator_predictions\..*",
    defaults={
        **BERT.defaults,
        "embedding_size": 128,
        "hidden_size": 256,
        "num_attention_heads": 4,
        "intermediate_size": 1024,
    },
)
_LAYER = "encoder.albert_layer_groups.0.albert_layers.0."
ALBERT = replace(
    BERT,
    title="ALBERT",
    architectures=("AlbertForMaskedLM", "AlbertForPreTraining", "AlbertModel"),
    config=_albert,
    rows={
        **BERT.rows,
        "embed": of("embeddings.word_embeddings") + of("predictions.decoder"),
        "encoder.embed_project": of("encoder.embedding_hidden_mapping_in"),
        "encoder.blocks.*.attn.qkv": of(*(f"{_LAYER}attention.{one}" for one in ("query", "key", "value"))),
        "encoder.blocks.*.attn.out": of(f"{_LAYER}attention.dense"),
        "encoder.blocks.*.ln1": of(f"{_LAYER}attention.LayerNorm"),
        "encoder.blocks.*.mlp.up": of(f"{_LAYER}ffn"),
        "encoder.blocks.*.mlp.down": of(f"{_LAYER}ffn_output"),
        "encoder.blocks.*.ln2": of(f"{_LAYER}full_layer_layer_norm"),
        "pooler": of("pooler"),
        "mlm.dense": of("predictions.dense"),
        "mlm.ln": of("predictions.LayerNorm"),
        "mlm.bias": of("predictions.decoder.bias") + of("predictions.bias"),
        "unembed": of("predictions.decoder"),
    },
    head="predictions.decoder.weight",
    prefix="albert.",
    # places, and whether sentences are in order, which nothing here asks
    ignored=r"embeddings\.(position|token_type)_ids|sop_classifier\..*",
    defaults={
        **BERT.defaults,
        "vocab_size": 30_000,
        "embedding_size": 128,
        "hidden_size": 4096,
        "num_attention_heads": 64,
        "intermediate_size": 16_384,
        "hidden_act": "gelu_new",
        "num_hidden_groups": 1,
        "inner_group_num": 1,
        "bos_token_id": 2,
    },
)
