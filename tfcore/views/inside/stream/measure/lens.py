"""The logit lens: what the model would predict if it stopped after each sublayer, read with its own final norm."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.inspection.tuned_lens import TunedLens
from tfcore.loading.tuned_lenses import load_tuned_lens
from tfcore.measures.lenses import LensComparison, check_model, compare_lenses, lens_logits, stage_states, stages
from tfcore.measures.one_text import one_text
from tfcore.measures.token_text import label
from tfcore.model import Transformer
from tfcore.views.inside.stream.measure.text import answers, read_of
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, opened

KEPT = 5  # top predictions kept at each stage and position
EMBEDDED = "embed"  # the short name of the first stage


@dataclass(frozen=True, slots=True)
class Lens:
    """Top predictions, of tokens or of classes, read from the stream at some stages and every position of a text.

    Args:
        stages: names of the stream's states, see tfcore.inspection.capture.
        best: ids of the most probable tokens, the most probable first.
        probability: of each of them.
        next_probability: probability of the token that follows in the text; of classes, of that which the model names
            at the position in the end.
        next_rank: how many are more probable than that one; 0 where it is the top prediction.
        tuned: whether they are read by a tuned lens.
        classes: ids of the classes that the model names in the end; None where it predicts tokens.
    """

    stages: tuple[str, ...]
    best: Int[ndarray, "stage seq guess"]
    probability: Float[ndarray, "stage seq guess"]
    next_probability: Float[ndarray, "stage next"]
    next_rank: Int[ndarray, "stage next"]
    tuned: bool = False
    classes: Int[ndarray, " seq"] | None = None

    def correct_cells(self) -> Bool[ndarray, "stage seq"]:
        """Whether each top prediction is the token that follows, never at the last position, which nothing follows; or
        the class of the end."""
        return np.pad(self.next_rank == 0, ((0, 0), (0, self.best.shape[1] - self.next_rank.shape[1])))


@dataclass(frozen=True, slots=True)
class TokenPath:
    """The path of some tokens at one position, stage by stage.

    Args:
        stages: names of the stream's states.
        probability: of each token.
        logits: of each token, less the mean of all logits of the stage.
        rank: how many tokens are more probable.
    """

    stages: tuple[str, ...]
    probability: Float[ndarray, "stage token"]
    logits: Float[ndarray, "stage token"]
    rank: Int[ndarray, "stage token"]


@torch.no_grad()
def logit_lens(
    model: Transformer, ids: Sequence[int], chosen: Sequence[str] | None = None, tuned: TunedLens | None = None
) -> Lens:
    """The logit lens at every position of a text, after the chosen stages; None means all.

    Args:
        tuned: translates each state first, which makes it a tuned lens.

    Raises:
        ValueError: a model without a final norm, or no decoder.
    """
    check_model(model)
    names = stages(model.config) if chosen is None else tuple(chosen)
    text = one_text(model, ids)
    states = model.activations(text, names)
    classes = model(text).logits.argmax(-1).squeeze(0) if model.config.classes is not None else None
    following = (text[0, 1:] if classes is None else classes)[:, None]  # (next, 1)
    rows = []
    for name in names:  # one by one: all logits at once would be stage * seq * vocab numbers
        x = states[name].squeeze(0)
        logits = lens_logits(model, x if tuned is None else tuned(name, x)).float()
        probability = logits.softmax(1)
        top = probability.topk(min(KEPT, probability.shape[1]))
        followed = logits[: len(following)]
        next_probability = probability[: len(following)].gather(1, following).squeeze(1)
        next_rank = (followed > followed.gather(1, following)).sum(1)
        rows.append((top.indices, top.values, next_probability, next_rank))
    best, values, next_values, ranks = (torch.stack(part).cpu().numpy() for part in zip(*rows, strict=True))
    named = None if classes is None else classes.cpu().numpy()
    return Lens(names, best, values, next_values, ranks, tuned is not None, named)


@torch.no_grad()
def tokens_at(
    model: Transformer, states: Float[Tensor, "stage seq d_model"], position: int, tokens: Sequence[int]
) -> TokenPath:
    """Probability, logit and rank of some tokens after every stage, at one position, from a text's states."""
    names = stages(model.config)
    logits = lens_logits(model, states[:, position]).float()  # (stage, vocab)
    chosen = logits[:, list(tokens)]
    centred = chosen - logits.mean(1, keepdim=True)
    probability = logits.softmax(1)[:, list(tokens)]
    rows = zip(logits.cpu().numpy(), chosen.cpu().numpy(), strict=True)
    rank = np.array([[np.count_nonzero(row > one) for one in own] for row, own in rows])  # a tenth of torch's time
    return TokenPath(names, probability.cpu().numpy(), centred.cpu().numpy(), rank)


def spread_out(names: Sequence[str], most: int) -> tuple[str, ...]:
    """The names thinned to at most so many, as evenly apart as they can be, the first and the last among them."""
    return tuple(names[i] for i in np.linspace(0, len(names) - 1, min(most, len(names))).round().astype(int))


class Cells(NamedTuple):
    """Words printed in each cell of the grid, and its hover text, each (position, stage)."""

    words: list[list[str]]
    hovers: list[list[str]]


def lens_cells(read: Lens, pieces: Sequence[Sequence[Sequence[str]]], tokens: Sequence[str]) -> Cells:
    """The top prediction of each cell; on hover the five most probable tokens and the rank of the one that follows.

    Args:
        pieces: the predicted tokens as text, (stage, position, guess).
        tokens: of the text.
    """
    places, shown = range(len(tokens)), range(len(read.stages))
    words = [[label(pieces[s][i][0], 8) for s in shown] for i in places]
    return Cells(words, [[_hover(read, pieces, tokens, s, i) for s in shown] for i in places])


def _hover(read: Lens, pieces: Sequence[Sequence[Sequence[str]]], tokens: Sequence[str], s: int, i: int) -> str:
    guesses = zip(pieces[s][i], read.probability[s, i].tolist(), strict=True)
    first = ", ".join(f"{label(token, 10)} {probability:.0%}" for token, probability in guesses)
    if i + 1 == len(tokens) or read.classes is not None:
        return first
    rank, probability = read.next_rank[s, i] + 1, read.next_probability[s, i]
    return f"{first}<br>'{label(tokens[i + 1], 10)}' has rank {rank}, {probability:.1%}"


def _lens(reading: Reading, stages: tuple[str, ...], tuned: str | None) -> tuple[Lens, list[list[list[str]]]]:
    """A lens, and its predictions as pieces of text, (stage, position, guess)."""
    model = opened(reading.model)[0]
    read = logit_lens(model, read_of(reading).ids, stages, None if tuned is None else load_tuned_lens(tuned))
    return read, [[answers(reading, row) for row in stage] for stage in read.best.tolist()]


def _cells(reading: Reading, stages: tuple[str, ...], tuned: str | None) -> Cells:
    return lens_cells(*lens_of(reading, stages, tuned), read_of(reading).tokens)


def _states(reading: Reading, tuned: str | None) -> Float[Tensor, "stage seq d_model"]:
    lens = None if tuned is None else load_tuned_lens(tuned)
    return stage_states(opened(reading.model)[0], read_of(reading).ids, lens)


def _path(reading: Reading, position: int, tokens: tuple[int, ...], tuned: str | None) -> TokenPath:
    return tokens_at(opened(reading.model)[0], states_of(reading, tuned), position, tokens)


def _compared(reading: Reading, tuned: str) -> LensComparison:
    return compare_lenses(opened(reading.model)[0], load_tuned_lens(tuned), read_of(reading).ids)


lens_of = kept(_lens, entries=12)
cells_of = kept(_cells, entries=12)
states_of = kept(_states, entries=2)  # at every position: 18 MB of 128 tokens of smollm2
path_of = kept(_path, entries=256)
compared_of = kept(_compared, entries=12)
