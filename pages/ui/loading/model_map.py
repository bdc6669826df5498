"""The parts of a model on a page, each of which leads to the page about it."""

from collections.abc import Callable, Mapping

from pages.facts import about, pages
from pages.ui import frame, links
from pages.ui.components.scene import adding
from tfcore.views.model import parts as views
from tfcore.views.view import View


def show(view: View, carried: Callable[[str], Mapping[str, str]] = lambda _: {}) -> None:
    """A view of parts.

    Args:
        carried: page -> parameters of its address that a click takes along.
    """
    names = views.about(view.result)
    urls = {name: f"/{about(name)}" for name in names}
    told = frame.show(adding(view, urls=urls))
    if told is not None and isinstance(told.value, int) and 0 <= told.value < len(names):
        key = about(names[told.value])
        links.go(pages()[key].file, carried(key))
