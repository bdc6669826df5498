"""How texts continue, side by side, with the tokens marked that an edit has changed."""

from collections.abc import Callable, Mapping

import streamlit as st

from pages.ui import cache, keys, text
from pages.ui.work.filling import FEW
from tfcore.measures import knock_outs
from tfcore.measures.interventions import changed
from tfcore.measures.one_text import pieces_of
from tfcore.views.inside import changes
from tfcore.views.inside.effects import NEW_TOKENS

SAME = 3  # hues of chips
CHANGED = 4


def when_asked(model: str, tokens: int, rows: Mapping[str, Callable[[], list[int]]]) -> None:
    """The continuations, where they take long only once a visitor opens them: every change of an edit makes new ones.

    Args:
        tokens: of the text.
        rows: title -> what makes the ids; as of continuations.
    """
    if knock_outs.operations(cache.model(model)[0], NEW_TOKENS * len(rows), tokens) > FEW:
        drawer = st.expander("How the text continues", key=keys.own("expander", "continued"), on_change="rerun")
        if not drawer.open:
            return
        with drawer:
            continuations(model, {title: make() for title, make in rows.items()})
    else:
        continuations(model, {title: make() for title, make in rows.items()})


def continuations(model: str, rows: Mapping[str, list[int]]) -> None:
    """Each continuation as chips.

    Args:
        rows: title -> ids; the first is what the others are compared with.
    """
    tokenizer = cache.model(model)[1]
    first = next(iter(rows.values()))
    for i, (title, ids) in enumerate(rows.items()):
        count = f": {changes.changed_tokens(first, ids).title}" if i else ""
        st.markdown(f"**{text.escape(title)}**{count}")
        text.chips(
            pieces_of(tokenizer, ids),
            key=f"continuation {i}",
            hues=[CHANGED if new else SAME for new in changed(first, ids)],
            label=f"{title}{count}",
        )
