"""Findings on the lenses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tfcore.measures.lenses import LensReading, stage_names
from tfcore.measures.token_text import visible
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.inside.stream.measure.lens import EMBEDDED, LENSES, By, Lens, TokenPath

LISTED = 9  # stages up to which a sentence gives the number after each
NUMBERS = 12  # in a sentence on several lenses


def lens_divergences(compared: Mapping[By, LensReading]) -> Statement:
    """The mean KL divergence at some stages, in nats, by each lens; mean over positions of a text. The stages are those
    that every lens reads."""
    common = set.intersection(*(set(read.stages) for read in compared.values()))
    names = _names(compared)
    rows = [stage for stage in names if stage in common]
    means = {by: dict(zip(read.stages, read.divergence.mean(1), strict=True)) for by, read in compared.items()}
    every = -(-len(rows) // (NUMBERS // len(compared)))
    chosen = rows[::-every][::-1]
    return state(
        "lens divergence",
        "Mean KL divergence from the model's own predictions, in nats, by the {lenses}: {stages}; over "
        "{positions:counted position}.",
        lenses=_listed([LENSES[by] for by in compared], ", the "),
        stages=", ".join(
            f"{names[stage]} {_listed([f'{of[stage]:.2f}' for of in means.values()])}" for stage in chosen
        ),
        positions=compared["logit"].divergence.shape[1],
    )


def _names(compared: Mapping[By, LensReading]) -> dict[str, str]:
    """The short name of each stage."""
    every = compared["logit"].stages
    return dict(zip(every, stage_names(every), strict=True))


def _listed(parts: Sequence[str], between: str = ", ") -> str:
    """a, b and c."""
    *first, last = parts
    if not first:
        return last
    return f"{between.join(first)} and {between.removeprefix(', ')}{last}"


@dataclass(frozen=True, slots=True)
class LeadsFrom(Finding):
    """From which stage on the model's own prediction after one position leads, by each lens.

    Args:
        token: the prediction.
        position: of the text.
        first: lens -> the short name of the first stage from which it leads at every later stage, too.
    """

    token: str
    position: int
    first: Mapping[By, str]

    @property
    def sentence(self) -> str:
        start = f"The model's prediction after position {self.position}, '{visible(self.token)}', leads"
        named = {by: "the embedding" if stage == EMBEDDED else stage for by, stage in self.first.items()}
        if len(named) > 1 and len(set(named.values())) == 1:
            return f"{start} from {named['logit']} on by every lens."
        return f"{start} {', '.join(f'from {stage} on by the {LENSES[by]}' for by, stage in named.items())}."


def leads_from(compared: Mapping[By, LensReading], position: int, token: str) -> LeadsFrom:
    """State from which of its stages on the model's top prediction leads by each lens.

    Args:
        compared: what is read at this one position.
        position: of the text.
        token: the text of the prediction.
    """
    names = _names(compared)

    def first(read: LensReading) -> str:
        others = np.flatnonzero(read.best[:, 0] != read.best[-1, 0])
        return names[read.stages[int(others[-1]) + 1 if len(others) else 0]]

    return LeadsFrom(token, position, {by: first(read) for by, read in compared.items()})


def _read_from(stage: str) -> str:
    return "read from the embedding" if stage == EMBEDDED else f"after {stage}"


def correct_by_stage(read: Lens) -> Statement:
    """The number of positions at which the top prediction is the token that follows, or the class of the end, stage by
    stage."""
    names, counts = stage_names(read.stages), read.correct_cells().sum(1).tolist()
    possible = read.next_rank.shape[1]
    return state(
        "correct by stage",
        "{lens}: predictions at {positions} positions after {stages} stages. {right} of {possible}: {counts}.",
        lens=LENSES[read.by][0].upper() + LENSES[read.by][1:],
        right=_right(read),
        positions=read.best.shape[1],
        stages=len(names),
        possible=possible,
        counts=", ".join(f"{count} {_read_from(name)}" for name, count in zip(names, counts, strict=True)),
    )


def correct_at_ends(read: Lens) -> Statement:
    """The numbers of `correct_by_stage` for the first and the last of the stages shown."""
    names, counts = stage_names(read.stages), read.correct_cells().sum(1).tolist()
    return state(
        "correct at ends",
        "{right} of {possible}: {first} after {begins}, {last} after {ends}.",
        right=_right(read),
        possible=read.next_rank.shape[1],
        first=counts[0],
        begins="the embedding" if names[0] == EMBEDDED else names[0],
        last=counts[-1],
        ends=names[-1],
    )


def _right(read: Lens) -> str:
    """What the framed cells are."""
    return "Correct" if read.classes is None else "The class of the end"


def correct_on_the_way(read: Lens) -> Statement:
    """At how many positions the token that follows is the top prediction after the last stage, at how many of these it
    was already a stage before, and at how many it was at some stage and is not after the last; of classes, at how many
    that of the end is read half way."""
    framed = read.correct_cells()
    last, before = framed[-1], framed[-2] if len(framed) > 1 else framed[-1]
    if read.classes is not None:
        half = len(framed) // 2
        return state(
            "class on the way",
            "Half way, {stage}, the class is that of the end, framed, at {half} of {n:counted position}.",
            stage=_read_from(stage_names(read.stages)[half]),
            half=int(framed[half].sum()),
            n=framed.shape[1],
        )
    if not framed.any():
        return state("nowhere", "The correct next token, framed, is the prediction nowhere in this text, at no stage.")
    was = ", at {before} of them already a stage before" if last.any() else ""
    return state(
        "correct on the way",
        "The correct next token, framed, is the prediction at {last:counted position} in the end"
        + was
        + "; at {lost} it was at some stage and is lost again.",
        last=int(last.sum()),
        before=int((last & before).sum()),
        lost=int((framed.any(0) & ~last).sum()),
    )


def embedding_predicts_input(read: Lens, ids: Sequence[int], tied: bool) -> Statement:
    """The share of positions whose top prediction, read from the embedding, is the token just read.

    Args:
        tied: whether the unembedding is the embedding's matrix.
    """
    why = (
        "The unembedding is tied to the embedding, so a token's own vector is read as that token"
        if tied
        else "The unembedding is a matrix of its own, not tied to the embedding"
    )
    return state(
        "embedding",
        "Read from the embedding alone, {share:.0%} of the positions predict the very token just read. {why}.",
        share=float((read.best[0, :, 0] == np.array(ids)).mean()),
        why=why,
    )


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
    """State the probability, by stage, of the first token of the path, whose text is `token`."""
    names = stage_names(path.stages)
    leads = tuple(name for name, rank in zip(names, path.rank[:, 0], strict=True) if rank == 0)
    return ProbabilityByStage(token, tuple(names), tuple(path.probability[:, 0].tolist()), leads)
