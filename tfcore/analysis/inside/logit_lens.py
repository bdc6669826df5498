"""The logit lens: what the model would predict if it stopped after each sublayer, read with its own final norm."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.inspection.tuned_lens import TunedLens
from tfcore.measures.lenses import check_model, lens_logits, stage_names, stage_states, stages
from tfcore.measures.one_text import one_text
from tfcore.measures.quantities import counted
from tfcore.measures.token_text import label, visible
from tfcore.model import Transformer

KEPT = 5  # top predictions kept at each stage and position
EMBEDDED = "embed"  # the short name of the first stage
LISTED = 9  # stages up to which a sentence gives the probability after each


@dataclass(frozen=True, slots=True)
class Lens:
    """Top predictions read from the stream at some stages and every position of a text.

    Args:
        stages: names of the stream's states, see tfcore.inspection.capture.
        best: ids of the most probable tokens, the most probable first.
        probability: of each of them.
        next_probability: probability of the token that follows in the text.
        next_rank: how many tokens are more probable than that one; 0 where it is the top prediction.
        tuned: whether they are read by a tuned lens.
    """

    stages: tuple[str, ...]
    best: Int[ndarray, "stage seq guess"]
    probability: Float[ndarray, "stage seq guess"]
    next_probability: Float[ndarray, "stage next"]
    next_rank: Int[ndarray, "stage next"]
    tuned: bool = False

    def correct_cells(self) -> Bool[ndarray, "stage seq"]:
        """Where the top prediction is the token that follows; nowhere at the last position, which nothing follows."""
        return np.pad(self.next_rank == 0, ((0, 0), (0, 1)))


@dataclass(frozen=True, slots=True)
class TokenPath:
    """Some tokens at one position, stage by stage.

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
    following = text[:, 1:].T  # (next, 1)
    rows = []
    for name in names:  # one by one: all logits at once would be stage * seq * vocab numbers
        x = states[name].squeeze(0)
        logits = lens_logits(model, x if tuned is None else tuned(name, x)).float()
        probability = logits.softmax(1)
        top = probability.topk(min(KEPT, model.config.vocab_size))
        next_probability = probability[:-1].gather(1, following).squeeze(1)
        next_rank = (logits[:-1] > logits[:-1].gather(1, following)).sum(1)
        rows.append((top.indices, top.values, next_probability, next_rank))
    best, values, next_values, ranks = (torch.stack(part).cpu().numpy() for part in zip(*rows, strict=True))
    return Lens(names, best, values, next_values, ranks, tuned is not None)


def follow_tokens(
    model: Transformer, ids: Sequence[int], position: int, tokens: Sequence[int], tuned: TunedLens | None = None
) -> TokenPath:
    """Probability, logit and rank of some tokens after every stage, at one position of a text; by a tuned lens where
    one is given."""
    return tokens_at(model, stage_states(model, ids, tuned), position, tokens)


@torch.no_grad()
def tokens_at(
    model: Transformer, states: Float[Tensor, "stage seq d_model"], position: int, tokens: Sequence[int]
) -> TokenPath:
    """The same, from the states of a text that are there already."""
    names = stages(model.config)
    logits = lens_logits(model, states[:, position]).float()  # (stage, vocab)
    chosen = logits[:, list(tokens)]
    centred = chosen - logits.mean(1, keepdim=True)
    probability = logits.softmax(1)[:, list(tokens)]
    rows = zip(logits.cpu().numpy(), chosen.cpu().numpy(), strict=True)
    rank = np.array([[np.count_nonzero(row > one) for one in own] for row, own in rows])  # a tenth of torch's time
    return TokenPath(names, probability.cpu().numpy(), centred.cpu().numpy(), rank)


def spread_out(names: Sequence[str], most: int) -> tuple[str, ...]:
    """At most so many of the names, as evenly apart as they can be, the first and the last among them."""
    return tuple(names[i] for i in np.linspace(0, len(names) - 1, min(most, len(names))).round().astype(int))


class Cells(NamedTuple):
    """What is printed in each cell of the grid, and its hover text, each (position, stage)."""

    words: list[list[str]]
    hovers: list[list[str]]


def lens_cells(found: Lens, pieces: Sequence[Sequence[Sequence[str]]], tokens: Sequence[str]) -> Cells:
    """The top prediction of each cell; on hover the five most probable tokens and the rank of the one that follows.

    Args:
        pieces: the predicted tokens as text, (stage, position, guess).
        tokens: of the text.
    """
    places, shown = range(len(tokens)), range(len(found.stages))
    words = [[label(pieces[s][i][0], 8) for s in shown] for i in places]
    return Cells(words, [[_hover(found, pieces, tokens, s, i) for s in shown] for i in places])


def _hover(found: Lens, pieces: Sequence[Sequence[Sequence[str]]], tokens: Sequence[str], s: int, i: int) -> str:
    guesses = zip(pieces[s][i], found.probability[s, i].tolist(), strict=True)
    first = ", ".join(f"{label(token, 10)} {probability:.0%}" for token, probability in guesses)
    if i + 1 == len(tokens):
        return first
    rank, probability = found.next_rank[s, i] + 1, found.next_probability[s, i]
    return f"{first}<br>'{label(tokens[i + 1], 10)}' has rank {rank}, {probability:.1%}"


# ---- findings ----


@dataclass(frozen=True, slots=True)
class CorrectByStage(Finding):
    """At how many positions the top prediction is the token that follows, stage by stage.

    Args:
        counts: stage -> number of positions.
        possible: positions that have a following token.
        tuned: whether they are read by a tuned lens.
    """

    counts: dict[str, int]
    possible: int
    tuned: bool = False

    @property
    def sentence(self) -> str:
        lens = "Tuned lens" if self.tuned else "Logit lens"
        stages = f"{lens}: predictions at {self.possible + 1} positions after {len(self.counts)} stages. "
        counts = ", ".join(f"{count} {_read_from(name)}" for name, count in self.counts.items())
        return f"{stages}Correct of {self.possible}: {counts}."


def _read_from(stage: str) -> str:
    return "read from the embedding" if stage == EMBEDDED else f"after {stage}"


def correct_by_stage(found: Lens) -> CorrectByStage:
    """Counts for every stage of the lens."""
    names, counts = stage_names(found.stages), found.correct_cells().sum(1).tolist()
    return CorrectByStage(dict(zip(names, counts, strict=True)), found.next_rank.shape[1], found.tuned)


@dataclass(frozen=True, slots=True)
class CorrectAtEnds(Finding):
    """The same for the first and the last of the stages shown.

    Args:
        begins, ends: their names.
        first, last: correct predictions there.
        possible: positions that have a following token.
    """

    begins: str
    ends: str
    first: int
    last: int
    possible: int

    @property
    def sentence(self) -> str:
        begins = "the embedding" if self.begins == EMBEDDED else self.begins
        return f"Correct of {self.possible}: {self.first} after {begins}, {self.last} after {self.ends}."


def correct_at_ends(found: Lens) -> CorrectAtEnds:
    """Counts of the first and the last stage."""
    names, counts = stage_names(found.stages), found.correct_cells().sum(1).tolist()
    return CorrectAtEnds(names[0], names[-1], counts[0], counts[-1], found.next_rank.shape[1])


@dataclass(frozen=True, slots=True)
class CorrectOnTheWay(Finding):
    """Where the token that follows is the top prediction before the last stage, and whether it stays.

    Args:
        last: positions at which it is the top prediction after the last stage.
        before: of these, those at which it was already after the stage before.
        lost: positions at which it was at some stage and is not after the last.
    """

    last: int
    before: int
    lost: int

    @property
    def sentence(self) -> str:
        if not self.last and not self.lost:
            return "The correct next token, framed, is the prediction nowhere in this text, at no stage."
        first = f"The correct next token, framed, is the prediction at {counted(self.last, 'position')} in the end"
        was = f", at {self.before} of them already a stage before" if self.last else ""
        return f"{first}{was}; at {self.lost} it was at some stage and is lost again."


def correct_on_the_way(found: Lens) -> CorrectOnTheWay:
    """Count the framed cells of every row."""
    framed = found.correct_cells()
    last, before = framed[-1], framed[-2] if len(framed) > 1 else framed[-1]
    return CorrectOnTheWay(int(last.sum()), int((last & before).sum()), int((framed.any(0) & ~last).sum()))


@dataclass(frozen=True, slots=True)
class EmbeddingPredictsInput(Finding):
    """Read from the embedding, the share of positions whose top prediction is the token just read.

    Args:
        share: of the positions.
        tied: whether the unembedding is the embedding's matrix.
    """

    share: float
    tied: bool

    @property
    def sentence(self) -> str:
        why = (
            "The unembedding is tied to the embedding, so a token's own vector is read as that token"
            if self.tied
            else "The unembedding is a matrix of its own, not tied to the embedding"
        )
        return (
            f"Read from the embedding alone, {self.share:.0%} of the positions predict the very token just read. {why}."
        )


def embedding_predicts_input(found: Lens, ids: Sequence[int], tied: bool) -> EmbeddingPredictsInput:
    """Compare the top predictions of the first stage with the tokens of the text."""
    return EmbeddingPredictsInput(float((found.best[0, :, 0] == np.array(ids)).mean()), tied)


@dataclass(frozen=True, slots=True)
class ProbabilityByStage(Finding):
    """One token's probability stage by stage.

    Args:
        token: the token.
        stages: their names.
        probabilities: after each stage.
        leads: names of the stages at which it is the top prediction.
    """

    token: str
    stages: tuple[str, ...]
    probabilities: tuple[float, ...]
    leads: tuple[str, ...]

    @property
    def sentence(self) -> str:
        if len(self.probabilities) > LISTED:
            return f"{self._course} {self._lead_of_many}"
        lead = f"the top prediction after {', '.join(self.leads)}" if self.leads else "the top prediction at no stage"
        steps = ", ".join(f"{probability:.0%}" for probability in self.probabilities)
        return f"Probability of '{visible(self.token)}' stage by stage: {steps}. It is {lead}."

    @property
    def _course(self) -> str:
        """Where it begins, where it first has half of its highest value, and where it ends."""
        first, *_, last = self.probabilities
        half = max(self.probabilities) / 2
        reached = next(i for i, probability in enumerate(self.probabilities) if probability >= half)
        return (
            f"Probability of '{visible(self.token)}': {first:.0%} {_read_from(self.stages[0])}, "
            f"{self.probabilities[reached]:.0%} {_read_from(self.stages[reached])}, {last:.0%} at the end; the highest "
            f"is {max(self.probabilities):.0%}."
        )

    @property
    def _lead_of_many(self) -> str:
        if not self.leads:
            return "It is the top prediction at no stage."
        return (
            f"It is the top prediction at {len(self.leads)} of {len(self.stages)} stages, first "
            f"{_read_from(self.leads[0])}."
        )


def probability_by_stage(path: TokenPath, token: str) -> ProbabilityByStage:
    """Of the first token of the path, whose text is `token`."""
    names = stage_names(path.stages)
    leads = tuple(name for name, rank in zip(names, path.rank[:, 0], strict=True) if rank == 0)
    return ProbabilityByStage(token, tuple(names), tuple(path.probability[:, 0].tolist()), leads)
