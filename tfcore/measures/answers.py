"""The answers that a model scores: tokens of its vocabulary, or the classes that it was fine-tuned to tell apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


@runtime_checkable
class Answers(Protocol):
    """Names of what scores are of."""

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """The name of each."""
        ...


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of a model, named as its checkpoint names them."""

    labels: tuple[str, ...]

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """The name of each."""
        return [self.labels[one] for one in ids]


def answers_of(model: Transformer, tokenizer: Tokenizer) -> Answers:
    """The answers of which a model gives one the largest score.

    Raises:
        ValueError: its scores are others: of classes that are judged each by itself, numbers, or ends of an answer.
    """
    classes = model.config.classes
    if classes is not None and classes.meaning != "one":
        raise ValueError(f"meaning={classes.meaning!r}: the scores of this head are not of answers that exclude others")
    return tokenizer if classes is None else Classes(classes.labels)
