"""BERT and DistilBERT: settings and weight names, with and without the head for masked words."""

from typing import Any

from tfcore.config import Head, ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.mapping import Family, of
from tfcore.part_configs import AttentionConfig, FeedForwardConfig, NormConfig, PositionsConfig

_BERT, _DISTIL = "encoder.layer.*.", "transformer.layer.*."
_SHARED: dict[str, Any] = {
    "architecture": "encoder",
    "positions": PositionsConfig(kind="learned"),
    "bias": True,
    "init": "normal",
}


def _norm(eps: float) -> NormConfig:
    return NormConfig(kind="layernorm", placement="post", eps=eps, of_embeddings=True)


def masked_head(s: ConfigValues, tensors: Tensors, dense: str, embedding: str, unembedding: str) -> tuple[Head, bool]:
    """The head for masked words, if it is there or must be, and whether its matrix is the embedding table."""
    tied = s.flag("tie_word_embeddings")
    if unembedding in tensors:
        return "mlm", tied and (embedding not in tensors or tensors.same(embedding, unembedding))
    names = s.get("architectures")
    promised = isinstance(names, list) and any("ForMaskedLM" in str(name) for name in names)
    return ("mlm" if promised or dense in tensors else "none"), tied


def _bert(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    dense, unembedding = "cls.predictions.transform.dense.weight", "cls.predictions.decoder.weight"
    return bert_config(s, tensors, dense, unembedding)


def bert_config(s: ConfigValues, tensors: Tensors, dense: str, unembedding: str) -> ModelConfig:
    """Settings of BERT and those built like it.

    Args:
        dense, unembedding: names of two matrices of the head for masked words.
    """
    s.only("position_embedding_type", "absolute")
    s.only("is_decoder", False)
    s.only("add_cross_attention", False)
    head, tied = masked_head(s, tensors, dense, "embeddings.word_embeddings.weight", unembedding)
    return ModelConfig(
        **_SHARED,
        vocab_size=s.whole("vocab_size"),
        d_model=s.whole("hidden_size"),
        n_layers=s.whole("num_hidden_layers"),
        attention=AttentionConfig(n_heads=s.whole("num_attention_heads")),
        feed_forward=FeedForwardConfig(d_ff=s.whole("intermediate_size"), activation=s.activation("hidden_act")),
        max_seq_len=s.whole("max_position_embeddings"),
        norm=_norm(s.number("layer_norm_eps")),
        n_segments=s.whole("type_vocab_size", low=0),
        pooler=any(name in tensors for name in ("pooler.dense.weight", "pooler.weight")),
        head=head,
        tie_embeddings=tied,
    )


def _distilbert(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    head, tied = masked_head(
        s, tensors, "vocab_transform.weight", "embeddings.word_embeddings.weight", "vocab_projector.weight"
    )
    return ModelConfig(
        **_SHARED,
        vocab_size=s.whole("vocab_size"),
        d_model=s.whole("dim"),
        n_layers=s.whole("n_layers"),
        attention=AttentionConfig(n_heads=s.whole("n_heads")),
        feed_forward=FeedForwardConfig(d_ff=s.whole("hidden_dim"), activation=s.activation("activation")),
        max_seq_len=s.whole("max_position_embeddings"),
        norm=_norm(1e-12),
        head=head,
        tie_embeddings=tied,
    )


_SELF = f"{_BERT}attention.self."
BERT = Family(
    title="BERT",
    architectures=("BertForMaskedLM", "BertForPreTraining", "BertModel"),
    config=_bert,
    rows={
        "embed": of("embeddings.word_embeddings") + of("cls.predictions.decoder"),
        "segment_embed": of("embeddings.token_type_embeddings"),
        "encoder.pos_embed": of("embeddings.position_embeddings"),
        "encoder.embed_norm": of("embeddings.LayerNorm"),
        "encoder.blocks.*.attn.qkv": of(f"{_SELF}query", f"{_SELF}key", f"{_SELF}value"),
        "encoder.blocks.*.attn.out": of(f"{_BERT}attention.output.dense"),
        "encoder.blocks.*.ln1": of(f"{_BERT}attention.output.LayerNorm"),
        "encoder.blocks.*.mlp.up": of(f"{_BERT}intermediate.dense"),
        "encoder.blocks.*.mlp.down": of(f"{_BERT}output.dense"),
        "encoder.blocks.*.ln2": of(f"{_BERT}output.LayerNorm"),
        "pooler": of("pooler.dense"),
        "mlm.dense": of("cls.predictions.transform.dense"),
        "mlm.ln": of("cls.predictions.transform.LayerNorm"),
        "mlm.bias": of("cls.predictions.decoder.bias") + of("cls.predictions.bias"),
        "unembed": of("cls.predictions.decoder"),
    },
    head="cls.predictions.decoder.weight",
    prefix="bert.",
    renamed={"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"},
    # places, and whether one sentence follows another, which nothing here asks
    ignored=r"embeddings\.(position|token_type)_ids|cls\.seq_relationship\.(weight|bias)",
    defaults={
        "vocab_size": 30_522,
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "hidden_act": "gelu",
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12,
        "tie_word_embeddings": True,
    },
)
_SELF = f"{_DISTIL}attention."
DISTILBERT = Family(
    title="DistilBERT",
    architectures=("DistilBertForMaskedLM", "DistilBertModel"),
    config=_distilbert,
    rows={
        "embed": of("embeddings.word_embeddings") + of("vocab_projector"),
        "encoder.pos_embed": of("embeddings.position_embeddings"),
        "encoder.embed_norm": of("embeddings.LayerNorm"),
        "encoder.blocks.*.attn.qkv": of(f"{_SELF}q_lin", f"{_SELF}k_lin", f"{_SELF}v_lin"),
        "encoder.blocks.*.attn.out": of(f"{_SELF}out_lin"),
        "encoder.blocks.*.ln1": of(f"{_DISTIL}sa_layer_norm"),
        "encoder.blocks.*.mlp.up": of(f"{_DISTIL}ffn.lin1"),
        "encoder.blocks.*.mlp.down": of(f"{_DISTIL}ffn.lin2"),
        "encoder.blocks.*.ln2": of(f"{_DISTIL}output_layer_norm"),
        "mlm.dense": of("vocab_transform"),
        "mlm.ln": of("vocab_layer_norm"),
        "mlm.bias": of("vocab_projector.bias"),
        "unembed": of("vocab_projector"),
    },
    head="vocab_projector.weight",
    prefix="distilbert.",
    renamed=BERT.renamed,
    ignored=r"embeddings\.position_ids",
    defaults={
        "vocab_size": 30_522,
        "max_position_embeddings": 512,
        "n_layers": 6,
        "n_heads": 12,
        "dim": 768,
        "hidden_dim": 3072,
        "activation": "gelu",
        "tie_word_embeddings": True,
    },
    aliases={"hidden_size": "dim", "num_attention_heads": "n_heads", "num_hidden_layers": "n_layers"},
)
