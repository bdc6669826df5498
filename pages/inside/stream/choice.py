"""The page on the residual stream: which text, position and token are looked at."""

from dataclasses import dataclass

import streamlit as st

from pages.inside import reading as _reading
from pages.inside.reading import Reading
from pages.ui import cache, controls, text
from tfcore.analysis.inside.logit_attribution import Against

CHARACTERS = 2_000  # of the text
TOKENS = 64  # of it
TYPED = 40  # characters of a token of one's own
TEXT = "Once upon a time there was a little girl named Lily. Lily had a red ball. One day Lily lost the red"
# Options beside the ranks of predictions.
NEXT = -1  # the token that follows in the text
OWN = -2  # one that is typed
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
    def key(self) -> tuple[str, str, int]:
        """What results depend on."""
        return self.reading.model, self.reading.pasted, self.position


def choose(reading: Reading, has_reference: bool) -> Choice:
    """The controls for position and token, and for what the token is measured against where that matters."""
    n = len(reading.ids)
    left, middle, right = st.columns([2, 2, 2], gap="medium", vertical_alignment="bottom")
    with left:
        position = controls.slider("Position of the prediction", "position", 0, n - 1, n - 1)
    ids, pieces, _ = _reading.guesses(reading.model, reading.pasted, TOKENS, position)
    ranks = {rank: f"{rank + 1}: {text.visible(piece)}" for rank, piece in enumerate(pieces)}
    following = reading.ids[position + 1] if position + 1 < n else None
    ends = "the text ends here" if following is None else text.visible(reading.tokens[position + 1])
    with middle:
        options = {**ranks, NEXT: f"what follows in the text: {ends}", OWN: "another token"}
        rank = controls.select("Token to explain", "token", list(options), 0, options)
    other = MEAN
    if has_reference:
        others = {MEAN: "the mean of all logits", NOTHING: "nothing: the raw logit", **ranks}
        with right:
            other = controls.select("Its logit, relative to", "against", list(others), MEAN, others)
    token = following if rank == NEXT and following is not None else ids[max(rank, 0)]
    if rank == OWN:
        token = typed(reading.model, token)
    against: Against = "mean" if other == MEAN else "nothing" if other == NOTHING else ids[other]
    words = {MEAN: "above the mean of all logits", NOTHING: "as it is"}
    versus = words[other] if other in words else f"above that of {_reading.shown(pieces[other])}"
    text.chips(
        reading.tokens,
        key="chips",
        selected=position,
        label="Choose the position",
        on_select=lambda i: controls.set_values(position=i),
    )
    return Choice(reading, position, token, _reading.piece(reading.model, token), against, versus, following)


def typed(model: str, instead: int) -> int:
    """The first token of a word that the visitor types; `instead` where there is none."""
    tokenizer = cache.model(model)[1]
    words = controls.text_area("Token, with the space before it", "own", " dog", TYPED, height=68)
    ids: list[int] = tokenizer.encode(words)
    if len(ids) > 1:
        rest = ", ".join(_reading.shown(one) for one in tokenizer.tokens(ids))
        st.caption(f"These are {len(ids)} tokens to the model ({rest}); the first is explained.")
    return ids[0] if ids else instead
