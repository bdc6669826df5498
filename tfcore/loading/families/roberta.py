"""RoBERTa, XLM-RoBERTa and CamemBERT: BERT's table; places are counted from behind the padding token's id. So it is in
MPNet, whose scores have biases of relative positions besides."""

from dataclasses import replace

from tfcore.config import ModelConfig
from tfcore.loading.families.bert import BERT, bert_config
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.mapping import Family, of
from tfcore.part_configs import PositionsConfig

_BUCKETS = 32
_PAD = 1  # id of the padding token in all checkpoints, whose places begin with the next number


def _roberta(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("pad_token_id", _PAD)
    config = bert_config(s, tensors, dense="lm_head.dense.weight", unembedding=ROBERTA.head)
    length = s.whole("max_position_embeddings", low=_PAD + 2) - _PAD - 1
    return config.changed(max_seq_len=length, bos_id=s.bos(), mlm_activation="gelu")  # its head's, in any case


def _mpnet(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("relative_attention_num_buckets", _BUCKETS)  # its code takes so many, whatever the table has
    positions = PositionsConfig(kind="relative", absolute=True, buckets=_BUCKETS, distance=128)
    return _roberta(s, tensors).changed(positions=positions, n_segments=0)


ROBERTA: Family = replace(
    BERT,
    title="RoBERTa",
    architectures=("RobertaForMaskedLM", "RobertaModel"),
    config=_roberta,
    rows={
        **BERT.rows,
        "embed": of("embeddings.word_embeddings") + of("lm_head.decoder"),
        "encoder.pos_embed": of("embeddings.position_embeddings", skipped=_PAD + 1),
        "mlm.dense": of("lm_head.dense"),
        "mlm.ln": of("lm_head.layer_norm"),
        "mlm.bias": of("lm_head.decoder.bias") + of("lm_head.bias"),
        "unembed": of("lm_head.decoder"),
    },
    head="lm_head.decoder.weight",
    prefix="roberta.",
    ignored=r"embeddings\.(position|token_type)_ids",
    defaults={**BERT.defaults, "vocab_size": 50_265, "bos_token_id": 0, "pad_token_id": _PAD},
)
_DEFAULTS = {**ROBERTA.defaults, "vocab_size": 30_522}
XLM_ROBERTA = replace(
    ROBERTA, title="XLM-RoBERTa", architectures=("XLMRobertaForMaskedLM", "XLMRobertaModel"), defaults=_DEFAULTS
)
CAMEMBERT = replace(
    ROBERTA, title="CamemBERT", architectures=("CamembertForMaskedLM", "CamembertModel"), defaults=_DEFAULTS
)
_SELF = "encoder.layer.*.attention.attn."
MPNET = replace(
    ROBERTA,
    title="MPNet",
    architectures=("MPNetForMaskedLM", "MPNetModel"),
    config=_mpnet,
    rows={
        **{row: names for row, names in ROBERTA.rows.items() if row != "segment_embed"},
        "encoder.relative_bias": of("encoder.relative_attention_bias"),
        "encoder.blocks.*.attn.qkv": of(f"{_SELF}q", f"{_SELF}k", f"{_SELF}v"),
        "encoder.blocks.*.attn.out": of(f"{_SELF}o"),
        "encoder.blocks.*.ln1": of("encoder.layer.*.attention.LayerNorm"),
    },
    prefix="mpnet.",
    defaults={**_DEFAULTS, "vocab_size": 30_527, "relative_attention_num_buckets": _BUCKETS},
)
