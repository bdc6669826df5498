"""Which tokens the pages of this chapter explain: top predictions, or tokens that a visitor types."""

from collections.abc import Sequence

import streamlit as st

from pages.inside import reading as _reading
from pages.inside.reading import Reading
from pages.ui import cache, controls, text

TYPED = 40  # characters of a token of one's own
OWN = -2  # an option beside the ranks of predictions: a token that is typed


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


def two_tokens(reading: Reading, limit: int) -> tuple[int, int]:
    """Controls for two tokens whose logits at the end of a text are compared: the first two predictions, at first."""
    ids, pieces, _ = _reading.guesses(reading.model, reading.pasted, limit, len(reading.ids) - 1)
    options = {**ranked(pieces), OWN: "another token"}
    found = []
    names = (("Token", "token", "own", " dog"), ("against", "against", "own_against", " cat"))
    for place, default, (label, key, own, word) in zip(st.columns(2, gap="medium"), (0, 1), names, strict=True):
        with place:
            rank = controls.select(label, key, list(options), min(default, len(ids) - 1), options)
            found.append(typed(reading.model, ids[0], own, word) if rank == OWN else ids[rank])
    return found[0], found[1]
