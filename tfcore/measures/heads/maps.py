"""The attention maps of all heads of a text."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.inspection.capture import layer_of
from tfcore.measures.heads.kinds import HeadScores, score_cross, score_heads
from tfcore.measures.heads.part_texts import Part, parts
from tfcore.measures.one_text import one_text
from tfcore.model import Transformer

NAMES: dict[Part, str] = {
    "encoder": "encoder.blocks.{}.attn.pattern",
    "decoder": "decoder.blocks.{}.attn.pattern",
    "cross": "decoder.blocks.{}.cross_attn.pattern",
}


@dataclass(frozen=True, slots=True)
class AttentionMaps:
    """All attention patterns of one part of a model on one text, and what each head does there.

    Args:
        ids: the token ids looked at (keys).
        patterns: attention weights; each row sums to 1, or to less where heads have learned sinks; 0 in layers of a
            hybrid that have no attention.
        heads: the scores of every head on this text.
    """

    ids: Int[ndarray, " key"]
    patterns: Float[ndarray, "layer head query key"]
    heads: HeadScores


def in_every_layer(
    config: ModelConfig, n_layers: int, kept: dict[str, Float[Tensor, "1 head query key"]], tokens: int
) -> Float[ndarray, "layer head query key"]:
    """The patterns of all layers of a stack as one array; 0 in layers of a hybrid that have no attention.

    Args:
        kept: name -> pattern of each layer with attention; emptied, as together they may be hundreds of megabytes.
        tokens: of the text, where no layer has any.
    """
    shape = next((value.shape[1:] for value in kept.values()), (config.attention.n_heads, tokens, tokens))
    patterns = np.zeros((n_layers, *shape), dtype=np.float32)
    for name in list(kept):
        (patterns[layer_of(name)],) = kept.pop(name).float().cpu().numpy()
    return patterns


@torch.no_grad()
def attention_maps(
    model: Transformer, ids: Sequence[int], *, part: Part | None = None, decoder_ids: Sequence[int] | None = None
) -> AttentionMaps:
    """Run the model once over ids and keep every attention pattern of a part.

    Args:
        part: one of parts(model.config); None means the first.
        decoder_ids: what an encoder-decoder's decoder reads.

    Raises:
        ValueError: no ids, or more than the model's context; decoder_ids that are missing, or that nobody reads.
    """
    part = part or parts(model.config)[0]
    config, written = model.config, None if decoder_ids is None else one_text(model, decoder_ids)
    n_layers = config.encoder_layers if part == "encoder" else config.decoder_layers
    there = [i for i in range(n_layers) if part == "cross" or config.attends(i)]
    names = [NAMES[part].format(i) for i in there]
    if config.architecture == "encoder-decoder" or decoder_ids is not None:
        kept = model(one_text(model, ids), decoder_ids=written, capture=names).activations
    else:
        kept = model.activations(one_text(model, ids), names)
    patterns = in_every_layer(config, n_layers, kept, len(ids))
    read, own = np.asarray(ids), np.asarray(ids if decoder_ids is None else decoder_ids)
    if part == "cross":
        return AttentionMaps(read, patterns, score_cross(patterns))
    text = own if part == "decoder" else read
    return AttentionMaps(text, patterns, score_heads(patterns, text))
