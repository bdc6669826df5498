"""Where a difference between two models comes in: the stream of one is put into the other, layer by layer."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.measures.information import divergence
from tfcore.views.kept import kept
from tfcore.views.model.compare.measure.pair import both_texts, run_of, why_not_by_token
from tfcore.views.model.compare.measure.predictions import ROWS, log_probabilities
from tfcore.views.sources import Reading, Source, opened, title_of


@dataclass(frozen=True, slots=True)
class ExchangedStreams:
    """KL divergences of the second model with streams of the first in it.

    Args:
        tokens: of the text.
        kl: KL(first || second) after each token where the stream before a block, or (last row) after the last one, is
            the first model's, nats.
        unchanged: the same without any exchange.
    """

    tokens: tuple[str, ...]
    kl: Float[ndarray, "place token"]
    unchanged: Float[ndarray, " token"]

    @property
    def left(self) -> Float[ndarray, " place"]:
        """Share of the mean KL divergence that is left with an exchange at each place."""
        mean = float(self.unchanged.mean())
        return self.kl.mean(1) / mean if mean > 0 else np.zeros(len(self.kl))


def why_not_exchanged(first: Source, second: Source) -> str | None:
    """Why the stream of one model cannot be put into another, or None."""
    if (why := why_not_by_token(first, second)) is not None:
        return why
    configs = [opened(one)[0].config for one in (first, second)]
    sizes = [f"{config.n_layers} layers of width {config.d_model}" for config in configs]
    if sizes[0] == sizes[1]:
        return None
    names = title_of(first), title_of(second)
    return f"{names[0]} has {sizes[0]} and {names[1]} {sizes[1]}: a residual stream of one has no place in the other."


@torch.no_grad()
def _logs(reading: Reading, other: Source) -> Float[Tensor, "token vocab"]:
    hidden = run_of(reading, other).hidden
    return log_probabilities(opened(reading.model)[0], hidden)


_first_logs = kept(_logs, entries=1)


def _kl(first: Float[Tensor, "token vocab"], model: Source, hidden: Float[Tensor, "token d_model"]) -> ndarray:
    network, _ = opened(model)
    parts = [
        divergence(logs, log_probabilities(network, some))
        for logs, some in zip(first.split(ROWS), hidden.split(ROWS), strict=True)
    ]
    return torch.cat(parts).clamp(min=0).cpu().numpy().astype(np.float64)


@torch.no_grad()
def _exchanged(reading: Reading, other: Source, place: int) -> Float[ndarray, " token"]:
    others = replace(reading, model=other)
    texts, network = both_texts(reading, other), opened(other)[0]
    stream = run_of(others, reading.model).streams[place][None].clone()
    stream[:, texts[1].span] = run_of(reading, other).streams[place, texts[0].span].to(stream)
    hidden = network.resume(stream, place)[0, texts[1].span]
    return _kl(_first_logs(reading, other), other, hidden)


_at_place = kept(_exchanged, entries=256)


@torch.no_grad()
def _unchanged(reading: Reading, other: Source) -> Float[ndarray, " token"]:
    return _kl(_first_logs(reading, other), other, run_of(replace(reading, model=other), reading.model).hidden)


_plain = kept(_unchanged, entries=16)


def exchanged_at(reading: Reading, other: Source, place: int) -> Float[ndarray, " token"]:
    """KL(first || second) after each token, where the second model's stream before the block `place` (after the last
    one for n_layers) is the first's at all tokens of the text.

    Raises:
        ValueError: see why_not_exchanged.
    """
    if (why := why_not_exchanged(reading.model, other)) is not None:
        raise ValueError(why)
    return _at_place(replace(reading, hide_sink=False, part=None), other, place)


def places(source: Source) -> range:
    """Where a stream may be exchanged: before each block, and after the last."""
    return range(opened(source)[0].config.n_layers + 1)


def exchanged(reading: Reading, other: Source) -> ExchangedStreams:
    """All places, one pass of the layers above for each."""
    plain = replace(reading, hide_sink=False, part=None)
    rows = [exchanged_at(plain, other, place) for place in places(other)]
    return ExchangedStreams(both_texts(plain, other)[0].tokens, np.stack(rows), _plain(plain, other))
