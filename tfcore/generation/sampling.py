"""From scores to the next token: what each filter leaves of the distribution, and the filters one after another.

Each filter takes scores and returns scores, -inf at the tokens it rules out; softmax makes a distribution of them that
sums to 1 whatever was ruled out. They apply in the order of this file, which is also that of `transformers`.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from tfcore.checks import check_number, check_whole

Filter = Callable[[Tensor], Tensor]


def repetition_penalty(
    logits: Float[Tensor, "*batch vocab"], previous: Int[Tensor, "*batch seq"], penalty: float | int
) -> Float[Tensor, "*batch vocab"]:
    """Scores of the tokens that have occurred, divided by the penalty where positive and multiplied where negative.

    Both lower the score for a penalty above 1. The paper (arXiv:1909.05858, section 4.1) always divides, which would
    raise a negative score; we follow what is in use.

    Args:
        previous: ids of all tokens so far, the prompt's too; how often each occurs does not matter.
        penalty: 1 changes nothing; below 1, repetition is rewarded.
    """
    score = logits.gather(-1, previous)  # (*batch, seq)
    return logits.scatter(-1, previous, torch.where(score < 0, score * penalty, score / penalty))


def temperature(logits: Float[Tensor, "*batch vocab"], t: float | int) -> Float[Tensor, "*batch vocab"]:
    """Scores divided by t, so that p_i is proportional to exp(x_i / t) (arXiv:1503.02531, eq. 1).

    The largest score is moved to 0 first: softmax does not see it, and a small t does not overflow.

    Args:
        t: below 1 sharpens; 0, its limit, leaves the most likely token alone (greedy).
    """
    if t == 0:
        greedy = logits.argmax(-1, keepdim=True)
        return torch.full_like(logits, -math.inf).scatter(-1, greedy, 0.0)
    return (logits - logits.amax(-1, keepdim=True)) / max(t, torch.finfo(logits.dtype).tiny)


def top_k(logits: Float[Tensor, "*batch vocab"], k: int) -> Float[Tensor, "*batch vocab"]:
    """The k largest scores (arXiv:1805.04833, section 5.4); all where k is more than there are.

    Never more than k: of several that are equal, some are left out, where `transformers` would keep them all.
    """
    scores, tokens = logits.topk(min(k, logits.shape[-1]), dim=-1)  # (*batch, k)
    return torch.full_like(logits, -math.inf).scatter(-1, tokens, scores)


def top_p(logits: Float[Tensor, "*batch vocab"], p: float | int) -> Float[Tensor, "*batch vocab"]:
    """The nucleus: the fewest tokens, from the most likely on, whose probabilities together reach p.

    A token stays if those before it have less than p together; so the first one always does.

    Source: arXiv:1904.09751, eq. 2.
    """
    probabilities = logits.softmax(-1)
    # What is less likely than (1 - p) / vocab comes after p already, even with all others like it: no need to sort it.
    able = int((probabilities >= (1 - p) / (2 * logits.shape[-1])).sum(-1).max())
    scores, tokens = logits.topk(able, dim=-1)  # (*batch, able), from the most likely on
    before = F.pad(probabilities.gather(-1, tokens).cumsum(-1)[..., :-1], (1, 0))  # of all those more likely
    kept = scores.masked_fill(before >= p, -math.inf)
    return torch.full_like(logits, -math.inf).scatter(-1, tokens, kept)


def min_p(logits: Float[Tensor, "*batch vocab"], p: float | int) -> Float[Tensor, "*batch vocab"]:
    """The tokens with at least p times the probability of the most likely one: few where the model is sure.

    Source: arXiv:2407.01082, section 3.
    """
    probabilities = logits.softmax(-1)
    return logits.masked_fill(probabilities < p * probabilities.amax(-1, keepdim=True), -math.inf)


@dataclass(frozen=True, slots=True)
class Stage:
    """The distribution after one filter.

    Args:
        name: of the filter; "softmax" for the model's own distribution, before any.
        probabilities: of every token id; their sum is 1.
    """

    name: str
    probabilities: Float[Tensor, "*batch vocab"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Which filters are on, and how strong.

    Args:
        temperature: 0 is greedy, 1 leaves the scores alone.
        top_k: keep that many; None keeps all.
        top_p: keep the nucleus; 1 keeps all.
        min_p: keep what has this part of the highest probability; 0 keeps all.
        repetition_penalty: of tokens that have occurred; 1 is none.

    Raises:
        ValueError: a value outside its range.
    """

    temperature: float | int = 1.0
    top_k: int | None = None
    top_p: float | int = 1.0
    min_p: float | int = 0.0
    repetition_penalty: float | int = 1.0

    def __post_init__(self) -> None:
        check_number(self, temperature=(0, 1e9), top_p=(0, 1), min_p=(0, 1), repetition_penalty=(1e-6, 1e6))
        check_whole(self, optional=True, top_k=(1, 10**9))
        if self.top_p == 0:
            raise ValueError(f"top_p={self.top_p} must be above 0; temperature=0 leaves the most likely token alone")

    def filters(self, previous: Int[Tensor, "*batch seq"] | None = None) -> Iterator[tuple[str, Filter]]:
        """Name and function of those that are on, in order.

        Raises:
            ValueError: a repetition penalty without the tokens so far.
        """
        if self.repetition_penalty != 1:
            if previous is None:
                raise ValueError(f"repetition_penalty={self.repetition_penalty} needs previous, the ids so far")
            yield "repetition penalty", lambda logits: repetition_penalty(logits, previous, self.repetition_penalty)
        if self.temperature != 1:
            yield "temperature", lambda logits: temperature(logits, self.temperature)
        if (k := self.top_k) is not None:
            yield "top-k", lambda logits: top_k(logits, k)
        if self.top_p < 1:
            yield "top-p", lambda logits: top_p(logits, self.top_p)
        if self.min_p > 0:
            yield "min-p", lambda logits: min_p(logits, self.min_p)

    def distribution(
        self, logits: Float[Tensor, "*batch vocab"], previous: Int[Tensor, "*batch seq"] | None = None
    ) -> Float[Tensor, "*batch vocab"]:
        """The distribution that the filters leave."""
        _check_finite(logits)
        for _, keep in self.filters(previous):
            logits = keep(logits)
        return logits.softmax(-1)

    def draw(self, logits: Float[Tensor, " vocab"], previous: Tensor | None, generator: torch.Generator) -> int:
        """One token of the distribution; the most likely one of the penalised scores where temperature is 0."""
        if self.temperature > 0:
            return draw(self.distribution(logits, previous), generator)
        for name, keep in self.filters(previous):
            if name == "temperature":  # what comes after it has one token left: no need to compute it
                break
            logits = keep(logits)
        token = int(logits.argmax(-1))
        _check_finite(logits[token : token + 1])
        return token

    def stages(
        self, logits: Float[Tensor, "*batch vocab"], previous: Int[Tensor, "*batch seq"] | None = None
    ) -> tuple[Stage, ...]:
        """The model's own distribution, and what each filter leaves of it; the last is `distribution`."""
        _check_finite(logits)
        stages = [Stage("softmax", logits.softmax(-1))]
        for name, keep in self.filters(previous):
            logits = keep(logits)
            stages.append(Stage(name, logits.softmax(-1)))
        return tuple(stages)


UNFILTERED = Sampling()  # by the model's own probabilities


def draw(probabilities: Float[Tensor, " vocab"], generator: torch.Generator) -> int:
    """A token id, drawn with these probabilities; they need not sum to 1."""
    return pick(probabilities, uniform(generator))


def uniform(generator: torch.Generator) -> float:
    """A number from 0 up to 1, each as likely as any other: all the chance there is in a draw."""
    return float(torch.rand((), dtype=torch.float64, generator=generator))


def pick(probabilities: Float[Tensor, " vocab"], u: float) -> int:
    """The token on which u falls when all probabilities are laid end to end, the largest first.

    A token gets the part of the line that is as long as its probability: the inverse of the cumulative distribution.

    Args:
        probabilities: they need not sum to 1.
        u: where to look, as a part of the whole line; 0 <= u < 1.
    """
    sizes, tokens = probabilities.sort(descending=True, stable=True)
    ends = sizes.double().cumsum(-1)
    place = int(torch.searchsorted(ends, u * ends[-1], right=True))
    return int(tokens[min(place, int((sizes > 0).sum()) - 1)])  # rounding may put u * ends[-1] at the very end


def _check_finite(logits: Tensor) -> None:
    """A row may rule tokens out with -inf, but not all of them; NaN and +inf come from a model that diverged."""
    if not bool((top := logits.amax(-1)).isfinite().all()):
        raise ValueError(f"the largest score is {float(top[~top.isfinite()].view(-1)[0])}, it must be a finite number")
