"""What the pages must show of a text, computed here without them."""

from functools import cache

import numpy as np

import tfcore
from pages.ui import text
from tfcore.measures.heads.maps import attention_maps
from tfcore.measures.one_text import pieces_of


@cache
def model():
    return tfcore.load("stories")


def chips(pasted: str) -> list[str]:
    """The tokens of a text as they must stand on the chips, as many as the model reads."""
    network, tokenizer = model()
    return [
        text.visible(piece) for piece in pieces_of(tokenizer, tokenizer.encode(pasted)[-network.config.max_seq_len :])
    ]


def patterns(pasted: str) -> np.ndarray:
    """Attention of every head, (layer, head, query, key)."""
    network, tokenizer = model()
    return attention_maps(network, tokenizer.encode(pasted)[-network.config.max_seq_len :]).patterns
