"""Which expert takes which token: a text through a real mixture of experts, its router's scores under other rules."""

import streamlit as st

from pages.experts.routing import experts, shared, size, text, what_if
from pages.ui import controls, page, places

SHOW = {
    "text": "routing",
    "experts": "expert specialisation",
    "what if": "other routing rules",
    "shared": "a shared expert",
    "size": "parameters and compute",
}
SECTIONS = {"text": text, "experts": experts, "what if": what_if, "shared": shared, "size": size}

page.begin(
    "Which expert takes which token?",
    "In a mixture of experts (MoE), a router sends each token to a few of many feed-forward layers: the model has many "
    "parameters, of which few are active per token. Here is the routing of a trained model.",
)
page.try_this(text.TRY)
show = controls.segmented("Show", "show", list(SHOW), "text", SHOW)
SECTIONS[show].show()
st.caption(
    "Papers: the router and its top k, arXiv:1701.06538 (equation 5); one expert per token and the capacity, "
    "arXiv:2101.03961 (equations 2 and 3); Mixtral, arXiv:2401.04088; expert choice, arXiv:2202.09368; shared "
    "and finer experts, arXiv:2401.06066."
)
places.link("balance", {}, "How the load is balanced in training, and what happens without.")
page.question(*SECTIONS[show].QUESTION)
