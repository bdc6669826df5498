"""Findings about changed rules of routing."""

import math
from dataclasses import dataclass

import numpy as np

from tfcore.measures.token_text import visible
from tfcore.views.experts.routing.measure.rules import RoutingSweep, loss_changes
from tfcore.views.experts.routing.measure.text_routing import RoutedText, RouterChange, TextRouting
from tfcore.views.finding import Finding, Statement, state


def largest_loss_change(before: RoutedText, after: RoutedText) -> Statement:
    """The token that a change of the routing costs most, and the mean of all but the first, in nats; 0 of a text of one
    token."""
    change, _ = loss_changes(before.routing, after.routing, 0)
    worst = int(change.argmax())
    return state(
        "loss changes",
        "Change of the loss by token: worst is '{token}' ({position}) with {largest:+.2f} nats; the mean is "
        "{mean:+.2f}.",
        token=visible(before.read.tokens[worst]),
        position=worst,
        largest=float(change[worst]),
        mean=float(change[1:].mean()) if len(change) > 1 else 0.0,
    )


@dataclass(frozen=True, slots=True)
class RuleEffect(Finding):
    """The effect of a change of the rules on the routing and the loss of a text.

    Args:
        moved: layer and mean change of the router's scores, of the first layer with experts and of the last; empty
            where noise was added to them.
        layer: the chosen one.
        room: tokens an expert takes at most; None where there is no limit.
        dropped: choices beyond it in the chosen layer.
        taken: tokens that each expert of the chosen layer takes where experts choose; else None.
        before, after: mean loss, in nats per token; nan of a text of one token.
    """

    moved: tuple[tuple[int, float], ...]
    layer: int
    room: int | None
    dropped: int
    taken: int | None
    before: float
    after: float

    @property
    def sentence(self) -> str:
        words = ["The whole model was run again with these rules in every layer, with the same weights."]
        if self.moved:
            (first, by), *later = self.moved
            same = "exactly the same" if not by else f"moved by {by:.2f}"
            ends = [
                f"; those of layer {i}, which read what other experts wrote, moved by {more:.2f}" for i, more in later
            ]
            words.append(f"Scores of layer {first} are {same}{''.join(ends)}.")
        if self.room is not None:
            words.append(
                f"Each expert has a capacity of {self.room} tokens; in layer {self.layer} {self.dropped} choices are "
                "dropped."
            )
        elif self.taken is not None:
            words.append(f"In layer {self.layer} each expert takes {self.taken} tokens.")
        if math.isnan(self.after):
            words.append("One token has nothing to predict, so there is no loss.")
        else:
            words.append(f"The loss of this text goes from {self.before:.2f} to {self.after:.2f} nats per token.")
        return " ".join(words)


def rule_effect(before: TextRouting, after: TextRouting, change: RouterChange, at: int) -> RuleEffect:
    """State the effect of a change.

    Args:
        before, after: the routing as trained, and with the change.
        change: which it was.
        at: place of the chosen layer among those with experts.
    """
    moved = np.abs(after.logits - before.logits).mean((1, 2)).tolist()
    ends = sorted({0, len(moved) - 1}) if not change.noise else []
    return RuleEffect(
        tuple((after.layers[i], moved[i]) for i in ends),
        after.layers[at],
        after.room,
        int(after.dropped[at].sum()),
        int(after.load[at].max()) if change.routing == "experts" else None,
        before.loss,
        after.loss,
    )


@dataclass(frozen=True, slots=True)
class RuleTotals:
    """A text under changed rules, counted over all layers.

    Args:
        tokens, layers: of the text, and of the model with experts.
        chosen, dropped: choices of the routers, and those beyond an expert's capacity.
        alone: tokens, in each layer, that no expert computes.
        computed, trained: pairs of token and expert that are computed, and that are as trained.
        before, after: mean loss, in nats per token; nan of a text of one token.
    """

    tokens: int
    layers: int
    chosen: int
    dropped: int
    alone: int
    computed: int
    trained: int
    before: float
    after: float

    @property
    def loss(self) -> tuple[str, str]:
        """The loss and its change, in digits."""
        return f"{self.after:.3f}", f"{self.after - self.before:+.3f}"


def rule_totals(before: TextRouting, after: TextRouting) -> RuleTotals:
    """Choices, drops and losses of all layers together."""
    layers, tokens, _ = after.chosen.shape
    return RuleTotals(
        tokens,
        layers,
        int(after.chosen.sum()),
        int(after.dropped.sum()),
        int((~after.taken.any(-1)).sum()),
        int(after.taken.sum()),
        int(before.taken.sum()),
        before.loss,
        after.loss,
    )


def sweep_ends(sweep: RoutingSweep, trained: int, loss: float) -> Statement:
    """State how the loss changes with one rule at a time.

    Args:
        trained: experts per token the model was trained with.
        loss: with the routing as trained.
    """
    return state(
        "sweep ends",
        "Loss over experts per token, capacity and noise, {runs} runs of the model: with {fewest} expert "
        "{fewest_loss:.2f}, with {trained} as trained {loss:.2f}; at capacity {tightest:g} {tightest_loss:.2f}; with "
        "noise {noisiest:g} {noisiest_loss:.2f} nats per token. Of the numbers of experts, {best} is best on this "
        "text; trained with {trained}.",
        runs=len(sweep.tokens) + len(sweep.experts) + len(sweep.cut) + len(sweep.noisy),
        fewest=sweep.top_k[0],
        fewest_loss=sweep.tokens[0],
        trained=trained,
        loss=loss,
        tightest=sweep.capacity[0],
        tightest_loss=sweep.cut[0],
        noisiest=sweep.noise[-1],
        noisiest_loss=sweep.noisy[-1],
        best=sweep.top_k[int(np.argmin(sweep.tokens))],
    )
