"""Networks trained alike, side by side: what is said of them, and the two pictures that every page has of such a
training: the losses, and what is right by place."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tfcore.charts.alike import Against, NetworkStyle, course_figure, place_figure
from tfcore.measures.quantities import span
from tfcore.training.alike import AlikeConfig, Comparison, Repeats, accuracy_ranges
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.view import View

THRESHOLD = 0.8  # of right tokens, to say when a task is learned


def held_out_accuracy(compared: Comparison) -> Statement:
    """The share of right tokens on held-out rows, and the loss there in nats per token, at the last look."""
    last, kinds, names = compared.last, compared.config.kinds, compared.config.names
    each = [
        f"{names[kind]} {share:.1%} (loss {loss:.2g})"
        for kind, share, loss in zip(kinds, last.accuracy, last.held_out, strict=True)
    ]
    return state(
        "held-out",
        "Right tokens on held-out rows after {step:counted step}: {each}.",
        step=last.step,
        each=", ".join(each),
        accuracy=dict(zip(kinds, last.accuracy, strict=True)),
    )


@dataclass(frozen=True, slots=True)
class Learned(Finding):
    """When each network first had THRESHOLD of the held-out tokens right.

    Args:
        when: (network, step, seconds of its own steps); (network, 0, 0) where it did not.
        steps: of the comparison until now.
        in_sentence: network -> its name with an article.
    """

    when: tuple[tuple[str, int, float], ...]
    steps: int
    in_sentence: Mapping[str, str]

    @property
    def sentence(self) -> str:
        reached = [f"{self.in_sentence[kind]} after {step} steps ({s:.1f} s)" for kind, step, s in self.when if step]
        missed = [self.in_sentence[kind] for kind, step, _ in self.when if not step]
        if not reached:
            return f"None has {THRESHOLD:.0%} right within {self.steps} steps."
        never = f"; not within {self.steps} steps: {', '.join(missed)}" if missed else ""
        return f"{THRESHOLD:.0%} right: {', '.join(reached)}{never}."


def learned(compared: Comparison) -> Learned:
    """The first look of each network at which it has THRESHOLD right."""
    when: list[tuple[str, int, float]] = []
    for i, kind in enumerate(compared.config.kinds):
        look = next((look for look in compared.looks if look.accuracy[i] >= THRESHOLD), None)
        when.append((kind, look.step, look.seconds[i]) if look else (kind, 0, 0.0))
    return Learned(tuple(when), compared.last.step, compared.config.in_sentence)


def accuracy_by_place(compared: Comparison, first: str, last: str) -> Statement:
    """The share of right tokens at the first and at the last place or distance, at the last look.

    Args:
        first, last: what these places are.
    """
    ends = [
        (kind, shares[0], shares[-1])
        for kind, shares in zip(compared.config.kinds, compared.last.by_place, strict=True)
    ]
    each = ", ".join(f"{compared.config.names[kind]} {near:.0%} and {far:.0%}" for kind, near, far in ends)
    return state("places", "Right {first} and {last}: {each}.", first=first, last=last, each=each, ends=ends)


def seed_spread(repeats: Repeats, config: AlikeConfig) -> Statement:
    """The lowest and the highest share of right tokens at the end of each network, over all seeds."""
    ranges = {kind: (one.low, one.high) for kind, one in accuracy_ranges(repeats, config.kinds).items()}
    each = ", ".join(f"{config.names[kind]} {span(ends, '.0%')}" for kind, ends in ranges.items())
    return state(
        "seeds",
        "Over {seeds} seeds of weights and batches: {each} right at the end.",
        seeds=len(repeats.seeds),
        each=each,
        ranges=ranges,
    )


def course_view(
    compared: Comparison,
    against: Against,
    styles: Mapping[Any, NetworkStyle],
    height: int,
    repeats: Repeats | None,
    **about: Any,
) -> View:
    """The loss of all networks against steps or seconds; and what the same training gives with other seeds.

    Args:
        repeats: of the same training; None where there are none.
        about: of the view besides: formula, papers, terms, code.
    """
    spread = () if repeats is None else (seed_spread(repeats, compared.config),)
    accuracy = held_out_accuracy(compared)
    counted = {2: "two", 3: "three"}.get(len(compared.config.kinds), str(len(compared.config.kinds)))
    return View(
        key="course",
        title="The loss",
        result=compared,
        chart=course_figure(compared, against, styles, height),
        min_width=340,
        findings=(accuracy, learned(compared), *spread),
        described=state(
            "course", "Held-out loss of {counted} networks. {accuracy}", counted=counted, accuracy=accuracy
        ),
        note=f"Strong lines: held-out rows; thin: the batches. On {compared.machine}.",
        table=lambda: _course_table(compared),
        **about,
    )


def _course_table(compared: Comparison) -> pd.DataFrame:
    """Every look, one row for each network."""
    return pd.DataFrame(
        [
            (compared.config.names[kind], look.step, look.seconds[i], look.loss[i], look.held_out[i], look.accuracy[i])
            for look in compared.looks
            for i, kind in enumerate(compared.config.kinds)
        ],
        columns=["network", "step", "seconds", "loss", "held-out loss", "accuracy"],
    )


def places_view(
    compared: Comparison,
    repeats: Repeats | None,
    styles: Mapping[Any, NetworkStyle],
    axis: str,
    finding: Finding,
    height: int,
    **about: Any,
) -> View:
    """The share of right tokens of each network, by the distance or the place of the answer.

    Args:
        axis: what the places are.
        finding: what is said of them.
    """
    names = compared.config.names
    by_network = {names[kind]: row for kind, row in zip(compared.config.kinds, compared.last.by_place, strict=True)}
    return View(
        key="places",
        title="By place",
        result=compared,
        chart=place_figure(compared, repeats, styles, axis, height),
        min_width=340,
        findings=(finding,),
        note="Bars: lowest to highest of all seeds." if repeats else "",
        table=lambda: pd.DataFrame({"place": compared.places, **by_network}),
        **about,
    )
