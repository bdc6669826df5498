"""The page on information: what a loss measures, from a coin to a pasted text, in bits."""

from collections.abc import Callable

from pages.training.information import bars as bars
from pages.training.information import bumps as bumps
from pages.training.information import joint as joint
from pages.training.information import text as texts
from pages.training.information import token as token
from pages.ui import controls, page
from pages.ui.loading import models

# key in the address: (name, what draws it); each is computed and sent only when it is looked at
PANELS: dict[str, tuple[str, Callable[[], None]]] = {
    "bars": ("Entropy and KL", bars.panel),
    "bumps": ("Why KL has a direction", bumps.panel),
    "joint": ("Mutual information", joint.panel),
    "token": ("Loss of one token", token.panel),
    "text": ("A text in bits", texts.panel),
}

page.begin(
    "What does a loss measure?",
    "Cross-entropy, in bits or nats. A model that predicts **Q** where **P** is true pays the entropy of P, and on top "
    "of that the KL divergence from P to Q; training can only reduce the second part.",
    always=models.always(),
)
show = controls.sections("Look at", "show", list(PANELS), "bars", {key: name for key, (name, _) in PANELS.items()})
PANELS[show][1]()
