"""Remarks on the curves of a model that is trained with a mistake, and of its baseline."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch

from tfcore.charts.twins import Remark
from tfcore.training import pitfall_tasks as tasks
from tfcore.training.pitfalls import Pitfall, PitfallConfig, PitfallEvaluation
from tfcore.views.finding import Finding


@dataclass(frozen=True, slots=True)
class Remarks(Finding):
    """Remarks on the curves so far.

    Args:
        loss: the remark on the loss of the model with the mistake.
        symptom: the remark on the number that shows the mistake.
        marks: losses to compare with, (value, words).
    """

    loss: Remark
    symptom: Remark
    marks: tuple[tuple[float, str], ...]

    @property
    def sentence(self) -> str:
        return f"Loss of the broken model {self.loss.text}; {self.symptom.text}."


def remarks(config: PitfallConfig, looks: Sequence[PitfallEvaluation]) -> Remarks:
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
    symptom = Remark(place.step, place.symptom[0], words[kind])
    return Remarks(loss, symptom, _marks(kind))


def _on_loss(kind: Pitfall, looks: Sequence[PitfallEvaluation]) -> Remark:
    """The remark on the loss: what it reached, beside the baseline or a model that is known."""
    last, (floor, letters) = looks[-1], (tasks.sentence_floor(), tasks.letter_loss())
    bad, good = last.loss
    worst = max(looks, key=lambda look: look.loss[0])
    if kind == "mask" and bad < floor:
        return Remark(last.step, bad, f"{bad:.2f}: below the {floor:.2f} that a causal model can reach")
    if kind == "axis":
        return Remark(last.step, bad, f"{bad:.2f} in the batch: nothing seems wrong")
    if kind == "positions":
        return Remark(last.step, bad, f"{bad:.2f}: has the symbols, not their order")
    if worst.loss[0] > 1.3 * looks[0].loss[0]:
        return Remark(worst.step, worst.loss[0], f"leaps to {worst.loss[0]:.1f}, ends at {bad:.2f}")
    if bad < 1.15 * good or last.step < 40:
        return Remark(last.step, bad, f"{bad:.2f} beside {good:.2f} of the baseline")
    if bad > letters - 0.15:
        return Remark(last.step, bad, f"{bad:.2f}: no better than a unigram model ({letters:.2f})")
    before = next((look.step for look in looks if look.loss[1] <= bad), last.step)
    return Remark(last.step, bad, f"{bad:.2f}, where the baseline was at step {before}")


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
