"""One text continued by several decoding strategies, how likely the model finds each, and how often it repeats itself.

Greedy decoding, beam search, sampling with filters and without; token by token, so that a page can show them grow.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.generation.beam import beam_steps
from tfcore.generation.generate import stream
from tfcore.generation.sampling import Sampling
from tfcore.measures.one_text import one_text
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

Strategy = Literal["greedy", "beam", "sampling", "pure"]
BEAMS = 4  # of the strategy "beam"; GPT-2 and T5 are usually compared with 4 or 5
NAMES: dict[Strategy, str] = {
    "greedy": "greedy",
    "beam": f"beam search, {BEAMS} beams",
    "sampling": "sampling, your filters",
    "pure": "sampling, no filters",
}
LEAST = 1e-38  # the smallest probability that has a logarithm here: about the smallest float32


class LastTokens(NamedTuple):
    """The end of a text.

    Args:
        ids: of the tokens that are used.
        total: how many tokens the whole text has.
    """

    ids: list[int]
    total: int


def last_tokens(model: Transformer, tokenizer: Tokenizer, text: str, limit: int) -> LastTokens:
    """At most `limit` tokens of the end of a text, and at most half of the context: the rest is for what is written."""
    ids = tokenizer.encode(text)
    return LastTokens(ids[-min(limit, model.config.max_seq_len // 2) :], len(ids))


@dataclass(frozen=True, slots=True)
class WrittenToken:
    """One token of a continuation.

    Args:
        token: its id.
        probability: that the model gave it, before any filter.
        rank: its place among all tokens, 1 for the most likely.
        drawn_with: its probability after the filters, with which it was drawn; 1 where nothing was drawn.
    """

    token: int
    probability: float
    rank: int
    drawn_with: float = 1.0

    @property
    def title(self) -> str:
        """The numbers of the token in one line."""
        return f"by the model {self.probability:.3f}, rank {self.rank:,}; drawn with {self.drawn_with:.3f}"


def written_token(probabilities: Float[Tensor, " vocab"], token: int, drawn_with: float = 1.0) -> WrittenToken:
    """A token with its probability and rank in the model's own distribution."""
    p = probabilities[token]
    return WrittenToken(token, float(p), 1 + int((probabilities > p).sum()), drawn_with)


@torch.inference_mode()
def read_again(model: Transformer, ids: Sequence[int], new: Sequence[int]) -> list[WrittenToken]:
    """Probability and rank of every new token after the ids, from one pass over the whole text."""
    if not new:
        return []
    (logits,) = model(one_text(model, [*ids, *new])).logits
    probabilities = logits[len(ids) - 1 : -1].float().cpu().softmax(1)  # (new, vocab)
    return [written_token(row, token) for row, token in zip(probabilities, new, strict=True)]


def mean_log_probability(tokens: Sequence[WrittenToken]) -> float:
    """The mean of log p over the tokens, in nats; 0 where every token had probability 1, and where there is none."""
    return float(np.mean(np.log([max(one.probability, LEAST) for one in tokens]))) if tokens else 0.0


def repeated(tokens: Sequence[int], n: int = 3) -> float:
    """The share of groups of n tokens that occurred before in this text; texts that go in circles approach 1."""
    groups = [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]
    return 1 - len(set(groups)) / len(groups) if groups else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingPlan:
    """The plan of a text that is to be written.

    Args:
        ids: the text to continue.
        sampling: the filters of the strategy "sampling"; "pure" draws from the model's own distribution.
        seed: of all draws.
        tokens: how many each strategy writes at most.
        stop_ids: each of them ends a text.
    """

    ids: tuple[int, ...]
    sampling: Sampling
    seed: int
    tokens: int
    stop_ids: tuple[int, ...] = ()


def continue_beside(model: Transformer, plan: DecodingPlan) -> Iterator[tuple[Strategy, WrittenToken] | None]:
    """Greedy, filtered and pure sampling in turn, a token each; then the text of beam search, known only at its end.

    None says that there is nothing new, so that the caller can stop there.
    """
    ways: dict[Strategy, Sampling] = {"greedy": Sampling(temperature=0), "sampling": plan.sampling, "pure": Sampling()}
    streams = {
        name: stream(model, plan.ids, way, max_new_tokens=plan.tokens, seed=plan.seed, stop_ids=plan.stop_ids)
        for name, way in ways.items()
    }
    while streams:
        for name in list(streams):
            step = next(streams[name], None)
            if step is None:
                del streams[name]
            else:
                yield name, written_token(step.filters[0].probabilities, step.token, step.probability)
    yield from _beam(model, plan.ids, plan.tokens, plan.stop_ids)


def _beam(
    model: Transformer, ids: Sequence[int], tokens: int, stop_ids: Collection[int]
) -> Iterator[tuple[Strategy, WrittenToken] | None]:
    best: tuple[int, ...] = ()
    for step in beam_steps(model, ids, beams=BEAMS, max_new_tokens=tokens, stop_ids=stop_ids):
        best = step.finished[0].ids if step.finished else best
        yield None
    for one in read_again(model, ids, best):
        yield "beam", one


def by_strategy(items: Sequence[tuple[Strategy, WrittenToken] | None]) -> dict[Strategy, list[WrittenToken]]:
    """The tokens of each strategy so far, from what `continue_beside` yielded; every strategy has its list."""
    texts: dict[Strategy, list[WrittenToken]] = {name: [] for name in NAMES}
    for item in items:
        if item is not None:
            texts[item[0]].append(item[1])
    return texts
