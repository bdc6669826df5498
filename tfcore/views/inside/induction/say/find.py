"""Findings on induction heads: where they attend, which heads they are, and the loss with and without them."""

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Float
from numpy import ndarray

from tfcore.measures.heads.induction_heads import STRONG, Copying, HeadsByScore, Place, listed, ranked
from tfcore.measures.heads.kinds import targets
from tfcore.measures.token_text import shorten, visible
from tfcore.views.finding import Finding, Statement, state

GONE = 0.8  # share of the copying that is lost: nearly all of it from here on
LEFT = 0.1  # hardly any of it below this
TOKEN_LETTERS = 12  # of a token in a sentence; a longer one is cut
BEST = 3  # heads that a sentence about scores names
SCORES = {  # what the number of each head is
    "induction": "mean weight on the token after an earlier occurrence of the query token",
    "previous token": "mean weight on the previous token",
    "duplicate": "mean weight on earlier occurrences of the query token",
    "alone": "loss on repeated tokens, nats, when this head alone is set to zero (one sequence)",
}


def induction_stripe(now: Copying, head: Place, off: Sequence[Place]) -> Statement:
    """The induction score of one head on a repeated text, where `off` are ablated."""
    name = f"layer {head[0]}, head {head[1]}"
    name += " (ablated: it attends, but writes nothing)" if head in off else ""
    if not targets(now.ids)["induction"].any():
        return state("no stripe", "No token of this text comes twice, so {name} has nothing to find.", name=name)
    return state(
        "stripe",
        "{name} puts {weight:.2f} of its weight on the token after an earlier occurrence of the query token.",
        name=name[0].upper() + name[1:],
        weight=float(now.scores["induction"][head]),
    )


def first_hidden(token: str, share: float, head: Place, end: float) -> Statement:
    """The first token is left out of the map of a head.

    Args:
        share: of the weight of the other tokens that lies on it.
        end: where the colours end.
    """
    return state(
        "first token hidden",
        "Hidden: '{token}' (0), with {share:.0%} of the weight of head {head}; colours end at {end:.2f}.",
        token=shorten(visible(token), TOKEN_LETTERS),
        share=share,
        head=f"{head[0]}.{head[1]}",
        end=end,
    )


@dataclass(frozen=True, slots=True)
class Stripe(Finding):
    """Whether any head shows the stripe of an induction head on this text, and which shows it most.

    Args:
        copies: whether the text consists of two copies.
        best, weight: the head with the largest mean weight on the token after an earlier occurrence of the query token,
            and that weight; None where no token of the text stood there before.
    """

    copies: bool
    best: Place | None
    weight: float

    @property
    def sentence(self) -> str:
        if self.best is None:
            return (
                "No token of this text stood in it before, so there is no **stripe** to see, the weight that an "
                "induction head puts on the token after an earlier occurrence: repeat a phrase, or the text."
            )
        begins = (
            "The **stripe** of an induction head, far below the diagonal: each token of the second copy attends to the "
            "token *after* its first occurrence."
            if self.copies
            else "The mark of an induction head: a token that stood in the text before attends to the token *after* "
            "its earlier occurrence."
        )
        most = f"{listed([self.best])}, with a mean weight of {self.weight:.2f}"
        if self.weight >= STRONG:
            return f"{begins} In this text it is clearest in {most}."
        return f"{begins} No head shows it clearly in this text: the nearest is {most}."


def find_stripe(now: Copying, *, copies: bool) -> Stripe:
    """The scores on this text."""
    if not targets(now.ids)["induction"].any():
        return Stripe(copies, None, 0.0)
    best = ranked(now.scores["induction"])[0]
    return Stripe(copies, best, float(now.scores["induction"][best]))


def highest_scores(values: Float[ndarray, "layer head"], kind: str) -> Statement:
    """The BEST heads with the highest numbers of one kind of SCORES, the highest first."""
    best = {head: float(values[head]) for head in ranked(values)[:BEST]}
    what = SCORES[kind][0].upper() + SCORES[kind][1:]
    if not any(best.values()):
        return state("no scores", "{what}: 0 in all {heads} heads.", what=what, heads=values.size)
    return state(
        "highest scores",
        "{what}, of {heads} heads; the highest: {best}.",
        what=what,
        heads=values.size,
        best=", ".join(f"{listed([head])} {score:.2f}" for head, score in best.items()),
    )


@dataclass(frozen=True, slots=True)
class CopyLosses(Finding):
    """The loss on new and on repeated tokens, of the whole model and with heads ablated.

    Args:
        names: of new and repeated tokens, as in ("first copy", "second copy").
        new, repeated: nats per token of the whole model; None where the text has no such tokens.
        off: the heads that are ablated.
        new_ablated, repeated_ablated: the same losses without them.
    """

    names: tuple[str, str]
    new: float | None
    repeated: float | None
    off: tuple[Place, ...]
    new_ablated: float | None
    repeated_ablated: float | None

    @property
    def metrics(self) -> list[tuple[str, str | None, str | None]]:
        """(name, loss now, its change where heads are ablated) of new and of repeated tokens."""
        return [
            (
                name,
                None if now is None else f"{now:.2f}",
                f"{now - whole:+.2f} nats" if self.off and now is not None and whole is not None else None,
            )
            for name, whole, now in zip(
                self.names, (self.new, self.repeated), (self.new_ablated, self.repeated_ablated), strict=True
            )
        ]

    @property
    def sentence(self) -> str:
        first = "" if self.new is None else f"{self.new:.2f} nats on the {self.names[0]} by the whole model; "
        if self.repeated is None or self.repeated_ablated is None:
            return (
                f"Loss of each token: {first}no two tokens come again in the same order, so there is nothing to copy."
            )
        lost = f"without {listed(self.off)} {self.repeated_ablated:.2f}" if self.off else "nothing is ablated"
        return f"Loss of each token: {first}on the {self.names[1]} {self.repeated:.2f} nats by the whole model; {lost}."


def copy_losses(whole: Copying, cut: Copying | None, off: Sequence[Place], copies: bool) -> CopyLosses:
    """Mean losses; `copies` says whether the text consists of two copies."""
    names = ("first copy", "second copy") if copies else ("new tokens", "repeated tokens")
    losses = [
        loss if tokens.any() else None
        for run in (whole, cut or whole)
        for tokens, loss in ((run.new, run.first_loss), (run.repeated, run.second_loss))
    ]
    return CopyLosses(names, losses[0], losses[1], tuple(off) if cut else (), losses[2], losses[3])


@dataclass(frozen=True, slots=True)
class InductionHeads(Finding):
    """Which heads count as induction heads on repeated random tokens, or how near the best one comes.

    Args:
        heads: of a mean weight of at least STRONG.
        best, score: the head with the highest induction score, and that score.
    """

    heads: tuple[Place, ...]
    best: Place
    score: float

    @property
    def sentence(self) -> str:
        test, least = "On repeated random tokens, the usual test,", f"a mean weight of {STRONG:.2f}"
        if not self.heads:
            return (
                f"{test} no head of this model puts {least} on that token: the nearest is "
                f"{listed([self.best])} with {self.score:.2f}."
            )
        told = (
            f"{len(self.heads)} heads put {least} or more on that token and count as induction heads"
            if len(self.heads) > 1
            else f"one head puts {least} or more on that token and counts as an induction head"
        )
        return f"{test} {told}: {listed(self.heads)}."


def induction_heads(heads: HeadsByScore) -> InductionHeads:
    """The induction heads of a model."""
    return InductionHeads(tuple(heads.induction), heads.best, heads.score)


@dataclass(frozen=True, slots=True)
class AblationCost(Finding):
    """The effect of zero ablation of heads on the loss on repeated tokens.

    Args:
        off: the ablated heads.
        whole, ablated: loss on repeated tokens of the whole model and without them.
        new: loss on new tokens without them.
    """

    off: tuple[Place, ...]
    whole: float
    ablated: float
    new: float

    @property
    def lost_share(self) -> float:
        """Share of the copying that is lost: 0 where the loss on repeated tokens stays, 1 where it rises to that of new
        tokens."""
        saved = self.new - self.whole
        return (self.ablated - self.whole) / saved if saved > 0 else 0.0

    @property
    def sentence(self) -> str:
        verdict = (
            "the whole model does not copy here"
            if self.new <= self.whole
            else "nearly all of the copying is gone"
            if self.lost_share >= GONE
            else "the rest of the model copies nearly as well without them"
            if self.lost_share < LEFT
            else "a part of the copying is left"
        )
        return (
            f"Zero ablation of {listed(self.off)} takes the loss on repeated tokens from {self.whole:.2f} to "
            f"{self.ablated:.2f} nats, where new ones cost {self.new:.2f}: {verdict}."
        )


def ablation_cost(whole: Copying, cut: Copying, off: Sequence[Place]) -> Finding:
    """Compare the whole model with the one without the heads in `off`."""
    if not whole.repeated.any():
        return state("nothing to copy", "No two tokens come again in the same order, so there is nothing to copy.")
    return AblationCost(tuple(off), whole.second_loss, cut.second_loss, cut.first_loss)
