"""Beam search: the texts with the highest probability as a whole, not the most likely token at every step."""

from collections.abc import Collection
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.generate import Ids, Reader
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
    if beams < 1:
        raise ValueError(f"beams={beams} must be at least 1")
    reader, stop = Reader(model, ids, max_new_tokens=max_new_tokens, decoder_ids=decoder_ids), frozenset(stop_ids)
    wanted = max(2, 1 + len(stop)) * beams  # enough to go on even where every beam could stop in every way
    if reader.room == 0:
        return [Beam((), 0.0)]
    texts, scores, finished = [tuple[int, ...]()], torch.zeros(1), list[Beam]()
    logits = reader.read(torch.tensor([reader.prompt]))[:, -1]
    for length in range(1, reader.room + 1):
        totals, parents, tokens = _best(scores, logits, wanted)
        longer = [(*texts[parent], token) for parent, token in zip(parents, tokens, strict=True)]
        over = [token in stop or length == reader.room for token in tokens]
        finished += [
            Beam(longer[i], float(totals[i]) / length**length_penalty) for i in range(len(longer[:beams])) if over[i]
        ]
        finished = sorted(finished, key=lambda beam: -beam.score)[:beams]
        open_ = [i for i in range(len(longer)) if not over[i]][:beams]
        if not open_ or _settled(finished, beams, early_stopping, float(totals[open_[0]]) / length**length_penalty):
            break
        texts, scores = [longer[i] for i in open_], totals[open_]
        if (rows := [parents[i] for i in open_]) != list(range(reader.cache.batch)):
            reader.cache.select(torch.tensor(rows))
        logits = reader.read(torch.tensor([[tokens[i]] for i in open_]))[:, -1]
    return finished


def _best(
    scores: Float[Tensor, " beam"], logits: Float[Tensor, "beam vocab"], n: int
) -> tuple[Float[Tensor, " candidate"], list[int], list[int]]:
    """The n most likely texts one token longer: their log-probabilities, the beam each continues, and with what."""
    total = (scores[:, None] + logits.log_softmax(-1)).flatten()  # (beam * vocab)
    totals, places = total.topk(min(n, len(total)))
    vocab = logits.shape[-1]
    return totals, (places // vocab).tolist(), (places % vocab).tolist()


def _settled(finished: list[Beam], beams: int, early_stopping: bool, hope: float) -> bool:
    """Whether the search is over: all places taken, and no wish or no hope to do better."""
    return len(finished) == beams and (early_stopping or hope <= finished[-1].score)
