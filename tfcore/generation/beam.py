"""Beam search: the texts with the highest probability as a whole, not the most likely token at every step."""

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.generation.generate import Ids, Reader
from tfcore.model import Transformer


@dataclass(frozen=True, slots=True)
class Beam:
    """A continuation that was found.

    Args:
        ids: the new ids, a stop id last where it ends with one.
        score: the sum of the log-probabilities of these ids, divided by their number to the power length_penalty.
    """

    ids: tuple[int, ...]
    score: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text one token longer than those before.

    Args:
        parent: which of the texts kept in the step before it continues, counted from the best; 0 at first.
        token: the id it adds.
        score: the sum of the log-probabilities of all its new ids.
        state: kept: it is continued; finished: it ended, and took its place among the results; dropped: neither.
    """

    parent: int
    token: int
    score: float
    state: Literal["kept", "finished", "dropped"]


@dataclass(frozen=True, slots=True)
class BeamStep:
    """One step of the search.

    Args:
        candidates: the most likely texts of this length, the best first; more than can be kept.
        finished: the best finished texts until now, at most as many as there are beams.
    """

    candidates: tuple[Candidate, ...]
    finished: tuple[Beam, ...]


def beam_search(
    model: Transformer,
    ids: Ids,
    *,
    beams: int = 4,
    max_new_tokens: int = 64,
    length_penalty: float | int = 1.0,
    stop_ids: Collection[int] = (),
    early_stopping: bool = False,
    decoder_ids: Ids | None = None,
) -> list[Beam]:
    """Keep the `beams` most likely texts, continue each with every token, keep the most likely again.

    A text is finished when it ends with a stop id or has max_new_tokens. It counts only if it is among the first
    `beams` of its step; then it takes its place in the result, and the search goes on with the next best unfinished
    ones. Finished texts are compared by score = sum log p(y_i) / n^length_penalty (arXiv:1609.08144, eq. 14, with
    n in place of its (5 + n) / 6 and no coverage penalty), which is how `transformers` does it.

    Args:
        ids, max_new_tokens, stop_ids, decoder_ids: see tfcore.generate.
        beams: 1 is greedy, where no stop id is given.
        length_penalty: above 0 favours long texts: a mean of log-probabilities rather than a sum.
        early_stopping: end as soon as there are `beams` finished texts; otherwise when the best unfinished one, scored
            at its present length, is no better than the worst of them.

    Returns:
        At most `beams` texts, the best first; an empty one where there is no room for another token.

    Raises:
        ValueError: as tfcore.generate; fewer than one beam.
    """
    finished: tuple[Beam, ...] = (Beam((), 0.0),)
    for step in beam_steps(
        model,
        ids,
        beams=beams,
        max_new_tokens=max_new_tokens,
        length_penalty=length_penalty,
        stop_ids=stop_ids,
        early_stopping=early_stopping,
        decoder_ids=decoder_ids,
    ):
        finished = step.finished
    return list(finished)


def beam_steps(
    model: Transformer,
    ids: Ids,
    *,
    beams: int = 4,
    max_new_tokens: int = 64,
    length_penalty: float | int = 1.0,
    stop_ids: Collection[int] = (),
    early_stopping: bool = False,
    decoder_ids: Ids | None = None,
) -> Iterator[BeamStep]:
    """The same as beam_search, told step by step: which texts were considered, and which of them were kept."""
    if beams < 1:
        raise ValueError(f"beams={beams} must be at least 1")
    reader, stop = Reader(model, ids, max_new_tokens=max_new_tokens, decoder_ids=decoder_ids), frozenset(stop_ids)
    wanted = max(2, 1 + len(stop)) * beams  # enough to go on even where every beam could stop in every way
    texts, scores, finished = [tuple[int, ...]()], torch.zeros(1), list[Beam]()
    new = torch.tensor([reader.prompt])
    for length in range(1, reader.capacity + 1):
        grown = reader.constrained(reader.read(new)[:, -1].log_softmax(-1), length - 1)
        totals, parents, tokens = _best(scores, grown, wanted)
        longer = [(*texts[parent], token) for parent, token in zip(parents, tokens, strict=True)]
        over = [token in stop or length == reader.capacity for token in tokens]
        ended = [i for i in range(len(longer[:beams])) if over[i]]
        finished += [Beam(longer[i], float(totals[i]) / length**length_penalty) for i in ended]
        finished = sorted(finished, key=lambda beam: -beam.score)[:beams]
        kept = [i for i in range(len(longer)) if not over[i]][:beams]
        if kept and _settled(finished, beams, early_stopping, float(totals[kept[0]]) / length**length_penalty):
            kept = []
        yield BeamStep(
            tuple(
                Candidate(parent, token, float(total), "finished" if i in ended else "kept" if i in kept else "dropped")
                for i, (parent, token, total) in enumerate(zip(parents, tokens, totals, strict=True))
            ),
            tuple(finished),
        )
        if not kept:
            return
        texts, scores = [longer[i] for i in kept], totals[kept]
        if (rows := [parents[i] for i in kept]) != list(range(reader.cache.batch)):
            reader.cache.select(torch.tensor(rows))
        new = torch.tensor([[tokens[i]] for i in kept])


def _best(
    scores: Float[Tensor, " beam"], grown: Float[Tensor, "beam vocab"], n: int
) -> tuple[Float[Tensor, " candidate"], list[int], list[int]]:
    """The n most likely texts one token longer, fewer where no more are possible: their log-probabilities, the beam
    each continues, and with what."""
    total = (scores[:, None] + grown).flatten()  # (beam * vocab)
    totals, places = total.topk(min(n, len(total)))
    vocab, possible = grown.shape[-1], totals > -math.inf
    totals, places = totals[possible], places[possible]
    return totals, (places // vocab).tolist(), (places % vocab).tolist()


def _settled(finished: list[Beam], beams: int, early_stopping: bool, hope: float) -> bool:
    """Whether the search is over: all places taken, and no wish or no hope to do better."""
    return len(finished) == beams and (early_stopping or hope <= finished[-1].score)
