"""The page on the residual stream: which text, position and token are looked at."""

from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.inside import metric
from pages.inside import reading as _reading
from pages.inside.reading import ReadText
from pages.ui import controls, in_your_text, links, text
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.logit_attribution import Against
from tfcore.measures.text_loss import first_explained
from tfcore.views.inside import stream as views
from tfcore.views.inside.stream.measure.text import TOKENS
from tfcore.views.sources import Reading, name_of

CHARACTERS = 2_000  # of the text
TEXT = "Once upon a time there was a little girl named Lily. Lily had a red ball. One day Lily lost the red"


@dataclass(frozen=True, slots=True)
class ExplainedPrediction:
    """The prediction that is explained: the model's prediction after one position of a text, for one token.

    Args:
        quantity: the token, or two; `piece` is the text of the first.
        against: what its logit is measured against; `versus` says it in words.
    """

    reading: ReadText
    position: int
    quantity: Quantity
    piece: str
    against: Against
    versus: str

    @property
    def token(self) -> int:
        """Id of the token that is explained."""
        return self.quantity.token

    @property
    def other(self) -> int | None:
        """Id of the one that its logit is compared with; None: there is none."""
        return self.quantity.against if self.quantity.kind == "difference" else None


def beside_place(choice: ExplainedPrediction, other: Reading) -> tuple[int, int] | None:
    """The position and the token in another reading that stand for those that are explained; says so where there is no
    such token."""
    there = views.place_beside(choice.reading.whole, other, (choice.position, choice.token))
    if there is None:
        model = text.escape(name_of(other.model), text.NAME)
        st.info(f"{model} has no token {_reading.shown(choice.piece)}: choose another one to compare.")
    return there


def _first(reading: ReadText) -> int:
    """The position at first; in links of a release that began with the last one, that one, and of classes, too, which
    are read there."""
    if links.is_old() or metric.n_classes(reading.model):
        return len(reading.ids) - 1
    guesses = _reading.every_guess(reading.model, reading.pasted, TOKENS, reading.bos)
    return first_explained("".join(reading.tokens), [float(one.probabilities[0]) for one in guesses])


def choose(
    reading: ReadText, more: Any, *, has_reference: bool = False, tokens: Any = None, row: Any = None
) -> ExplainedPrediction:
    """The controls for position and metric, and for what a single logit is measured against where that matters.

    Args:
        more: the container of More settings; the position stands there, as a click on a token sets it too.
        tokens: where the tokens of the metric stand; None: beside it.
        row: where the metric stands; None: in a row of its own.
    """
    with more:
        n, tokens_read = len(reading.ids), tuple(reading.tokens)
        position = controls.place("Position of the prediction", "position", n, _first(reading), of=tokens_read)
    in_your_text.reserve()
    with row or st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        offered = metric.candidates(reading, TOKENS, position, follows=True)
        kinds = {one: metric.KINDS[one] for one in metric.OF_TOKENS}
        kind = metric.choose_kind(kinds, "prediction", classes=offered.classes)
        with tokens or st.container(width="content"):
            quantity = metric.choose_tokens(kind, offered)
        against: Against = "mean"
        if quantity.kind == "difference":
            against = quantity.against
        elif has_reference and kind == "prediction" and metric.choose_reference() == metric.NOTHING:
            against = "nothing"
    words = {"mean": "above the mean of all logits", "nothing": "as it is"}
    versus = f"above that of {_reading.shown(offered.piece(against))}" if isinstance(against, int) else words[against]
    text.chips(
        reading.tokens,
        key="chips",
        selected=position,
        label="Choose the position",
        on_select=lambda i: controls.set_values(position=i),
    )
    return ExplainedPrediction(reading, position, quantity, offered.piece(quantity.token), against, versus)
