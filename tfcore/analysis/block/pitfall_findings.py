"""What the curves of a model with a mistake and of its baseline show, in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch

from tfcore.analysis.block import pitfalls
from tfcore.analysis.block.pitfalls import Look, Pitfall, PitfallConfig
from tfcore.analysis.finding import Finding
from tfcore.training import pitfall_tasks as tasks


@dataclass(frozen=True, slots=True)
class Symptom:
    """The number that shows a mistake.

    Args:
        title: what it is, for an axis.
        log: it is drawn on a logarithmic axis.
        top: of the axis, where it is known.
    """

    title: str
    log: bool = False
    top: float | None = None


SYMPTOMS: dict[Pitfall, Symptom] = {
    "mask": Symptom("loss with the mask on, nats per letter"),
    "axis": Symptom("loss of a text by itself, nats per letter"),
    "skip": Symptom("gradient norm at the first block", log=True),
    "final": Symptom("root mean square of what is unembedded", log=True),
    "scale": Symptom("largest attention weight of a query", top=1.0),
    "positions": Symptom("share of symbols that are right", top=1.0),
    "rate": Symptom("root mean square of the weights", log=True),
    "half": Symptom("share of gradients that became 0", top=1.0),
}


@dataclass(frozen=True, slots=True)
class Note:
    """A remark that points at a curve.

    Args:
        step, value: the place.
        text: what there is to see.
    """

    step: int
    value: float
    text: str


@dataclass(frozen=True, slots=True)
class PitfallFinding(Finding):
    """What the curves show so far.

    Args:
        loss: the remark on the loss of the model with the mistake.
        symptom: the remark on the number that shows the mistake.
        marks: losses to compare with, (value, words).
    """

    loss: Note
    symptom: Note
    marks: tuple[tuple[float, str], ...]

    @property
    def sentence(self) -> str:
        return f"Loss of the broken model {self.loss.text}; {self.symptom.text}."


def finding(config: PitfallConfig, looks: Sequence[Look]) -> PitfallFinding:
    """The remarks on the looks so far.

    Args:
        looks: at least one, in order.
    """
    last, kind = looks[-1], config.kind
    loss, (bad, good) = _on_loss(kind, looks), last.symptom
    words: dict[Pitfall, str] = {
        "mask": f"with the mask on, as in generation: {bad:.2f}",
        "axis": f"each text by itself, as in use: {bad:.2f}",
        "skip": f"gradient at the first block: {bad:.0e}, {_times(good, bad)} less than the baseline's",
        "final": f"the stream had to grow {_times(bad, looks[0].symptom[0])}",
        "scale": f"from the start one key gets {looks[0].symptom[0]:.0%} of the attention",
        "positions": f"{bad:.0%} of the symbols right, the baseline {good:.0%}",
        "rate": f"weights {_times(bad, good)} as large as the baseline's",
        "half": f"{bad:.0%} of the gradients have become 0, with loss scaling {good:.1%}",
    }
    place = looks[0] if kind == "scale" else last
    symptom = Note(place.step, place.symptom[0], words[kind])
    return PitfallFinding(loss, symptom, _marks(kind))


def _on_loss(kind: Pitfall, looks: Sequence[Look]) -> Note:
    """The remark on the loss: what it reached, beside the baseline or a model that is known."""
    last, (floor, letters) = looks[-1], (tasks.sentence_floor(), tasks.letter_loss())
    bad, good = last.loss
    worst = max(looks, key=lambda look: look.loss[0])
    if kind == "mask" and bad < floor:
        return Note(last.step, bad, f"{bad:.2f}: below the {floor:.2f} that a causal model can reach")
    if kind == "axis":
        return Note(last.step, bad, f"{bad:.2f} in the batch: nothing seems wrong")
    if kind == "positions":
        return Note(last.step, bad, f"{bad:.2f}: has the symbols, not their order")
    if worst.loss[0] > 1.3 * looks[0].loss[0]:
        return Note(worst.step, worst.loss[0], f"leaps to {worst.loss[0]:.1f}, ends at {bad:.2f}")
    if bad < 1.15 * good or last.step < 40:
        return Note(last.step, bad, f"{bad:.2f} beside {good:.2f} of the baseline")
    if bad > letters - 0.15:
        return Note(last.step, bad, f"{bad:.2f}: no better than a unigram model ({letters:.2f})")
    before = next((look.step for look in looks if look.loss[1] <= bad), last.step)
    return Note(last.step, bad, f"{bad:.2f}, where the baseline was at step {before}")


def _times(large: float, small: float) -> str:
    """How many times as large, in few digits."""
    if small <= 0:
        return "infinitely many times"
    ratio = large / small
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:,.0f} times" if ratio < 1e5 else f"{ratio:.0e} times"


def _marks(kind: Pitfall) -> tuple[tuple[float, str], ...]:
    if kind == "positions":
        return ((without_places(), "best without positions"),)
    return ((tasks.letter_loss(), "unigram model"), (tasks.sentence_floor(), "best causal model"))


@cache
def without_places() -> float:
    """The lowest loss of the reversing task without positions, over many rows."""
    return tasks.reverse_floor(tasks.reverse_batch(4_000, torch.Generator().manual_seed(0)))


@dataclass(frozen=True, slots=True)
class Compared(Finding):
    """One number of both models at the last look.

    Args:
        what: the number is.
        mistake: name of the mistake.
        step: training steps done.
        broken, baseline: the number with the mistake, and without.
        remark: on the curve.
    """

    what: str
    mistake: str
    step: int
    broken: float
    baseline: float
    remark: str

    @property
    def sentence(self) -> str:
        return (
            f"{self.what} after {self.step} steps, {self.mistake}: {self.broken:.3g} with the mistake, "
            f"{self.baseline:.3g} without. {self.remark[0].upper()}{self.remark[1:]}."
        )


def compare_losses(found: PitfallFinding, looks: Sequence[Look], mistake: str) -> Compared:
    """The training losses at the last look."""
    return Compared("Training loss", mistake, looks[-1].step, *looks[-1].loss, found.loss.text)


def compare_symptoms(found: PitfallFinding, looks: Sequence[Look], kind: Pitfall, mistake: str) -> Compared:
    """The numbers that show the mistake, at the last look."""
    what = SYMPTOMS[kind].title
    return Compared(what[0].upper() + what[1:], mistake, looks[-1].step, *looks[-1].symptom, found.symptom.text)


@dataclass(frozen=True, slots=True)
class HalfPrecision(Finding):
    """How float16 is emulated on a CPU.

    Args:
        batch: letters of one batch.
        batches: that one step's mean stands for.
        loss_scale: by which the baseline multiplies its loss.
    """

    batch: int
    batches: int
    loss_scale: float

    @property
    def sentence(self) -> str:
        return (
            "How float16 is emulated on a CPU: weights and forward pass stay in float32, and the gradient that goes "
            "back through the output of each linear layer, embedding and norm is rounded to float16. One batch of "
            f"{self.batch} letters stands for each of the {self.batches:,} of a step ({self.batch * self.batches:,} "
            f"letters), so the loss is divided by {self.batches:,} before the backward pass and the weights' gradients "
            "are multiplied by it afterwards, as if all of them had been summed. The baseline multiplies the loss by "
            f"{self.loss_scale:,.0f} first."
        )


def half_precision(config: PitfallConfig) -> HalfPrecision:
    """The numbers of a training with the mistake "half"."""
    return HalfPrecision(pitfalls.ROWS * pitfalls.SEQ, config.dose, pitfalls.LOSS_SCALE)
