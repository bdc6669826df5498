"""The book (tools/book.py): how words, formulas, data and chapters are written down; the night opens it in a browser
(tests/e2e/test_book.py)."""

import json
import os
import re
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pandas as pd
import pytest

from pages.facts import CHAPTERS, pages
from pages.ui import streamlit_internals
from tests.nightly import nightly
from tfcore.views import addresses
from tools import book

# What a browser asks for by itself, and what it does where somebody clicks.
ASKED = re.compile(r'<(?:img|script|link|source|iframe)[^>]*? (?:src|srcset|href)="([^"]*)"')
CLICKED = re.compile(r'<a [^>]*?href="([^"]*)"')


def test_markdown_is_written_with_its_formulas_and_links_and_nothing_of_streamlit_or_html():
    written = book.words(
        "**A** :red[word] :material/info: of $a_1 < *b*$, [heads](/heads) [masks](masks?kind=causal) "
        "<img onerror=x> \\$5"
    )
    assert written.startswith("<p><strong>A</strong> word")
    assert '<span class="math">a_1 &lt; *b*</span>' in written
    assert '<a href="heads.html">heads</a>' in written
    assert '<a href="http://localhost:8501/masks?kind=causal">masks</a>' in written
    assert "&lt;img onerror=x&gt; $5" in written
    assert "material" not in written


def test_money_is_no_formula():
    assert "math" not in book.words("from $5 to $6 each")


def test_data_end_no_script_and_come_back():
    data = {"text": "</script><b>", "many": [1, 2.5, None]}
    written = book.picture("river", data, 300, 'a "quoted" picture')
    inside = re.fullmatch(r'<script type="application/json">(.*)</script><div class="picture".*', written)[1]
    assert "<" not in inside
    assert json.loads(inside) == data
    assert 'aria-label="a &quot;quoted&quot; picture"' in written


def test_a_long_table_says_what_it_leaves_out():
    written = book.table(pd.DataFrame({"token": ["<b>"] * (book.ROWS + 3)}))
    assert written.count("&lt;b&gt;") == book.ROWS
    assert "and 3 rows more" in written


def test_the_index_has_every_page_under_its_chapter():
    sections = book.index().split("<section>")[1:]
    assert len(sections) == len(CHAPTERS)
    listed = [re.findall(r'<li><a href="([\w-]+)\.html">', section) for section in sections]
    by_chapter = [[key or "home" for key, page in pages().items() if page.chapter == chapter] for chapter in CHAPTERS]
    assert listed == by_chapter


def test_the_template_takes_any_words_and_leaves_none_of_its_places():
    written = book.whole("A {title}", 'of "it"', "<p>{main}</p>", ("a.html", ""))
    assert "<title>A {title}</title>" in written
    assert "<p>{main}</p>" in written
    assert 'content="of &quot;it&quot;"' in written
    assert written.count('href="a.html"') == 2
    assert 'rel="next"' not in written


def test_links_lead_to_the_app_that_was_named(monkeypatch):
    assert book.in_app("heads", {"show": "why"}).startswith("http://localhost:8501/heads?v=")
    monkeypatch.setenv(addresses.SETTING, "https://example.org/app/")
    assert re.fullmatch(r"https://example\.org/app/heads\?v=\d+&show=why", book.in_app("heads", {"show": "why"}))


def test_a_streamlit_without_katex_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(streamlit_internals, "FOLDER", tmp_path)
    with pytest.raises(FileNotFoundError, match="keeps KaTeX elsewhere"):
        book.katex()


def test_a_page_begins_with_the_picture_of_its_first_figure_alone():
    assert "first/flow" not in book.still("flow", "of another figure")
    assert book.still("attention", "").count('srcset="first/attention-narrow-') == 2
    assert book.still("glossary", "") == ""


@nightly
def test_all_that_the_whole_book_asks_for_is_in_it_and_every_page_leads_to_the_app(tmp_path):
    """Of the book in the folder that BOOK names, or of one that is made here."""
    keys = list(pages())
    if made := os.environ.get("BOOK"):
        sizes = book.sizes(Path(made))
    else:
        sizes = book.build(keys, tmp_path / "book")
    folder = Path(made or tmp_path / "book")
    assert sum(sizes.values()) < book.LIMIT
    to_app: Counter[str] = Counter()
    for name in filter(re.compile(r".*\.html").fullmatch, sizes):
        html = (folder / name).read_text("utf-8")
        assert {one for one in ASKED.findall(html) if one not in sizes} == set(), name
        for one in CLICKED.findall(html):
            where = urlsplit(one)
            if one.startswith(addresses.app()):
                to_app[where.path.lstrip("/")] += 1
            elif not where.scheme:
                assert where.path in sizes, f"{name}: {one}"
    assert to_app.keys() >= set(keys)
