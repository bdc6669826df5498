"""Figures often quoted: what a claim is, and how the verdict follows from the computed numbers."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["true", "roughly", "wrong", "depends"]
VERDICTS: tuple[Verdict, ...] = ("true", "roughly", "depends", "wrong")
Chapter = Literal["Foundations", "Block", "Model", "Training", "Inference", "Inside"]

EXACT = 0.01  # relative error up to which a claim is true
ROUGH = 0.10  # relative error up to which it is roughly true


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of recomputing a claim.

    Args:
        computed: the computed value, in words.
        verdict: on the claim.
        ratios: case -> computed value over quoted value; 1 is as quoted.
    """

    computed: str
    verdict: Verdict
    ratios: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A figure or a sentence that is often quoted.

    Args:
        key: its name in the address.
        name: a few words.
        said: the claim.
        where: where it is said, or comes from.
        why: in one line, why it is so.
        chapter: of this app.
        see: the view of this app that shows it.
        compute: the function that recomputes it; it takes a model and its tokenizer where it needs them.
    """

    key: str
    name: str
    said: str
    where: str
    why: str
    chapter: Chapter
    see: str
    compute: Callable[..., Checked]

    @property
    def needs_model(self) -> bool:
        """Whether it is measured on a trained model."""
        return "model" in inspect.signature(self.compute).parameters

    def check(self, model: Any, tokenizer: Any) -> Checked:
        """Recompute it now."""
        return self.compute(model, tokenizer) if self.needs_model else self.compute()


def compare(
    quoted: float, computed: Mapping[str, float], words: str, exact: float = EXACT, rough: float = ROUGH
) -> Checked:
    """Judge one quoted number by what was computed for it, in one case or several.

    A case is true if it is off by no more than the share `exact`, roughly true up to `rough`, and wrong beyond. Cases
    that are all wrong make the claim wrong; some right and some wrong ones make it depend on the case.

    Args:
        quoted: the number as it is said.
        computed: case -> the number as it was computed.
        words: the computed value, for people.
    """
    ratios = {case: value / quoted for case, value in computed.items()}
    off = [abs(ratio - 1) for ratio in ratios.values()]
    if all(one <= exact for one in off):
        return Checked(words, "true", ratios)
    if all(one <= rough for one in off):
        return Checked(words, "roughly", ratios)
    return Checked(words, "wrong" if all(one > rough for one in off) else "depends", ratios)
