"""Links that were copied from a release show the same in this one, and without a word of correction.

`record_links.py` writes the lines, with each release; none is changed or taken away.
"""

import json
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from pages.ui import jobs
from tests.pages.record_links import shown
from tests.pages.test_router import listed
from tests.pages.visits import opened, said

LINES = [json.loads(line) for line in (Path(__file__).parent / "old_links.jsonl").read_text("utf-8").splitlines()]
FILES = {f"/{url}": file for file, _, _, url in listed()}


@pytest.fixture(autouse=True)
def _no_training(monkeypatch):
    monkeypatch.setattr(jobs.Jobs, "start", lambda *_, **__: jobs.Job("refused"))
    monkeypatch.setenv("TFCORE_RUNS", "0")


def test_there_is_a_link_of_every_page():
    assert {urlsplit(line["link"]).path for line in LINES} == set(FILES)


@pytest.mark.parametrize("line", LINES, ids=[f"{line['release']} {urlsplit(line['link']).path}" for line in LINES])
def test_an_old_link_shows_what_it_did(line):
    path, query = urlsplit(line["link"]).path, urlsplit(line["link"]).query
    test = opened(FILES[path], **dict(parse_qsl(query, keep_blank_values=True)))
    now = json.loads(json.dumps(shown(test)))
    assert {key: now.get(key) for key in line["shows"]} == line["shows"]
    words = said(test, "caption")
    assert "Corrected" not in words
    assert "This link has version" not in words
