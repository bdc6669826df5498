"""The page on information: what a loss counts, from a coin to a pasted text, in bits."""

from collections.abc import Callable

from pages.training import _information_bars as bars
from pages.training import _information_bumps as bumps
from pages.training import _information_joint as joint
from pages.training import _information_text as texts
from pages.training import _information_token as token
from pages.ui import controls, page

# key in the address: (name, what draws it); each is computed and sent only when it is looked at
PANELS: dict[str, tuple[str, Callable[[], None]]] = {
    "bars": ("Entropy and KL", bars.panel),
    "bumps": ("Why KL has a direction", bumps.panel),
    "joint": ("Mutual information", joint.panel),
    "token": ("Loss of one token", token.panel),
    "text": ("A text in bits", texts.panel),
}

page.begin(
    "What does a loss count?",
    "Bits of surprise. A model that expects **Q** where **P** happens pays for what P leaves open, and on top of that "
    "for how wrong Q is; training can only take away the second part.",
)
show = controls.segmented("Look at", "show", list(PANELS), "bars", {key: name for key, (name, _) in PANELS.items()})
PANELS[show][1]()
