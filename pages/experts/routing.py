"""Which expert takes which token: a text through a real mixture of experts, its router's scores under other rules."""

import streamlit as st

from pages.experts import _routing_experts, _routing_shared, _routing_size, _routing_text, _routing_what_if
from pages.ui import controls, page, places

SHOW = {
    "text": "who takes what", "experts": "what experts like", "what if": "other rules", "shared": "a shared expert",
    "size": "size and work",
}  # fmt: skip
SECTIONS = {
    "text": _routing_text, "experts": _routing_experts, "what if": _routing_what_if, "shared": _routing_shared,
    "size": _routing_size,
}  # fmt: skip

page.begin(
    "Which expert takes which token?",
    "In a mixture of experts, a router sends each token to a few of many feed-forward layers: the model is large, "
    "and a token pays for a small part of it. Here is who takes what, in a model that was trained to do so.",
    r"y = \sum_{i \in \mathrm{top}_k(W_r x)} w_i\, E_i(x), \qquad "
    r"w_i = \frac{e^{(W_r x)_i}}{\sum_{j \in \mathrm{top}_k} e^{(W_r x)_j}}",
)
page.try_this(_routing_text.TRY)
show = controls.segmented("Show", "show", list(SHOW), "text", SHOW)
SECTIONS[show].show()
st.caption(
    "Papers: the router and its top k, arXiv:1701.06538 (equation 5); one expert a token and the capacity, "
    "arXiv:2101.03961 (equations 2 and 3); Mixtral, arXiv:2401.04088; experts that choose, arXiv:2202.09368; shared "
    "and finer experts, arXiv:2401.06066."
)
places.link("balance", {}, "How the load was kept even while it learned, and what happens without.")
page.question(*SECTIONS[show].QUESTION)
