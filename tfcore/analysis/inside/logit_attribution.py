"""Findings on the shares of a logit, see tfcore.measures.logit_attribution."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.measures.logit_attribution import Contributions, Parts, promoted_by
from tfcore.measures.token_text import visible
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

NAMED = 4  # promoted tokens that a sentence names
OTHERS = "all others"
LARGEST = 12  # parts that a sum names


def instalments(found: Contributions) -> list[tuple[str, float]]:
    """The shares in the order of computation, all heads of a layer together, without parts that the model lacks."""
    rows = [("embedding", found.embedding)]
    rows += [("positions", found.position)] if found.position else []
    for layer, heads in enumerate(found.heads):
        rows.append((f"attention {layer}", float(heads.sum())))
        if forward := float(found.feedforward[layer]):
            rows.append((f"feed-forward {layer}", forward))
    return rows + ([("biases", found.biases)] if found.biases else [])


def largest_instalments(found: Contributions, most: int) -> list[tuple[str, float]]:
    """The `most` largest by size, in the order of computation, and the sum of all others behind them."""
    every = instalments(found)
    if len(every) <= most + 1:
        return every
    kept = sorted(sorted(range(len(every)), key=lambda i: -abs(every[i][1]))[:most])
    rest = sum(share for i, (_, share) in enumerate(every) if i not in kept)
    return [*(every[i] for i in kept), (f"{OTHERS} ({len(every) - most})", rest)]


@dataclass(frozen=True, slots=True)
class LogitSum(Finding):
    """A logit and the sum of the parts it is made of.

    Args:
        token: the token that the logit belongs to.
        logit: of the model, less what it is measured against.
        total: sum of all parts.
        count: how many parts there are: every head, feed-forward layer, embedding and the biases.
        shares: in the order of computation, all heads of a layer together; the largest, and the sum of all others.
    """

    token: str
    logit: float
    total: float
    count: int
    shares: tuple[tuple[str, float], ...]

    @property
    def logit_text(self) -> str:
        """With four digits, to be compared with `total_text`."""
        return f"{self.logit:.4f}"

    @property
    def total_text(self) -> str:
        """With four digits."""
        return f"{self.total:.4f}"

    @property
    def error_text(self) -> str:
        """By how much the sum differs from the logit: rounding."""
        return f"{abs(self.total - self.logit):.0e}"

    @property
    def sentence(self) -> str:
        shares = ", ".join(f"{name} {share:+.2f}" for name, share in self.shares)
        return f"The logit of '{visible(self.token)}' adds up to {self.total:.2f}: {shares}."


def logit_sum(found: Contributions, token: str) -> LogitSum:
    """The logit of `token`, as the sum of its shares."""
    count = found.heads.size + int((found.feedforward != 0).sum()) + 1 + (found.position != 0) + (found.biases != 0)
    return LogitSum(token, found.logit, found.total, count, tuple(largest_instalments(found, LARGEST)))


@dataclass(frozen=True, slots=True)
class LargestInstalment(Finding):
    """The sublayer with the largest share, and the scale of the final norm."""

    name: str
    share: float
    scale: float

    @property
    def sentence(self) -> str:
        return (
            f"The largest share is that of {self.name}, {self.share:+.2f}. The scale of the final norm is held at its "
            f"true value, {self.scale:.3f}."
        )


def largest_instalment(found: Contributions) -> LargestInstalment:
    """Of the embedding, every attention and every feed-forward layer."""
    name, share = max(instalments(found), key=lambda row: row[1])
    return LargestInstalment(name, share, found.scale)


def shares_by_part(found: Contributions) -> tuple[Float[ndarray, "layer part"], list[str]]:
    """Shares of all heads and, in a last column where the model has any, feed-forward layers; names of the columns."""
    names = [f"head {head}" for head in range(found.heads.shape[1])]
    if not (found.feedforward != 0).any():
        return found.heads, names
    return np.column_stack([found.heads, found.feedforward]), [*names, "feed-forward"]


@dataclass(frozen=True, slots=True)
class LargestPart(Finding):
    """The head or feed-forward layer with the largest share in a logit.

    Args:
        layers, parts: how many layers there are, and parts in each.
        part, layer: as in "head 0" of layer 3.
        share: in logits.
    """

    layers: int
    parts: int
    part: str
    layer: int
    share: float

    @property
    def sentence(self) -> str:
        return (
            f"Shares of {self.layers} × {self.parts} parts; the largest is {self.part} of layer {self.layer}, "
            f"{self.share:+.2f} logits."
        )


def largest_part(found: Contributions) -> LargestPart:
    """The part with the largest share."""
    shares, names = shares_by_part(found)
    layer, part = largest_place(found)
    return LargestPart(len(shares), len(names), part, layer, float(shares.max()))


def largest_place(found: Contributions) -> tuple[int, str]:
    """Layer and name of the part with the largest share."""
    shares, names = shares_by_part(found)
    layer, column = np.unravel_index(shares.argmax(), shares.shape)
    return int(layer), names[column]


@dataclass(frozen=True, slots=True)
class Promoted(Finding):
    """The tokens whose logits one part raises most and lowers most, in this order.

    Args:
        part: as in "head 0 of layer 3".
        ids, tokens: the tokens.
        shares: in their logits, less the mean over the vocabulary.
    """

    part: str
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    shares: tuple[float, ...]

    @property
    def sentence(self) -> str:
        first = zip(self.tokens[:NAMED], self.shares, strict=False)
        return f"{self.part} promotes " + ", ".join(f"{visible(token)} by {share:.2f}" for token, share in first) + "."


def most_promoted(
    model: Transformer, tokenizer: Tokenizer, parts: Parts, layer: int, head: int | None, up: int, down: int
) -> Promoted:
    """The first `up` and the last `down` tokens by the share of one part; see `promoted_by`."""
    lift = promoted_by(model, parts, layer, head)
    order = (-lift).argsort(kind="stable")
    ids = [*order[:up].tolist(), *order[-down:].tolist()]
    part = f"{'feed-forward' if head is None else f'head {head}'} of layer {layer}"
    return Promoted(part, tuple(ids), tuple(tokenizer.tokens(ids)), tuple(lift[ids].tolist()))
