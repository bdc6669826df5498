"""How texts continue, side by side, with the tokens marked that an edit has changed."""

from collections.abc import Mapping

import streamlit as st

from pages.ui import cache, text
from tfcore.analysis.inside import interventions

NEW_TOKENS = 12
SAME, LOUD = 3, 4  # hues of chips


def continuations(model: str, rows: Mapping[str, list[int]]) -> None:
    """Each continuation as chips.

    Args:
        rows: title -> ids; the first is what the others are compared with.
    """
    tokenizer = cache.model(model)[1]
    first = next(iter(rows.values()))
    for i, (title, ids) in enumerate(rows.items()):
        new = interventions.changed(first, ids)
        count = (
            ""
            if i == 0
            else f": {sum(new)} of {len(ids)} tokens changed"
            if any(new)
            else ": the same, token for token"
        )
        st.markdown(f"**{text.escape(title)}**{count}")
        text.chips(
            tokenizer.tokens(ids),
            key=f"continuation {i}",
            hues=[LOUD if one else SAME for one in new],
            label=f"{title}{count}",
        )
