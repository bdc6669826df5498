"""How good a sparse dictionary is: features a token, explained variance, loss recovered, dead features."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfcore.inspection.edits import Edit
from tfcore.inspection.transcoders import Transcoder, TranscoderConfig, substitute
from tfcore.measures.one_text import one_text
from tfcore.measures.text_loss import next_losses
from tfcore.model import Transformer

ROWS = 8  # texts of equal length that are read at once


@dataclass(frozen=True, slots=True)
class Quality:
    """Measures of one dictionary, or of several at once, over texts; at the positions it stands in for.

    Args:
        l0: mean number of features above 0 a token.
        explained_variance: 1 - squared error / squared distance of what is predicted from its mean.
        loss_as_is, loss_substituted, loss_zeroed: nats a token, with the layer as it is, with the prediction in its
            place, and with zeros in its place.
        dead: features that were 0 at every token.
        tokens: that were read.
    """

    l0: float
    explained_variance: float
    loss_as_is: float
    loss_substituted: float
    loss_zeroed: float
    dead: int
    tokens: int

    @property
    def loss_recovered(self) -> float:
        """Share of what zeros cost that the prediction saves: (zeroed - substituted) / (zeroed - as is)."""
        return (self.loss_zeroed - self.loss_substituted) / (self.loss_zeroed - self.loss_as_is)


@torch.no_grad()
def dictionary_quality(model: Transformer, transcoder: Transcoder, texts: Iterable[Sequence[int]]) -> Quality:
    """Measures of one dictionary over texts, each a sequence of its own, all its tokens counted."""
    config = transcoder.config
    fired = torch.zeros(config.n_features, dtype=torch.int64, device=model.device)
    errors, count, active = 0.0, 0, 0
    total, squares = torch.zeros(config.d_model, dtype=torch.float64, device=model.device), 0.0
    losses = torch.zeros(3, dtype=torch.float64, device=model.device)
    predicted = 0
    for ids in _equally_long(texts):
        rows = ids.to(model.device)
        output = model(rows, capture=(config.reads, config.writes))
        x, y = (output.activations[name][:, config.first :].flatten(0, 1) for name in (config.reads, config.writes))
        features = transcoder.encode(x)
        errors += float((transcoder.decode(features) - y).double().square().sum())
        total += y.double().sum(0)
        squares += float(y.double().square().sum())
        fired += (features > 0).sum(0)
        active += int((features > 0).sum())
        count += len(y)
        plain = _summed_loss(output.logits, rows)
        del output  # its logits, before the next are computed
        others = (substitute([transcoder]), [_zeros(config)])
        losses += torch.stack([plain, *(_summed_loss(model(rows, edits=edits).logits, rows) for edits in others)])
        predicted += rows[:, 1:].numel()
    variance = squares - float(total.square().sum()) / count
    as_is, substituted, zeroed = (losses / predicted).tolist()
    return Quality(active / count, 1 - errors / variance, as_is, substituted, zeroed, int((fired == 0).sum()), count)


@torch.no_grad()
def loss_recovered_together(
    model: Transformer, transcoders: Sequence[Transcoder], texts: Iterable[Sequence[int]]
) -> tuple[float, float, float]:
    """Loss in nats a token with all layers as they are, with all predicted at once, and with zeros for all of them."""
    losses, predicted = torch.zeros(3, dtype=torch.float64, device=model.device), 0
    zeros = [_zeros(one.config) for one in transcoders]
    for ids in texts:
        row = one_text(model, ids)
        passes: tuple[Sequence[Edit], ...] = ([], substitute(transcoders), zeros)
        losses += torch.stack([_summed_loss(model(row, edits=edits).logits, row) for edits in passes])
        predicted += len(ids) - 1
    as_is, substituted, zeroed = (losses / predicted).tolist()
    return as_is, substituted, zeroed


def _zeros(config: TranscoderConfig) -> Edit:
    """Zeros in the place of what a dictionary predicts, where it predicts."""
    return Edit(
        config.writes, lambda y: torch.cat((y[:, : config.first], torch.zeros_like(y[:, config.first :])), dim=1)
    )


def _equally_long(texts: Iterable[Sequence[int]]) -> Iterator[Int[Tensor, "row seq"]]:
    """Neighbouring texts of equal length together, so that no padding is needed."""
    for _, group in groupby(texts, len):
        yield from torch.tensor([list(ids) for ids in group]).split(ROWS)


def _summed_loss(logits: Float[Tensor, "row seq vocab"], ids: Int[Tensor, "row seq"]) -> Float[Tensor, ""]:
    return next_losses(logits, ids).sum().double()
