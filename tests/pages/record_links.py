"""A link to every page with all controls set, and what the controls then show, for the file of old links:

python -m tests.pages.record_links 0.2.0 >> tests/pages/old_links.jsonl            # of every page
python -m tests.pages.record_links 0.2.0 heads masks >> tests/pages/old_links.jsonl # of these
"""

import json
import os
import sys
from typing import Any
from urllib.parse import urlencode

from streamlit.testing.v1 import AppTest

from pages.ui import links
from pages.ui.work import jobs
from tests.pages.random_controls import controls, set_all
from tests.pages.test_router import listed
from tests.pages.visits import opened


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


def main(release: str, *urls: str) -> None:
    """One line of JSON for each page, or for those at these addresses."""
    os.environ["TFCORE_RUNS"] = "0"
    jobs.Jobs.start = lambda *_, **__: jobs.Job("refused")  # type: ignore[method-assign]
    for file, _, _, url in listed():
        if urls and url not in urls:
            continue
        test = set_all(opened(file), f"{release} {file}")
        address = urlencode({**test.query_params, "v": links.VERSION})
        line = {"release": release, "link": f"/{url}?{address}", "shows": shown(test)}
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
