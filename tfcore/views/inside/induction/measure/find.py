"""A model on tokens that repeat, with heads ablated."""

from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.measures.heads.induction_heads import (
    Copying,
    Place,
    ablate_each_head,
    copying,
    head_kinds,
    random_rows,
    rows_for,
    twice,
)
from tfcore.measures.one_text import last_tokens, one_text
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.kept import kept

Kind = Literal["random", "twice", "once"]
TOKENS = 128  # of a text


@dataclass(frozen=True, slots=True)
class CopyTask:
    """Tokens in which a model may copy.

    Args:
        kind: "random": random tokens, repeated (arXiv:2209.11895); "twice": the last tokens of a text, repeated;
            "once": a text as it is.
        length: tokens of one copy; 0 of a text as it is.
        text: that is read, unless tokens are random.
        seed: of random tokens.
    """

    kind: Kind
    length: int = 0
    text: str = ""
    seed: int = 0


def rows_of(model: Transformer, tokenizer: Tokenizer, task: CopyTask, rows: int) -> Int[Tensor, "rows seq"]:
    """The tokens: so many rows of random ones, or one of a text."""
    if task.kind == "random":
        return twice(random_rows(model.config.vocab_size, task.length, rows, task.seed))
    ids = one_text(model, last_tokens(model, tokenizer, task.text, task.length or TOKENS).ids)
    return twice(ids) if task.length else ids


def _copying(model: Transformer, tokenizer: Tokenizer, task: CopyTask, off: tuple[Place, ...]) -> Copying:
    return copying(model, rows_of(model, tokenizer, task, rows_for(model.config)), task.length or None, off)


def _each_ablated(model: Transformer, tokenizer: Tokenizer, task: CopyTask) -> Float[ndarray, "layer head"]:
    return ablate_each_head(model, rows_of(model, tokenizer, task, 1), task.length or None)


kinds_of = kept(head_kinds, entries=12)
copying_of = kept(_copying, entries=48)
losses_alone = kept(_each_ablated, entries=24)
