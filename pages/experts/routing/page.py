"""Which expert takes which token: a text through a real mixture of experts, its router's scores under other rules."""

from pages.experts.routing import experts, shared, size, text, what_if
from pages.experts.routing.facts import FACTS
from pages.ui import controls, page, places

SECTIONS = {"text": text, "experts": experts, "what if": what_if, "shared": shared, "size": size}

page.begin(FACTS)
page.try_this(text.TRY)
SECTIONS[controls.sections(FACTS.sections)].show()
places.link("balance", {}, "How the load is balanced in training, and what happens without.")
