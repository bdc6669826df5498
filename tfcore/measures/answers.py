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
    """The answers that a model scores."""
    return tokenizer if (classes := model.config.classes) is None else Classes(classes.labels)
