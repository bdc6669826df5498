"""Links that were copied from a release show the same in this one, and without a word of correction.

`record_links.py` writes the lines, with each release; none is changed or taken away. Those of 0.1.0+42 are of each
section and each thing to try, before pictures became views.
"""

import json
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from pages.facts import pages
from pages.inference.kv_cache import choices as kv_cache
from pages.ui import former_labels
from pages.ui.work import jobs
from tests.nightly import often
from tests.pages.record_links import pictures, shown
from tests.pages.visits import opened, said
from tfcore.views.foundations.positions.measure import learned as learned_positions

LINES = [json.loads(line) for line in (Path(__file__).parent / "old_links.jsonl").read_text("utf-8").splitlines()]
FIRST = [number for number, line in enumerate(LINES) if line["release"] == "0.1.0"]
EACH_RUN = FIRST[::3]  # the others each night
FILES = {f"/{key}": page.file for key, page in pages().items()}
PICTURES = {"/stream": {"both": "lenses"}}  # path -> {name of a picture once: now}; no link has one


# What other tests shorten; nothing is trained here.
WHOLE = [
    (module, name, getattr(module, name))
    for module, name in ((kv_cache, "STEPS"), (kv_cache, "MOST"), (learned_positions, "STEPS"))
]


@pytest.fixture(autouse=True)
def _no_training(monkeypatch):
    for module, name, value in WHOLE:
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(jobs.Jobs, "start", lambda *_, **__: jobs.Job("refused"))
    monkeypatch.setattr(jobs.Jobs, "look", lambda *_: None)  # nor was by another test of this process
    monkeypatch.setenv("TFCORE_RUNS", "0")


def test_there_is_a_link_of_every_page():
    assert {urlsplit(line["link"]).path for line in LINES} == set(FILES)


def renamed(key, was):
    """What a control said in the release, in the words of today."""
    if isinstance(was, list):
        return [former_labels.present(key, one) for one in was]
    return former_labels.present(key, was)


def single(value):
    """One choice of many side by side is a list of one; of a dropdown, which it may have become, a word."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


@pytest.mark.parametrize("number", often(range(len(LINES)), EACH_RUN))
def test_an_old_link_shows_what_it_did(number, request):
    line = LINES[number]
    if number not in FIRST:  # recorded where both real models were, which pages then begin with
        request.getfixturevalue("real_models")
    path, query = urlsplit(line["link"]).path, urlsplit(line["link"]).query
    test = opened(FILES[path], **dict(parse_qsl(query, keep_blank_values=True)))
    now = {key: renamed(key, value) for key, value in json.loads(json.dumps(shown(test))).items()}
    keys = former_labels.KEYS.get(path[1:], {})
    shows = {keys.get(key, key): was for key, was in line["shows"].items()}
    expected = {key: renamed(key, was) for key, was in shows.items()}
    assert {key: single(now.get(key)) for key in expected} == {key: single(was) for key, was in expected.items()}
    names = PICTURES.get(path, {})
    drawn = {names.get(name, name) for name in line.get("pictures", ())}
    assert drawn <= set(pictures(test))  # a page may show more than it did
    words = said(test, "caption")
    assert "Corrected" not in words
    assert "This link has version" not in words
