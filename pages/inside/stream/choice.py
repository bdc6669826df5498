"""The page on the residual stream: which text, position and token are looked at."""

from dataclasses import dataclass

import streamlit as st

from pages.inside import reading as _reading
from pages.inside.reading import Reading
from pages.inside.tokens import OWN, ranked, typed
from pages.ui import controls, text
from tfcore.analysis.inside.logit_attribution import Against

CHARACTERS = 2_000  # of the text
TOKENS = 128  # of it
TEXT = "Once upon a time there was a little girl named Lily. Lily had a red ball. One day Lily lost the red"
# Options beside the ranks of predictions.
NEXT = -1  # the token that follows in the text
MEAN = -3  # a logit relative to the mean of all logits
NOTHING = -4  # the raw logit


@dataclass(frozen=True, slots=True)
class Choice:
    """What is explained: the model's prediction after one position of a text, for one token.

    Args:
        token: its id; `piece` is its text.
        against: what its logit is measured against; `versus` says it in words.
        following: id of the token that does follow; None where the text ends.
    """

    reading: Reading
    position: int
    token: int
    piece: str
    against: Against
    versus: str
    following: int | None

    @property
    def label(self) -> str:
        """The token, safe for plotly."""
        return text.label(self.piece, 12)

    @property
    def key(self) -> tuple[str, str, bool | None, int]:
        """What results depend on."""
        return self.reading.model, self.reading.pasted, self.reading.bos, self.position


def choose(reading: Reading, has_reference: bool) -> Choice:
    """The controls for position and token, and for what the token is measured against where that matters."""
    n = len(reading.ids)
    left, middle, right = st.columns([2, 2, 2], gap="medium", vertical_alignment="bottom")
    with left:
        position = controls.slider("Position of the prediction", "position", 0, n - 1, n - 1)
    ids, pieces, _ = _reading.guesses(reading.model, reading.pasted, TOKENS, position, reading.bos)
    ranks = ranked(pieces)
    following = reading.ids[position + 1] if position + 1 < n else None
    ends = "the text ends here" if following is None else text.visible(reading.tokens[position + 1])
    with middle:
        options = {**ranks, NEXT: f"what follows in the text: {ends}", OWN: "another token"}
        rank = controls.select("Token to explain", "token", list(options), 0, options)
    other = MEAN
    if has_reference:
        others = {MEAN: "the mean of all logits", NOTHING: "nothing: the raw logit", **ranks, OWN: "another token"}
        with right:
            other = controls.select("Its logit, relative to", "against", list(others), MEAN, others)
    token = following if rank == NEXT and following is not None else ids[max(rank, 0)]
    if rank == OWN:
        token = typed(reading.model, token)
    against: Against = "mean" if other == MEAN else "nothing" if other == NOTHING else ids[max(other, 0)]
    if other == OWN:
        with right:
            against = typed(reading.model, ids[0], "own_against", " cat")
    words = {MEAN: "above the mean of all logits", NOTHING: "as it is"}
    versus = (
        f"above that of {_reading.shown(_reading.piece(reading.model, against))}"
        if isinstance(against, int)
        else words[other]
    )
    text.chips(
        reading.tokens,
        key="chips",
        selected=position,
        label="Choose the position",
        on_select=lambda i: controls.set_values(position=i),
    )
    return Choice(reading, position, token, _reading.piece(reading.model, token), against, versus, following)
