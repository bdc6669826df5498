"""What pictures of exercises are drawn from: a text read by a model that ships."""

from functools import lru_cache

import torch
from torch import Tensor

from tfcore.loading.checkpoints import load
from tfcore.measures.one_text import one_text, pieces_of
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

TEXT = "The little dog lost the red ball. The little girl found the red"


@lru_cache(maxsize=4)
def shipped_model(name: str) -> tuple[Transformer, Tokenizer]:
    """A model that ships, and its tokenizer."""
    model, tokenizer = load(name, device="cpu")
    assert tokenizer is not None
    return model, tokenizer


def ids_of(name: str) -> list[int]:
    """The text as ids of a model."""
    return shipped_model(name)[1].encode(TEXT)


def pieces(name: str) -> list[str]:
    """The tokens of the text."""
    return pieces_of(shipped_model(name)[1], ids_of(name))


def tokens_of(name: str) -> list[str]:
    """The tokens of the text, safe for plotly."""
    return tick_labels(pieces(name))


@torch.no_grad()
def recorded(name: str, activation: str) -> Tensor:
    """An activation of a model on the text, its batch first."""
    model = shipped_model(name)[0]
    return model.activations(one_text(model, ids_of(name)), [activation])[activation]
