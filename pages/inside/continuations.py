"""How texts continue, side by side, with the tokens marked that an edit has changed."""

from collections.abc import Mapping

import streamlit as st

from pages.ui import cache, text
from tfcore.analysis.inside import interventions

NEW_TOKENS = 12
SAME = 3  # hues of chips
CHANGED = 4


def continuations(model: str, rows: Mapping[str, list[int]]) -> None:
    """Each continuation as chips.

    Args:
        rows: title -> ids; the first is what the others are compared with.
    """
    tokenizer = cache.model(model)[1]
    first = next(iter(rows.values()))
    for i, (title, ids) in enumerate(rows.items()):
        count = f": {interventions.changed_tokens(first, ids).title}" if i else ""
        st.markdown(f"**{text.escape(title)}**{count}")
        text.chips(
            tokenizer.tokens(ids),
            key=f"continuation {i}",
            hues=[CHANGED if new else SAME for new in interventions.changed(first, ids)],
            label=f"{title}{count}",
        )
