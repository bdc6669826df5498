"""DeBERTa: BERT's table, with vectors of relative positions that queries and keys are multiplied with.

v3 is built like v2 (arXiv:2111.09543); it was trained as ELECTRA is, and its head is left out. The first one has no
scale of distances, no matrices that tokens and positions share, and no biases of keys.
"""

from dataclasses import replace
from typing import cast

from tfcore.config import ModelConfig
from tfcore.loading.families.bert import BERT, bert_config
from tfcore.loading.families.config_values import ConfigValues, Tensors, short
from tfcore.loading.families.mapping import of
from tfcore.part_configs import ClassActivation, InputConvolutionConfig, PositionsConfig, Products

_PRODUCTS = ("c2p", "p2c")
_HEAD = "lm_predictions.lm_head"  # for masked words; files of transformers have another ("legacy"), as BERT's


def _first(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("talking_head", False)
    s.only("position_buckets", -1)
    s.only("share_att_key", False)
    s.only("norm_rel_ebd", "none")
    s.only("conv_kernel_size", 0)
    return _deberta(s, tensors)


def _deberta(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    width, n_heads = s.whole("hidden_size"), s.whole("num_attention_heads")
    s.only("embedding_size", width)
    s.only("pooler_hidden_size", width)
    s.only("attention_head_size", width // n_heads)
    legacy = s.flag("legacy") and f"{_HEAD}.dense.weight" not in tensors
    dense = "cls.predictions.transform.dense.weight" if legacy else f"{_HEAD}.dense.weight"
    config = bert_config(s, tensors, dense, DEBERTA_V2.head)
    products = _products(s)
    return config.changed(
        positions=_positions(s, products),
        # of products that are asked for, whether they are made or not, as in its code
        attn_scale=(width // n_heads * (1 + len(products))) ** -0.5 if products else None,
        tie_embeddings=config.tie_embeddings or not legacy,  # that head reads the table, whatever the settings say
        input_convolution=_convolution(s),
    )


def _convolution(s: ConfigValues) -> InputConvolutionConfig | None:
    """The convolution beside the first layer (v2-xlarge, v2-xxlarge)."""
    if not s.whole("conv_kernel_size", low=0):
        return None
    s.only("conv_groups", 1)
    own = "tanh" if s.get("conv_act") == "tanh" else s.activation("conv_act")
    return InputConvolutionConfig(width=s.whole("conv_kernel_size"), activation=cast("ClassActivation", own))


def _products(s: ConfigValues) -> tuple[str, ...]:
    """What is added to the scores."""
    value = s.get("pos_att_type")
    given = value.lower().split("|") if isinstance(value, str) else value or []
    names = [str(name).strip() for name in given] if isinstance(given, list) else ["?"]
    if wrong := [name for name in names if name and name not in _PRODUCTS]:
        raise ValueError(f"pos_att_type has {short(wrong[0])}, which is not supported; supported: 'c2p', 'p2c'")
    return tuple(name for name in _PRODUCTS if name in names)


def _positions(s: ConfigValues, products: tuple[str, ...]) -> PositionsConfig:
    length = s.whole("max_position_embeddings")
    absolute = s.flag("position_biased_input")
    if not (s.flag("relative_attention") and products):
        return PositionsConfig(kind="learned" if absolute else "none")
    distance, span = (s.whole(name, low=-1) for name in ("max_relative_positions", "position_buckets"))
    distance = distance if distance > 0 else length
    linear = span <= 0
    norms = str(s.get("norm_rel_ebd")).lower().split("|")
    if wrong := {one.strip() for one in norms} - {"none", "layer_norm"}:
        raise ValueError(
            f"norm_rel_ebd has {short(min(wrong))}, which is not supported; supported: 'layer_norm', 'none'"
        )
    chosen: Products = "both" if len(products) > 1 else "c2p" if "c2p" in products else "p2c"
    return PositionsConfig(
        kind="disentangled",
        buckets=2 * (distance if linear else span),
        distance=distance,
        linear=linear,
        absolute=absolute,
        products=chosen,
        shared=s.flag("share_att_key"),
        normed="layer_norm" in {one.strip() for one in norms},
    )


_SELF = "encoder.layer.*.attention.self."
DEBERTA_V2 = replace(
    BERT,
    title="DeBERTa v2 and v3",
    architectures=("DebertaV2ForMaskedLM", "DebertaV2Model"),
    config=_deberta,
    rows={
        **{row: names for row, names in BERT.rows.items() if row != "pooler"},
        "encoder.relative_embed": of("encoder.rel_embeddings"),
        "encoder.relative_norm": of("encoder.LayerNorm"),
        "encoder.blocks.*.attn.qkv": of(*(f"{_SELF}{one}_proj" for one in ("query", "key", "value"))),
        "encoder.blocks.*.attn.place_q": of(f"{_SELF}pos_query_proj"),
        "encoder.blocks.*.attn.place_k": of(f"{_SELF}pos_key_proj"),
        "encoder.blocks.*.conv": of("encoder.conv.conv"),
        "encoder.blocks.*.ln_conv": of("encoder.conv.LayerNorm"),
        "mlm.dense": BERT.rows["mlm.dense"] + of(f"{_HEAD}.dense"),
        "mlm.ln": BERT.rows["mlm.ln"] + of(f"{_HEAD}.LayerNorm"),
        "mlm.bias": BERT.rows["mlm.bias"] + of(f"{_HEAD}.bias"),
    },
    prefix="deberta.",
    # places, and whether a token was replaced, which nothing here asks
    ignored=r"embeddings\.position_ids|mask_predictions\..*",
    # vectors that stand in files where the settings add or multiply none
    checked=r"embeddings\.position_embeddings\.weight|encoder\.(rel_embeddings\.weight|LayerNorm\.(weight|bias))",
    defaults={
        **BERT.defaults,
        "vocab_size": 128_100,
        "hidden_size": 1536,
        "num_hidden_layers": 24,
        "num_attention_heads": 24,
        "intermediate_size": 6144,
        "type_vocab_size": 0,
        "layer_norm_eps": 1e-7,
        "relative_attention": False,
        "max_relative_positions": -1,
        "position_buckets": -1,
        "position_biased_input": True,
        "share_att_key": False,
        "norm_rel_ebd": "none",
        "legacy": True,
        "pooler_hidden_act": "gelu",
        "conv_kernel_size": 0,
        "conv_act": "tanh",
        "conv_groups": 1,
    },
)
DEBERTA = replace(
    DEBERTA_V2,
    title="DeBERTa",
    architectures=("DebertaForMaskedLM", "DebertaModel"),
    config=_first,
    rows={
        **DEBERTA_V2.rows,
        "encoder.blocks.*.attn.qkv": of(f"{_SELF}in_proj", by_head=True),
        "encoder.blocks.*.attn.qkv.bias": of(f"{_SELF}q_bias", "", f"{_SELF}v_bias"),
        "encoder.blocks.*.attn.place_q": of(f"{_SELF}pos_q_proj"),
        "encoder.blocks.*.attn.place_k": of(f"{_SELF}pos_proj"),
        "encoder.blocks.*.attn.place_k.bias": of(""),
    },
    defaults={
        **DEBERTA_V2.defaults,
        "vocab_size": 50_265,
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
    },
)
