"""The code that each stage of a walk runs."""

from collections.abc import Callable
from typing import Any, TypeAlias

from tfcore import masks, minimal, positions
from tfcore.attention import (
    Attention,
    EachNorm,
    WholeNorm,
    attention_scores,
    attention_weights,
    clipped,
    softcapped,
    weighted_values,
)
from tfcore.block import Block
from tfcore.config import ModelConfig
from tfcore.disentangled_attention import disentangled_scores
from tfcore.experts import Experts, mix
from tfcore.feedforward import FeedForward
from tfcore.input_convolution import InputConvolution
from tfcore.model import MaskedHead, Transformer
from tfcore.norms import layer_norm, rms_norm
from tfcore.part_configs import QKNorm
from tfcore.stack import Stack
from tfcore.views.start.walkthrough.measure.walk import Walk, walk

Code: TypeAlias = Callable[..., Any] | type
# The same stages in the decoder of one file, where a model is of its kind.
IN_ONE_FILE: dict[str, tuple[Code, ...]] = {
    **dict.fromkeys(("embedding", "logits"), (minimal.Decoder,)),
    **dict.fromkeys(("norm-1", "norm-2", "final-norm"), (minimal.RMSNorm,)),
    **dict.fromkeys(("add-1", "add-2"), (minimal.Block,)),
    **dict.fromkeys(("qkv", "heads", "scores", "scaled", "mask", "softmax", "values"), (minimal.Attention,)),
    **dict.fromkeys(("concat", "output"), (minimal.Attention,)),
    "rotation": (minimal.rotate,),
    **dict.fromkeys(("up", "activation", "down"), (minimal.FeedForward,)),
}


def functions(walked: Walk, stage: str, tokenizer: Any) -> tuple[Code, ...]:
    """The functions and classes that a stage runs."""
    config, encoder = walked.config, type(tokenizer)
    attention = _attention(config, walked.layer)
    norm = rms_norm if config.norm.kind == "rmsnorm" else layer_norm
    others: dict[str, tuple[Code, ...]] = {
        **dict.fromkeys(("characters", "tokens"), (encoder.encode,)),
        "ids": (encoder.tokens, encoder.token_bytes),
        **dict.fromkeys(("embedding", "scaling", "segments"), (Transformer.embedded,)),
        "positions": (
            Stack._with_positions,
            *([positions.sinusoidal] if config.positions.kind == "sinusoidal" else []),
        ),
        "embedding-norm": (norm, Stack._with_positions),
        "embedding-projection": (Stack._with_positions,),
        **dict.fromkeys(("norm-1", "norm-2", "norm-3"), (norm, Block.forward)),
        **dict.fromkeys(("norm-1-after", "norm-2-after"), (norm, Block.forward)),
        **dict.fromkeys(("add-1", "add-2", "add-3"), (Block.forward,)),
        **dict.fromkeys(("up", "activation", "down"), (FeedForward.forward,)),
        "convolution": (InputConvolution,),
        "router": (Experts,),
        "experts": (mix,),
        "final-norm": (norm,),
        "mlm-head": (MaskedHead,),
        "logits": (Transformer.to_logits,),
        **dict.fromkeys(("probabilities", "top-5"), (walk,)),
    }
    shown = (attention | others)[stage]
    return shown if minimal.differences(config) else (*IN_ONE_FILE.get(stage, ()), *shown)


_BIASES: dict[str, tuple[Code, ...]] = {  # that positions add to the scores
    "alibi": (positions.alibi_bias, positions.alibi_bias_by_key),
    "relative": (positions.relative_bucket,),
    "disentangled": (disentangled_scores, positions.disentangled_bucket),
}


_QK_NORMS: dict[QKNorm | None, tuple[Code, ...]] = {
    "head": (rms_norm,),
    "each": (EachNorm,),
    "width": (rms_norm, WholeNorm),
}


def _attention(config: ModelConfig, layer: int) -> dict[str, tuple[Code, ...]]:
    mask = masks.causal if config.window_of(layer) is None else masks.sliding_window
    return {
        "qkv": (Attention._within,),
        "output": (Attention.forward,),
        "clip": (clipped,),
        "heads": (Attention.heads,),
        "concat": (Attention.forward,),
        "qk-norm": _QK_NORMS.get(config.attention.qk_norm, ()),
        "rotation": (positions.apply_rope, positions.rope_angles),
        **dict.fromkeys(("scores", "scaled"), (attention_scores,)),
        "softcap": (softcapped,),
        "bias": _BIASES.get(config.positions.kind, ()),
        "mask": (attention_weights, mask),
        "softmax": (attention_weights,),
        "values": (weighted_values,),
    }
