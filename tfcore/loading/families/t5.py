"""T5, 1.0 and 1.1, mT5, and umT5, each layer of which has its own biases of relative positions; and their encoders
alone."""

from dataclasses import replace
from typing import Any

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors, known_activation
from tfcore.loading.families.mapping import Family, WeightSource, of
from tfcore.part_configs import Activation, AttentionConfig, FeedForwardConfig, NormConfig, PositionsConfig

_TABLES = ("shared", "encoder.embed_tokens", "decoder.embed_tokens")  # one table, which files call by any of them
_ENCODERS = ("EncoderModel", "ForTokenClassification")  # what the names of classes without a decoder end with
LONGEST = 4096  # relative positions set no limit; ours is for memory's sake


def _t5(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return _config(s, tensors, scaled=_scaled(s))


def _mt5(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return _config(s, tensors, scaled=False)


def _umt5(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return _config(s, tensors, scaled=True, by_layer=True)  # as transformers does, whatever the settings say


def _config(s: ConfigValues, tensors: Tensors, scaled: bool, by_layer: bool = False) -> ModelConfig:
    """Settings of T5 and those built like it.

    Args:
        scaled: whether hidden states are scaled before the head.
        by_layer: whether each layer has its own biases of relative positions.
    """
    s.only("is_decoder", False)
    width = s.whole("d_model")
    return ModelConfig(
        **_stacks(s, tensors, width**-0.5 if scaled else 1.0),
        vocab_size=s.whole("vocab_size"),
        d_model=width,
        attention=AttentionConfig(n_heads=s.whole("num_heads"), d_head=s.whole("d_kv"), scale=1.0),
        feed_forward=FeedForwardConfig(d_ff=s.whole("d_ff"), activation=_activation(s)),
        max_seq_len=max(LONGEST, s.whole("n_positions", null=LONGEST)),
        positions=PositionsConfig(
            kind="relative",
            buckets=s.whole("relative_attention_num_buckets"),
            distance=s.whole("relative_attention_max_distance"),
            by_layer=by_layer,
        ),
        norm=NormConfig(eps=s.number("layer_norm_epsilon")),
        init="normal",
    )


def _stacks(s: ConfigValues, tensors: Tensors, logit_scale: float) -> dict[str, Any]:
    """The settings of both stacks and of the head, or of the encoder where it is alone."""
    n_layers = s.whole("num_layers")
    if s.is_named(*_ENCODERS):
        return {"architecture": "encoder", "n_layers": n_layers, "head": "none", "tie_embeddings": True}
    head, tied = _head(s, tensors)
    return {
        "architecture": "encoder-decoder",
        "n_layers": s.whole("num_decoder_layers", null=n_layers),
        "n_encoder_layers": n_layers,
        "head": "lm" if head else "none",
        "tie_embeddings": tied,
        "logit_scale": logit_scale if head else 1.0,
        "start_id": s.whole("decoder_start_token_id", null=s.whole("pad_token_id", low=0), low=0),
    }


def _head(s: ConfigValues, tensors: Tensors) -> tuple[bool, bool]:
    """Whether there is a language head, and whether it is the embedding table.

    `transformers` takes every T5 for tied unless the weights are there and say otherwise, whatever the settings say.
    """
    if (own := "lm_head.weight") in tensors:
        table = next((name for name in _TABLES if f"{name}.weight" in tensors), None)
        return True, table is None or tensors.same(f"{table}.weight", own)
    return not s.is_base(), True


def _scaled(s: ConfigValues) -> bool:
    """Whether hidden states are scaled before the head: in 1.0, whose files call the head tied or say nothing."""
    if s.get("scale_decoder_outputs") is not None:
        return s.flag("scale_decoder_outputs")
    return s.flag("tie_word_embeddings")


def _activation(s: ConfigValues) -> Activation:
    """From names such as "relu" and "gated-gelu"; files may also say outright what they mean."""
    name = s.get("feed_forward_proj")
    gated, inner = False, name
    if isinstance(name, str) and name.startswith("gated-"):
        gated, inner = True, "gelu_new" if name == "gated-gelu" else name.removeprefix("gated-")
    if s.get("is_gated_act") is not None:
        gated = s.flag("is_gated_act")
    if (outright := s.get("dense_act_fn")) is not None:
        return known_activation("dense_act_fn", outright, gated)
    return known_activation("feed_forward_proj", inner, gated, shown=name)


def _stack(ours: str, theirs: str, feed_forward: int) -> dict[str, tuple[WeightSource, ...]]:
    layer = f"{theirs}.block.*.layer."
    attention, dense = f"{layer}0.SelfAttention.", f"{layer}{feed_forward}.DenseReluDense."
    return {
        f"{ours}.relative_bias": of(f"{theirs}.block.0.layer.0.SelfAttention.relative_attention_bias"),
        f"{ours}.ln_final": of(f"{theirs}.final_layer_norm"),
        f"{ours}.blocks.*.ln1": of(f"{layer}0.layer_norm"),
        f"{ours}.blocks.*.attn.qkv": of(f"{attention}q", f"{attention}k", f"{attention}v"),
        f"{ours}.blocks.*.attn.out": of(f"{attention}o"),
        f"{ours}.blocks.*.ln2": of(f"{layer}{feed_forward}.layer_norm"),
        f"{ours}.blocks.*.mlp.up": of(f"{dense}wi") + of(f"{dense}wi_0", f"{dense}wi_1"),
        f"{ours}.blocks.*.mlp.down": of(f"{dense}wo"),
    }


_ACROSS = "decoder.block.*.layer.1.EncDecAttention."
T5 = Family(
    title="T5",
    architectures=("T5ForConditionalGeneration", "T5WithLMHeadModel", "T5Model", "T5EncoderModel"),
    config=_t5,
    rows={
        "embed": sum((of(name) for name in (*_TABLES, "lm_head")), ()),
        "unembed": of("lm_head"),
        **_stack("encoder", "encoder", 1),
        **_stack("decoder", "decoder", 2),
        "decoder.blocks.*.ln_cross": of("decoder.block.*.layer.1.layer_norm"),
        "decoder.blocks.*.cross_attn.q": of(f"{_ACROSS}q"),
        "decoder.blocks.*.cross_attn.kv": of(f"{_ACROSS}k", f"{_ACROSS}v"),
        "decoder.blocks.*.cross_attn.out": of(f"{_ACROSS}o"),
    },
    head="lm_head.weight",
    prefix="transformer.",  # the trunk below a head for classes
    ignored=r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",  # of no use even there
    defaults={
        "vocab_size": 32_128,
        "d_model": 512,
        "d_kv": 64,
        "d_ff": 2048,
        "num_layers": 6,
        "num_heads": 8,
        "relative_attention_num_buckets": 32,
        "relative_attention_max_distance": 128,
        "layer_norm_epsilon": 1e-6,
        "feed_forward_proj": "relu",
        "tie_word_embeddings": True,
        "pad_token_id": 0,
        "eos_token_id": 1,
    },
    aliases={
        "hidden_size": "d_model",
        "num_attention_heads": "num_heads",
        "num_hidden_layers": "num_layers",
        "head_dim": "d_kv",
    },
)
MT5 = replace(
    T5,
    title="mT5",
    architectures=("MT5ForConditionalGeneration", "MT5Model", "MT5EncoderModel"),
    config=_mt5,
    defaults={
        **T5.defaults,
        "vocab_size": 250_112,
        "d_ff": 1024,
        "num_layers": 8,
        "num_heads": 6,
        "feed_forward_proj": "gated-gelu",
    },
)
_BIAS = "layer.0.SelfAttention.relative_attention_bias"
UMT5 = replace(
    MT5,
    title="umT5",
    architectures=("UMT5ForConditionalGeneration", "UMT5Model", "UMT5EncoderModel"),
    config=_umt5,
    rows={
        **{row: names for row, names in MT5.rows.items() if not row.endswith("relative_bias")},
        **{f"{stack}.relative_biases.*": of(f"{stack}.block.*.{_BIAS}") for stack in ("encoder", "decoder")},
    },
)
