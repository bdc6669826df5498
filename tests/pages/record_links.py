"""Links to every page, what the controls then show, and which pictures there are, for the file of old links:

python -m tests.pages.record_links 0.2.0 >> tests/pages/old_links.jsonl             # all controls set, of every page
python -m tests.pages.record_links 0.2.0 heads masks >> tests/pages/old_links.jsonl # of these
python -m tests.pages.record_links 0.2.0 --views >> tests/pages/old_links.jsonl     # each section and thing to try
"""

import json
import os
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from streamlit.testing.v1 import AppTest

from pages.facts import pages
from pages.ui import links
from pages.ui.work import jobs
from tests.pages.figures import FRAME, heads, kind_of
from tests.pages.random_controls import controls, set_all
from tests.pages.visits import opened, run


def shown(test: AppTest) -> dict[str, Any]:
    """Key -> what a control says, in the words a visitor reads."""
    found: dict[str, Any] = {}
    for key, element in controls(test).items():
        if element.type == "button_group":
            found[key] = list(element.formatted_values)
        elif element.type == "selectbox":
            found[key] = element.options[element.index or 0]
        else:
            found[key] = element.value
    return found


def pictures(test: AppTest) -> list[str]:
    """The names of the figures, components and scenes of a page."""
    parts = {kind_of(element.proto) for element in test.get("bidi_component")}
    return sorted({*heads(test), *(parts - {*FRAME, "tf_figure"})})


def at_random(file: str, release: str) -> Iterator[AppTest]:
    """A page with all controls set."""
    yield set_all(opened(file), f"{release} {file}")


def views(file: str, _: str) -> Iterator[AppTest]:
    """A page with each of its sections, and with each thing to try there."""
    todo, done = [dict[str, str]()], set[tuple[str, str]]()
    while todo:
        address = todo.pop(0)
        test = opened(file, **address)
        yield test
        for key in [button.key for button in test.button if (button.key or "").startswith("try ")]:
            button = next((one for one in opened(file, **address).button if one.key == key), None)
            if button is not None and ("", key) not in done:
                done.add(("", key))
                yield run(button.click())
        for one in test.segmented_control:
            if one.proto.label_visibility.value == one.proto.label_visibility.COLLAPSED:
                new = [option for option in one.options if (one.key, option) not in done and option != one.value]
                done |= {(one.key, option) for option in one.options}
                todo += [{**address, one.key: option} for option in new]


def main(release: str, *given: str) -> None:
    """A line of JSON for each page, or for those at these addresses; with --views for each section and example."""
    os.environ["TFCORE_RUNS"] = "0"
    jobs.Jobs.start = lambda *_, **__: jobs.Job("refused")  # type: ignore[method-assign]
    urls, told = [one for one in given if one != "--views"], set[str]()
    for url, page in pages().items():
        if urls and url not in urls:
            continue
        for test in (views if "--views" in given else at_random)(page.file, release):
            address = urlencode({**test.query_params, "v": links.VERSION}, doseq=True)
            line = {"release": release, "link": f"/{url}?{address}", "shows": shown(test), "pictures": pictures(test)}
            if line["link"] not in told:
                told.add(line["link"])
                sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
