"""The attention maps of all heads of a text."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray

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
        patterns: attention weights; each row sums to 1, or to less where heads have learned sinks.
        heads: the scores of every head on this text.
    """

    ids: Int[ndarray, " key"]
    patterns: Float[ndarray, "layer head query key"]
    heads: HeadScores


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
    n_layers = model.config.encoder_layers if part == "encoder" else model.config.decoder_layers
    names = [NAMES[part].format(i) for i in range(n_layers)]
    if model.config.architecture == "encoder-decoder" or decoder_ids is not None:
        written = None if decoder_ids is None else one_text(model, decoder_ids)
        kept = model(one_text(model, ids), decoder_ids=written, capture=names).activations
    else:
        kept = model.activations(one_text(model, ids), names)
    patterns = np.empty((n_layers, *kept[names[0]].shape[1:]), dtype=np.float32)
    for layer, name in enumerate(names):  # one after another: together they may be hundreds of megabytes
        (patterns[layer],) = kept.pop(name).float().cpu().numpy()
    read, own = np.asarray(ids), np.asarray(ids if decoder_ids is None else decoder_ids)
    if part == "cross":
        return AttentionMaps(read, patterns, score_cross(patterns))
    text = own if part == "decoder" else read
    return AttentionMaps(text, patterns, score_heads(patterns, text))
