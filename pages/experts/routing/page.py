"""Which expert takes which token: a text through a real mixture of experts, its router's scores under other rules."""

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
show = controls.sections("Show", "show", list(SHOW), "text", SHOW)
SECTIONS[show].show()
places.link("balance", {}, "How the load is balanced in training, and what happens without.")
