"""Texts that a model writes after its weights were rounded."""

from dataclasses import dataclass

from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.measures.quantisation.formats import Format, Per, Scheme
from tfcore.measures.quantisation.matrices import quantised_copy
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

WAYS: dict[str, tuple[Per, bool]] = {
    "matrix": ("matrix", False),
    "row": ("row", False),
    "group of 32": ("32", False),
    "group of 32, minimum": ("32", True),
}


@dataclass(frozen=True, slots=True)
class GreedyContinuations:
    """Greedy continuations of a text, with the weights as they are and rounded.

    Args:
        format: of the rounded weights.
        plain: ids that the model writes as it is.
        ways: what shares a scale (a key of losses.HOW) -> ids.
    """

    format: Format
    plain: tuple[int, ...]
    ways: dict[str, tuple[int, ...]]

    def agrees(self, how: str) -> int:
        """How many tokens are the same before the first that differs."""
        pairs = zip(self.plain, self.ways[how], strict=False)
        return next(
            (i for i, (one, other) in enumerate(pairs) if one != other), min(len(self.plain), len(self.ways[how]))
        )


def continued(model: Transformer, tokenizer: Tokenizer, text: str, new_tokens: int) -> tuple[int, ...]:
    """The ids with which a model continues a text greedily."""
    return tuple(generate(model, tokenizer.encode(text), Sampling(temperature=0), max_new_tokens=new_tokens))


def written(
    model: Transformer,
    tokenizer: Tokenizer,
    text: str,
    data_type: Format,
    new_tokens: int,
    plain: tuple[int, ...] | None = None,
) -> GreedyContinuations:
    """Continue a text greedily with each way to share a scale.

    Args:
        plain: what `continued` gives for the model as it is; None computes it.
    """
    plain = plain or continued(model, tokenizer, text, new_tokens)
    ways = {
        how: continued(
            quantised_copy(model, Scheme(format=data_type, per=per, minimum=minimum)), tokenizer, text, new_tokens
        )
        for how, (per, minimum) in WAYS.items()
    }
    return GreedyContinuations(data_type, plain, ways)
