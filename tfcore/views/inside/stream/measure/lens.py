"""The lenses: what the stream predicts after each sublayer, read by the unembedding, through a map, or by the model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.loading.lenses import KINDS, load_lens, with_lens
from tfcore.measures.lenses import (
    IDENTITY,
    LensReader,
    LensReading,
    affine_reader,
    check_model,
    compare_lenses,
    logit_reader,
    patchscope_reader,
    stage_states,
)
from tfcore.measures.one_text import one_text
from tfcore.measures.token_text import label
from tfcore.model import Transformer
from tfcore.views.inside.stream.measure.text import answers, read_of
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, Source, name_of, opened

KEPT = 5  # top predictions kept at each stage and position
EMBEDDED = "embed"  # the short name of the first stage
By = Literal["logit", "tuned", "jacobian", "patchscope"]
LENSES: dict[By, str] = {  # as they are named
    "logit": "logit lens",
    "tuned": "tuned lens",
    "jacobian": "Jacobian lens",
    "patchscope": "Patchscope",
}


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
        by: the lens that they are read by.
        classes: ids of the classes that the model names in the end; None where it predicts tokens.
    """

    stages: tuple[str, ...]
    best: Int[ndarray, "stage seq guess"]
    probability: Float[ndarray, "stage seq guess"]
    next_probability: Float[ndarray, "stage next"]
    next_rank: Int[ndarray, "stage next"]
    by: By = "logit"
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
    model: Transformer,
    ids: Sequence[int],
    chosen: Sequence[str] | None = None,
    reader: LensReader | None = None,
    by: By = "logit",
) -> Lens:
    """A lens at every position of a text, after the chosen stages; None means all that it reads.

    Args:
        reader: reads the states; None is the logit lens.
        by: its name.

    Raises:
        ValueError: a model without a final norm, or no decoder; or a state that the lens does not read.
    """
    check_model(model)
    reader = logit_reader(model) if reader is None else reader
    names = reader.stages if chosen is None else tuple(chosen)
    if other := [name for name in names if name not in reader.stages]:
        raise ValueError(f"the {LENSES[by]} of this model reads {', '.join(reader.stages)}; not {', '.join(other)}")
    text = one_text(model, ids)
    states = model.activations(text, names)
    classes = model(text).logits.argmax(-1).squeeze(0) if model.config.classes is not None else None
    following = (text[0, 1:] if classes is None else classes)[:, None]  # (next, 1)
    rows = []
    for name in names:  # one by one: all logits at once would be stage * seq * vocab numbers
        logits = reader.read(name, states[name].squeeze(0)).float()
        probability = logits.softmax(1)
        top = probability.topk(min(KEPT, probability.shape[1]))
        followed = logits[: len(following)]
        next_probability = probability[: len(following)].gather(1, following).squeeze(1)
        next_rank = (followed > followed.gather(1, following)).sum(1)
        rows.append((top.indices, top.values, next_probability, next_rank))
    best, values, next_values, ranks = (torch.stack(part).cpu().numpy() for part in zip(*rows, strict=True))
    named = None if classes is None else classes.cpu().numpy()
    return Lens(names, best, values, next_values, ranks, by, named)


@torch.no_grad()
def tokens_at(
    states: Mapping[str, Float[Tensor, "seq d_model"]], reader: LensReader, position: int, tokens: Sequence[int]
) -> TokenPath:
    """Probability, logit and rank of some tokens after every stage that a lens reads, at one position.

    Args:
        states: of a text, by the name of the stage.
    """
    here = {name: states[name][position : position + 1] for name in reader.stages}
    logits = reader.unembed(reader.hidden(here)[:, 0]).float()  # (stage, vocab), with one pass over the unembedding
    chosen = logits[:, list(tokens)]
    centred = chosen - logits.mean(1, keepdim=True)
    probability = logits.softmax(1)[:, list(tokens)]
    rows = zip(logits.cpu().numpy(), chosen.cpu().numpy(), strict=True)
    rank = np.array([[np.count_nonzero(row > one) for one in own] for row, own in rows])  # a tenth of torch's time
    return TokenPath(reader.stages, probability.cpu().numpy(), centred.cpu().numpy(), rank)


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


def lenses_of(source: Source) -> tuple[By, ...]:
    """The lenses that a model can be read by: of each kind that was made for it; and Patchscopes, where it predicts
    tokens and its tokenizer keeps the prompt as it is."""
    model, tokenizer = opened(source)
    made = [kind for kind in KINDS if source in with_lens(kind)]
    kept_as_is = model.config.classes is None and tokenizer.decode(tokenizer.encode(IDENTITY)) == IDENTITY
    return ("logit", *made, *(("patchscope",) if kept_as_is else ()))


def reader_of(source: Source, by: By) -> LensReader:
    """One of the lenses of a model.

    Raises:
        ValueError: it has no such lens.
    """
    if by not in (offered := lenses_of(source)):
        raise ValueError(
            f"{name_of(source)} has no {LENSES[by]}; it has: {', '.join(LENSES[one] for one in offered)}. Lenses that "
            "were made for a model are found by its name"
        )
    model, tokenizer = opened(source)
    if by == "patchscope":
        return patchscope_reader(model, tokenizer.encode(IDENTITY))
    return affine_reader(model, load_lens(name_of(source), by)) if by != "logit" else logit_reader(model)


def _lens(reading: Reading, stages: tuple[str, ...], by: By) -> tuple[Lens, list[list[list[str]]]]:
    """A lens, and its predictions as pieces of text, (stage, position, guess)."""
    read = logit_lens(opened(reading.model)[0], read_of(reading).ids, stages, reader_of(reading.model, by), by)
    return read, [[answers(reading, row) for row in stage] for stage in read.best.tolist()]


def _cells(reading: Reading, stages: tuple[str, ...], by: By) -> Cells:
    return lens_cells(*lens_of(reading, stages, by), read_of(reading).tokens)


def _states(reading: Reading) -> dict[str, Float[Tensor, "seq d_model"]]:
    return stage_states(opened(reading.model)[0], read_of(reading).ids)


def _path(reading: Reading, position: int, tokens: tuple[int, ...], by: By) -> TokenPath:
    return tokens_at(states_of(reading), reader_of(reading.model, by), position, tokens)


def _compared(reading: Reading, chosen: tuple[str, ...], first: int, last: int) -> dict[By, LensReading]:
    """All lenses of a model at some stages and at the positions from `first` to before `last`."""
    readers = {by: reader_of(reading.model, by).at(chosen) for by in lenses_of(reading.model)}
    some = {name: state[first:last] for name, state in states_of(reading).items()}
    return compare_lenses(opened(reading.model)[0], readers, some)


lens_of = kept(_lens, entries=12)
cells_of = kept(_cells, entries=12)
states_of = kept(_states, entries=2)  # at every position: 18 MB of 128 tokens of smollm2
path_of = kept(_path, entries=256)
compared_of = kept(_compared, entries=12)
