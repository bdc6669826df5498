"""Figures often quoted: what a claim is, how the verdict follows from the computed numbers, and sentences on both."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tfcore.analysis.finding import Finding

Verdict = Literal["true", "roughly", "wrong", "depends"]
VERDICTS: tuple[Verdict, ...] = ("true", "roughly", "depends", "wrong")
Chapter = Literal["Foundations", "Block", "Model", "Training", "Inference", "Inside"]

EXACT = 0.01  # relative error up to which a claim is true
ROUGH = 0.10  # relative error up to which it is roughly true
EXACT_TEXT = f"{EXACT:.0%}"
ROUGH_TEXT = f"{ROUGH:.0%}"


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of recomputing a claim.

    Args:
        found: the computed value, in words.
        verdict: on the claim.
        ratios: case -> computed value over quoted value; 1 is as quoted.
    """

    found: str
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
        """It is measured on a trained model."""
        return "model" in inspect.signature(self.compute).parameters

    def check(self, model: Any, tokenizer: Any) -> Checked:
        """Recompute it now."""
        return self.compute(model, tokenizer) if self.needs_model else self.compute()


def compare(
    quoted: float, found: Mapping[str, float], words: str, exact: float = EXACT, rough: float = ROUGH
) -> Checked:
    """Judge one quoted number by what was computed for it, in one case or several.

    A case is true if it is off by no more than the share `exact`, roughly true up to `rough`, and wrong beyond. Cases
    that are all wrong make the claim wrong; some right and some wrong ones make it depend on the case.

    Args:
        quoted: the number as it is said.
        found: case -> the number as it was computed.
        words: the computed value, for people.
    """
    ratios = {case: value / quoted for case, value in found.items()}
    off = [abs(ratio - 1) for ratio in ratios.values()]
    if all(one <= exact for one in off):
        return Checked(words, "true", ratios)
    if all(one <= rough for one in off):
        return Checked(words, "roughly", ratios)
    return Checked(words, "wrong" if all(one > rough for one in off) else "depends", ratios)


# ---- findings ----


@dataclass(frozen=True, slots=True)
class ClaimVerdict(Finding):
    """A claim with its verdict and the computed value in words."""

    said: str
    verdict: Verdict
    found: str

    @property
    def sentence(self) -> str:
        return f"“{self.said}” is {self.verdict}: {self.found}."


@dataclass(frozen=True, slots=True)
class VerdictCounts(Finding):
    """How many of the claims that are shown have each verdict.

    Args:
        shown, total: claims shown, and claims in all.
        counts: verdict -> number of claims shown.
    """

    shown: int
    total: int
    counts: dict[Verdict, int]

    @property
    def sentence(self) -> str:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in self.counts.items())
        return f"{self.shown} of {self.total} claims: {counts}."


def verdict_counts(shown: Iterable[Checked], total: int) -> VerdictCounts:
    """Count the verdicts."""
    found = Counter(one.verdict for one in shown)
    return VerdictCounts(found.total(), total, {verdict: found[verdict] for verdict in VERDICTS})


@dataclass(frozen=True, slots=True)
class AllVerdicts(Finding):
    """The same of all claims, in a sentence."""

    counts: dict[Verdict, int]

    @property
    def sentence(self) -> str:
        count = self.counts
        return (
            f"Of all {sum(count.values())} claims, {count['true']} are true, {count['roughly']} roughly true, "
            f"{count['wrong']} wrong, and {count['depends']} depend on the case."
        )


def all_verdicts(every: Iterable[Checked]) -> AllVerdicts:
    """Count the verdicts of all claims."""
    found = Counter(one.verdict for one in every)
    return AllVerdicts({verdict: found[verdict] for verdict in VERDICTS})
