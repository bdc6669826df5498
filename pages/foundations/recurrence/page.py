"""The page on recurrence: why attention at all."""

from collections.abc import Callable

from pages.foundations.recurrence import alignment, comparison, gradient, passes
from pages.ui import controls, page

# key in the address: (name, what draws it); each is computed and sent only when it is looked at
PANELS: dict[str, tuple[str, Callable[[], None]]] = {
    "gradient": ("The gradient that arrives", gradient.panel),
    "training": ("Trained side by side", comparison.panel),
    "time": ("Time of one pass", passes.panel),
    "alignment": ("Attention over an encoder", alignment.panel),
}

page.begin(
    "Why attention at all?",
    "A **recurrent network** reads one token after another and keeps what it read in a state of fixed size. "
    "**Attention** reaches every earlier token in one step. Here are both, with as many parameters, and "
    "the step between them.",
)
look = controls.sections("Look at", "look", list(PANELS), "gradient", {key: name for key, (name, _) in PANELS.items()})
PANELS[look][1]()
