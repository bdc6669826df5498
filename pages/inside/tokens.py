"""Which tokens the pages of this chapter explain: top predictions, or tokens that a visitor types."""

from collections.abc import Sequence

import streamlit as st

from pages.inside import reading as _reading
from pages.inside.reading import Reading
from pages.ui import cache, controls, text

WIDTH = 190  # of a control for a token, in pixels
TYPED = 40  # characters of a token of one's own
# Options beside the ranks of predictions.
OWN = -2  # a token that is typed
NAMED = -5  # the other name of a text that predicts a name


def ranked(pieces: Sequence[str]) -> dict[int, str]:
    """Options for top predictions: rank -> label."""
    return {rank: f"{rank + 1}: {text.visible(piece)}" for rank, piece in enumerate(pieces)}


def typed(model: str, instead: int, key: str = "own", default: str = " dog") -> int:
    """The first token of a word that the visitor types; `instead` where there is none."""
    tokenizer = cache.model(model)[1]
    words = controls.text_area("Token, with the space before it", key, default, TYPED, height=68)
    ids: list[int] = tokenizer.encode(words)
    if len(ids) > 1:
        rest = ", ".join(_reading.shown(one) for one in tokenizer.tokens(ids))
        st.caption(f"These are {len(ids)} tokens to the model ({rest}); the first is explained.")
    return ids[0] if ids else instead


def two_tokens(reading: Reading, limit: int, rival: int | None = None) -> tuple[int, int]:
    """Controls for two tokens whose logits at the end of a text are compared.

    At first, the first prediction against the other name in the text (`rival`); without one, against the second.
    """
    ids, pieces, _ = _reading.guesses(reading.model, reading.pasted, limit, len(reading.ids) - 1, reading.bos)
    options = {**ranked(pieces), OWN: "another token"}
    named = {} if rival is None else {NAMED: f"text: {text.visible(_reading.piece(reading.model, rival))}"}
    found = []
    names = (("Token", "token", "own", " dog"), ("against", "against", "own_against", " cat"))
    row = st.container(horizontal=True, width="content")
    for label, key, own, word in names:
        with row.container(width=WIDTH):
            possible = {**named, **options} if key == "against" else options
            default = 0 if key == "token" else NAMED if rival is not None else min(1, len(ids) - 1)
            rank = controls.select(label, key, list(possible), default, possible)
            if rank == OWN:
                found.append(typed(reading.model, ids[0], own, word))
            else:
                found.append(rival if rank == NAMED and rival is not None else ids[rank])
    return found[0], found[1]
