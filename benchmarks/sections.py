"""The memory that each section of each page takes: `python -m benchmarks.sections [--model smollm2]`.

One visitor opens all pages, and in each all of its sections, with a text of their own. The server's memory is read
before, at its highest and afterwards, so that the step is found that needs most.
"""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import quote_plus

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.LabelVisibility_pb2 import LabelVisibility
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.crowd import TEXT
from benchmarks.servers import APP, Server, serving
from benchmarks.visitors import Visitor
from pages.ui.server import previews

LOOKS, EVERY = 30, 1.0  # looks at work that takes long, and seconds between two


@dataclass(frozen=True, slots=True)
class Taken:
    """What a section took, in megabytes of the server.

    Args:
        seconds: until it was drawn, and until its work was done.
    """

    page: str
    section: str
    before: float
    peak: float
    after: float
    seconds: float
    errors: list[str]


@dataclass(slots=True)
class Reader(Visitor):
    """Somebody who opens one section of a page after the other.

    Args:
        sections: id of the choice of sections -> the sections as they are named, and the fragment it stands in.
    """

    sections: dict[str, tuple[list[str], str]] = field(default_factory=dict)

    async def section(self, widget: str, name: str, fragment: str) -> float:
        """Open a section: the seconds."""
        state = self._said[widget] = WidgetState(id=widget)
        state.string_array_value.data.append(name)
        return await self._ask(fragment)

    async def stay(self) -> float:
        """Look again while there is work to come: the seconds."""
        seconds = 0.0
        for _ in range(LOOKS):
            if not self.progress or self.progress.startswith(tuple("0123456789")):  # how it was done, or nothing
                break
            await asyncio.sleep(EVERY)
            self.progress = ""
            seconds += EVERY + await self.look()
        return seconds

    def _note(self, message: ForwardMsg) -> bool:
        if message.WhichOneof("type") == "delta" and message.delta.WhichOneof("type") == "new_element":
            choice = message.delta.new_element.button_group
            if choice.label_visibility.value == LabelVisibility.COLLAPSED and choice.options:
                self.sections[choice.id] = ([one.content for one in choice.options], message.delta.fragment_id)
        return Visitor._note(self, message)


async def taken(server: Server, address: str) -> list[Taken]:
    """What the sections of a page took, in their order; the first is the page as it opens."""
    reader, found = Reader(f"{server.address}/{address}"), list[Taken]()

    async def note(name: str, drawn: Callable[[], Awaitable[float]]) -> None:
        server.forget_peak()
        before, seconds, reader.errors = server.megabytes(), 0.0, []
        try:
            seconds = await drawn() + await reader.stay()
        except Exception as problem:  # it is counted, and the next section is opened
            reader.errors.append(repr(problem))
        place = address.partition("?")[0], name
        now = before, server.peak(), server.megabytes()
        found.append(Taken(*place, *now, round(seconds, 1), reader.errors))
        print(found[-1], file=sys.stderr, flush=True)

    await note("", reader.open)
    for widget, (names, fragment) in list(reader.sections.items()):
        for name in names:
            await note(name, partial(reader.section, widget, name, fragment))
    await reader.leave()
    return found


def measure(model: str) -> list[Taken]:
    """All sections of all pages."""
    with serving(APP, "/healthz") as server:
        rows = list[Taken]()
        for number, page in enumerate(sorted(previews.pages())):
            text = quote_plus(TEXT.format(number))
            address = f"{page}?text={text}" + (f"&model={model}" if model else "")
            rows += asyncio.run(taken(server, address))
        print("\n".join(server.troubles()), file=sys.stderr)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sections", description=__doc__)
    parser.add_argument("--model", default="", help="the model to open the pages with; without one, their own")
    given = parser.parse_args()
    rows = measure(given.model)
    rows.sort(key=lambda row: row.before - row.peak)
    heads = ["page", "section", "MB before", "peak", "after"]
    lines = [[r.page, r.section, f"{r.before:.0f}", f"{r.peak:.0f}", f"{r.after:.0f}"] for r in rows[:40]]
    for line in [heads, *lines]:
        print(" | ".join(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
