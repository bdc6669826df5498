"""Findings on edits of a model, see tfcore.measures.interventions: changes of a prediction and of a continuation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfcore.measures.answers import Answers, Classes
from tfcore.measures.interventions import Action, Effect, Part, changed, part_title
from tfcore.measures.token_text import visible
from tfcore.views.finding import Finding


def described(parts: Sequence[Part], action: Action, factor: float) -> str:
    """The edits in words, as in "head 2.5 times -2" or "3 parts zero-ablated"."""
    if not parts:
        return "nothing edited"
    done = {"zero": "zero-ablated", "mean": "mean-ablated", "scale": f"times {factor:g}"}[action]
    names = " and ".join(map(part_title, parts)) if len(parts) < 3 else f"{len(parts)} parts"
    return f"{names} {done}"


@dataclass(frozen=True, slots=True)
class PredictionChange(Finding):
    """The change by edits of the prediction after one position, and of the loss of the text.

    Args:
        read, position: the token after which is predicted.
        edited: the edit in words, as in "head 2.5 zero-ablated".
        token, before, after: a token, and its probability without and with the edit.
        top_before, top_after: the most probable token without and with it.
        bits: KL(before || after).
        loss_before, loss_after: nats per token, mean over the text; None where it has one token.
        of_text: whether what is predicted is the class of the text, not its next token.
    """

    read: str
    position: int
    edited: str
    token: str
    before: float
    after: float
    top_before: str
    top_after: str
    bits: float
    loss_before: float | None
    loss_after: float | None
    of_text: bool = False

    @property
    def before_text(self) -> str:
        """The probability without the edit."""
        return f"{self.before:.1%}"

    @property
    def after_text(self) -> str:
        """The probability with it."""
        return f"{self.after:.1%}"

    @property
    def change_text(self) -> str:
        """The change of the log-probability."""
        smallest = 1e-30  # a probability of 0 has no logarithm
        return f"{math.log(max(self.after, smallest)) - math.log(max(self.before, smallest)):+.2f} nats"

    @property
    def bits_text(self) -> str:
        """The KL divergence."""
        return f"{self.bits:.2f} bits"

    @property
    def loss_texts(self) -> tuple[str, str] | None:
        """The loss with the edit, and its change."""
        if self.loss_before is None or self.loss_after is None:
            return None
        return f"{self.loss_after:.2f}", f"{self.loss_after - self.loss_before:+.2f}"

    @property
    def sentence(self) -> str:
        turn = (
            "keeps its top prediction"
            if self.top_before == self.top_after
            else f"now predicts '{visible(self.top_after)}'"
        )
        what = "class of the text" if self.of_text else f"next token after '{visible(self.read)}' ({self.position})"
        goes = f"'{visible(self.token)}' goes from {self.before_text} to {self.after_text}"
        return f"The {what}, {self.edited}: {goes}; the model {turn}; KL divergence {self.bits_text}."


def prediction_change(
    effect: Effect, read: str, position: int, edited: str, token: int, answers: Answers
) -> PredictionChange:
    """The change of one token's probability, or of one class's; `read` is the token at `position`."""
    names = answers.tokens([token, int(effect.before.argmax()), int(effect.after.argmax())])
    before, after = (float(probability[token]) for probability in (effect.before, effect.after))
    losses = (effect.losses_before, effect.losses_after)
    loss_before, loss_after = (float(loss.mean()) if len(loss) else None for loss in losses)
    return PredictionChange(
        read,
        position,
        edited,
        names[0],
        before,
        after,
        names[1],
        names[2],
        effect.bits,
        loss_before,
        loss_after,
        isinstance(answers, Classes),
    )


@dataclass(frozen=True, slots=True)
class DifferenceChange(Finding):
    """The logit difference of two tokens without and with edits.

    Args:
        token, against: whose logit is measured, less whose.
        before, after: the difference, in logits.
    """

    token: str
    against: str
    before: float
    after: float

    @property
    def metric(self) -> tuple[str, str]:
        """The difference with the edits, and its change."""
        return f"{self.after:.2f}", f"{self.after - self.before:+.2f} logits"

    @property
    def sentence(self) -> str:
        return (
            f"The logit of '{visible(self.token)}' less that of '{visible(self.against)}' goes from {self.before:.2f} "
            f"to {self.after:.2f}."
        )


def difference_change(effect: Effect, token: int, against: int, answers: Answers) -> DifferenceChange:
    """The difference of two logits before and after, from the probabilities: log p(token) - log p(against)."""
    logs = [np.log(np.maximum(p[[token, against]], 1e-30)) for p in (effect.before, effect.after)]
    before, after = (float(log[0] - log[1]) for log in logs)
    name, other = answers.tokens([token, against])
    return DifferenceChange(name, other, before, after)


@dataclass(frozen=True, slots=True)
class ChangedTokens(Finding):
    """How many tokens of a continuation an edit has changed."""

    changed: int
    total: int

    @property
    def title(self) -> str:
        """The changed tokens in a title."""
        return f"{self.changed} of {self.total} tokens changed" if self.changed else "the same, token for token"

    @property
    def sentence(self) -> str:
        return f"{self.title.capitalize()}."


def changed_tokens(before: Sequence[int], after: Sequence[int]) -> ChangedTokens:
    """Tokens of `after` that are not in `before`, in a longest common alignment."""
    return ChangedTokens(sum(changed(before, after)), len(after))
