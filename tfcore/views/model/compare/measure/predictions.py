"""What two models expect after each token of a text: KL divergence, surprise, and the likeliest tokens of both."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.measures.information import divergence
from tfcore.model import Transformer
from tfcore.views.kept import kept
from tfcore.views.model.compare.measure.pair import both_texts, check_by_token, run_of
from tfcore.views.sources import Reading, Source, opened

ROWS = 16  # places whose logits are there at a time
LIKELIEST = 8  # tokens that are told after each token


@dataclass(frozen=True, slots=True)
class ComparedPredictions:
    """Two models on the same tokens.

    Args:
        tokens: of the text.
        kl: KL(first || second) of what they expect after each token, nats.
        surprise: -ln p of each token given those before it, by either model; NaN where nothing stands before it.
        likeliest: after each token the LIKELIEST tokens that either model expects, by id, the most probable first.
        probabilities: of these by either model.
    """

    tokens: tuple[str, ...]
    kl: Float[ndarray, " token"]
    surprise: Float[ndarray, "model token"]
    likeliest: tuple[Int[ndarray, " _"], ...]
    probabilities: tuple[Float[ndarray, "model _"], ...]

    @property
    def mean_surprise(self) -> tuple[float, float]:
        """Mean over the tokens that both predict, nats; NaN where there is none."""
        told = self.surprise[:, np.isfinite(self.surprise).all(0)]
        first, second = told.mean(1) if told.shape[1] else (np.nan, np.nan)
        return float(first), float(second)

    @property
    def half(self) -> int:
        """The fewest tokens on which half of the KL divergence falls."""
        total = np.sort(self.kl)[::-1].cumsum()
        return int(np.searchsorted(total, total[-1] / 2)) + 1


def log_probabilities(model: Transformer, hidden: Float[Tensor, "row d_model"]) -> Float[Tensor, "row vocab"]:
    """log softmax of the logits that are read from last hidden states."""
    logits = model.to_logits(hidden)
    if logits is None:
        raise ValueError("this model has no head that gives tokens their probabilities; compare decoders")
    return logits.float().log_softmax(-1)


@torch.no_grad()
def _compared(reading: Reading, other: Source) -> ComparedPredictions:
    check_by_token(reading.model, other)
    readings = reading, replace(reading, model=other)
    texts = both_texts(reading, other)
    models = [opened(one.model)[0] for one in readings]
    hidden = [run_of(readings[0], other).hidden, run_of(readings[1], reading.model).hidden]
    count = len(texts[0].tokens)
    ids = texts[0].ids[texts[0].span]
    kl, likeliest, probabilities = np.zeros(count), [], []
    surprise = np.full((2, count), np.nan)
    for start in range(0, count, ROWS):  # all logits would take 25 MB for each model, and as much for their logarithms
        rows = slice(start, min(start + ROWS, count))
        logs = [log_probabilities(model, one[rows]) for model, one in zip(models, hidden, strict=True)]
        kl[rows] = divergence(*logs).clamp(min=0).cpu().numpy()
        for row, place in enumerate(range(count)[rows]):
            best = list(dict.fromkeys(i for one in logs for i in one[row].topk(_most(one)).indices.tolist()))
            chances = np.stack([one[row, best].exp().cpu().numpy() for one in logs])
            order = np.argsort(-chances.max(0), kind="stable")[:LIKELIEST]
            likeliest.append(np.array(best)[order])
            probabilities.append(chances[:, order])
            if place + 1 < count:
                surprise[:, place + 1] = [-float(one[row, ids[place + 1]]) for one in logs]
    return ComparedPredictions(texts[0].tokens, kl, surprise, tuple(likeliest), tuple(probabilities))


def _most(logs: Float[Tensor, "row vocab"]) -> int:
    return min(LIKELIEST, logs.shape[1])


_kept_comparison = kept(_compared, entries=16)


def compared(reading: Reading, other: Source) -> ComparedPredictions:
    """What two models of one vocabulary expect after each token of a text.

    Raises:
        ValueError: they have different vocabularies, or one of them reads the text as other tokens.
    """
    return _kept_comparison(replace(reading, hide_sink=False, part=None), other)
