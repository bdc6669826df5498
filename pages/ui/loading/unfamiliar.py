"""A hint under a text that a small model cannot know: one click opens it in a real one."""

import streamlit as st

from pages.ui import cache, controls
from pages.ui.loading.models import DEFAULT, REAL
from pages.ui.reading import first_tokens
from tfcore import available
from tfcore.analysis.training.familiarity import Familiarity
from tfcore.analysis.training.familiarity import familiarity as measured

TOKENS = 256  # of the text that are read


@cache.data(max_entries=64)
def familiarity(model: str, pasted: str) -> Familiarity | None:
    """What a model that ships needs for a text."""
    network, tokenizer = cache.model(model)
    return measured(network, tokenizer, model, first_tokens(model, pasted, TOKENS).ids)


def offer_real(model: str, pasted: str) -> None:
    """The hint, where it helps: the text is strange to the model, and there is one that reads any English."""
    if not model.startswith(DEFAULT) or REAL not in available() or not pasted:
        return
    found = familiarity(model, pasted)
    if found is None or not found.is_strange:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(str(found), width="content")
        st.button(f"Open this text in {REAL}", on_click=controls.set_values, kwargs={"model": REAL}, key="open in real")
