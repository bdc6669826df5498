"""What is worth seeing in the examples of the pages with a real model, stored beside it (tfcore/views/highlights.py).

`python -m tools.highlights` looks through the examples and the texts that pages begin with, and writes the file.
"""

from pages.facts import pages
from pages.ui.loading.models import REAL
from pages.ui.session import KEY
from tests.pages.visits import opened
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.views.highlights import Found, computed, store
from tfcore.views.sources import Reading

PAGES = ("", "heads", "flow", "stream", "interventions", "induction", "walkthrough")  # that have a row


def texts() -> list[str]:
    """The texts of the real model that a button sets or a page begins with."""
    found: dict[str, None] = {}
    for key in PAGES:
        test = opened(pages()[key].file)
        offered = test.session_state[KEY].visit.offered.values()
        found |= dict.fromkeys(one["text"] for one in offered if one.get("model") == REAL and "text" in one)
        if test.session_state["model"] == REAL:
            found[test.session_state["text"]] = None
    return list(found)


def found() -> dict[str, Found]:
    """Text -> what is found in it."""
    return {text: one for text in texts() if (one := computed(Reading(REAL, text))) is not None}


if __name__ == "__main__":
    store(PRETRAINED / REAL, found())
