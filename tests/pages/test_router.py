"""The list of pages and the files are the same thing."""

import ast
from functools import cache
from pathlib import Path

PAGES = Path(__file__).resolve().parents[2] / "pages"


@cache
def listed() -> tuple[tuple[str, str, str, str], ...]:
    """File, title, icon and address of every page."""
    tree = ast.parse((PAGES / "router.py").read_text())
    value = next(n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "PAGES")
    return tuple(entry for chapter in ast.literal_eval(value).values() for entry in chapter)


def test_every_page_on_the_list_is_a_file_and_every_file_is_on_the_list():
    files = {p.relative_to(PAGES).as_posix() for p in PAGES.rglob("page.py") if p.parent.name != "ui"}
    assert {file for file, *_ in listed()} == files


def test_addresses_and_titles_are_unique_and_one_page_is_the_front():
    _, titles, icons, urls = zip(*listed(), strict=True)
    assert len(set(urls)) == len(urls)
    assert len(set(titles)) == len(titles)
    assert urls.count("") == 1
    assert all(icons)
