"""The facts of all pages: they are whole, cost nothing to read, and are all that a new page has to say of itself."""

import ast
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

import pages as package
from pages import facts
from pages.facts import CHAPTERS, Part, pages
from pages.ui.server import previews
from tests.architecture.sources import ROOT
from tests.pages import visits
from tfcore.views.reference.folklore.measure import CLAIMS
from tfcore.views.reference.glossary.measure import terms
from tools import docs_pages

SCRIPTS = sorted((ROOT / "pages").glob("*/*/page.py"))
NEW = """
from pages.facts import Facts, Sections

FACTS = Facts(
    key="sharpening",
    title="Sharpening",
    icon="thermostat",
    order=55,
    question="How sure is a choice?",
    claim="A temperature divides the scores.",
    answers="How sure is a choice? Three scores and one slider, with a softmax.",
    shows="one slider",
    sections=Sections(label="Look at", key="part", names={"cold": "Below 1", "hot": "Above 1"}),
)
"""
SCRIPT = """
import streamlit as st

from pages.foundations.sharpening.facts import FACTS
from pages.ui import controls, page

page.begin(FACTS)
st.write(controls.sections(FACTS.sections))
"""


def shown(test):
    """Where the links of a page lead, and their words."""
    found = [element.proto for element in test.main if getattr(element, "type", "") == "page_link"]
    return {link.page: link.label for link in found}


@pytest.fixture
def added(tmp_path, monkeypatch):
    """The router of a folder with all pages and a new one."""
    for chapter in CHAPTERS:
        (tmp_path / chapter.folder).mkdir()
        for folder in (ROOT / "pages" / chapter.folder).iterdir():
            (tmp_path / chapter.folder / folder.name).symlink_to(folder)
    (tmp_path / "router.py").symlink_to(ROOT / "pages" / "router.py")
    new = tmp_path / "foundations" / "sharpening"
    new.mkdir()
    (new / "facts.py").write_text(NEW, "utf-8")
    (new / "page.py").write_text(SCRIPT, "utf-8")
    monkeypatch.setattr(facts, "ROOT", tmp_path)
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    monkeypatch.setattr(visits, "ROUTER", tmp_path / "router.py")
    caches = (pages, facts.pages_of, previews.pages, visits._addresses, visits._name_of)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()
    del sys.modules["pages.foundations.sharpening.facts"]


def test_a_folder_with_facts_and_a_script_is_a_page_everywhere(added):
    there = list(pages())
    assert there[there.index("sharpening") - 1 :][:3] == ["positions", "sharpening", "masks"]
    home = visits.opened("start/home/page.py")
    links = list(shown(home))
    assert links[links.index("positions") :][:3] == ["positions", "sharpening", "masks"]
    assert shown(home)["sharpening"] == "Sharpening"
    [sidebar] = [page for page in visits._addresses().values() if page["url_pathname"] == "sharpening"]
    assert (sidebar["page_name"], sidebar["icon"]) == ("Sharpening", ":material/thermostat:")
    assert "\n| `/sharpening` | one slider |\n" in docs_pages.table()
    assert previews.pages()["sharpening"].title == "Sharpening"
    test = visits.opened("foundations/sharpening/page.py", part="Above 1")
    assert test.title[0].value == "How sure is a choice?"
    assert test.segmented_control[0].options == ["Below 1", "Above 1"]
    assert visits.said(test, "markdown").endswith("hot")


def test_every_script_has_its_facts():
    assert {page.file for page in pages().values()} == {path.relative_to(ROOT / "pages").as_posix() for path in SCRIPTS}
    assert len(pages()) == len(list((ROOT / "pages").glob("*/*/facts.py"))), "two have one key"


def test_pages_are_told_apart_and_one_is_the_front_page():
    said = [page.facts for page in pages().values()]
    for name in ("title", "question", "claim", "answers", "shows"):
        assert [words for words, count in Counter(getattr(one, name) for one in said).items() if count > 1] == []
        assert [one.key for one in said if not getattr(one, name)] == ([""] if name == "answers" else [])
    assert [one.key for one in said if not one.icon.replace("_", "").isalnum()] == []
    places = Counter((page.chapter.folder, page.facts.order) for page in pages().values())
    assert max(places.values()) == 1, "their order is not said"
    assert next(iter(pages())) == ""


def test_what_claims_count_is_there():
    for key, count in (("folklore", len(CLAIMS)), ("glossary", len(terms()))):
        assert pages()[key].facts.claim.startswith(f"{count} ")


def test_chapters_have_pages_and_a_picture():
    for chapter in CHAPTERS:
        assert facts.pages_of(chapter.folder)
        assert pages()[chapter.picture].chapter is chapter


def test_each_part_of_the_map_of_a_model_leads_to_one_page():
    assert sorted(part for page in pages().values() for part in page.facts.parts) == sorted(get_args(Part))


def offers(source: str) -> list[str]:
    """What a script begins with, and which sections it offers."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    said = {ast.unparse(call.func): ast.unparse(call.args[0]) for call in calls if call.args}
    return [said[name] for name in ("page.begin", "controls.sections") if name in said]


def test_a_page_begins_with_its_facts_and_offers_its_sections():
    wanted = {
        page.file: ["FACTS", "FACTS.sections"] if page.facts.sections.names else ["FACTS"] for page in pages().values()
    }
    assert {file: offers((ROOT / "pages" / file).read_text("utf-8")) for file in wanted} == wanted


def test_a_page_that_says_something_else_is_found():
    assert offers("page.begin('What?', 'This.')\ncontrols.sections('Look at', 'part', ['a'], 'a')") == [
        "'What?'",
        "'Look at'",
    ]


COUNTED = """
import json, sys
from pages.facts import pages
found = [page.facts.key for page in pages().values()]
others = [name for name in sys.modules if name.partition(".")[0] not in {*sys.stdlib_module_names, *before, "pages"}]
print(json.dumps([found, others]))
"""


def test_to_read_them_imports_nothing_else():
    """Neither Streamlit nor torch, above all."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\nbefore = list(sys.modules)\n{COUNTED}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert json.loads(done.stdout) == [list(pages()), []]


def test_the_table_of_the_documentation_is_theirs():
    text = docs_pages.FILE.read_text("utf-8")
    assert docs_pages.renewed(text) == text, "run python -m tools.docs_pages"
    assert docs_pages.table() in text


def test_another_table_would_be_renewed(monkeypatch):
    text = Path(docs_pages.FILE).read_text("utf-8")
    assert docs_pages.renewed(text.replace("| `/lab` |", "| `/laboratory` |")) == text
