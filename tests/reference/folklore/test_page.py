"""The page on folklore: every claim with its number and verdict, filters in the address, and links that hold."""

from functools import partial

import pytest

from pages.facts import pages
from pages.reference import views as _views
from pages.reference.folklore.card import click
from pages.ui import controls
from tests.nightly import nightly, often
from tests.pages import visits
from tests.pages.figures import figures
from tests.pages.visits import press, said
from tfcore import load
from tfcore.views.reference.folklore.measure import CLAIMS
from tfcore.views.reference.folklore.measure.claim import ROUGH

opened = partial(visits.opened, "reference/folklore/page.py")


def claims(test):
    """The rows of the table: claim, verdict, computed, why."""
    rows = [line for markdown in test.markdown for line in markdown.value.split("\n") if line.startswith("| ")]
    return [row.replace("\\", "").replace("\u2060", "").strip("| ").split(" | ") for row in rows[1:]]


@nightly
def test_all_claims_are_in_the_table_with_number_and_verdict():
    rows = claims(opened())
    assert len(rows) == len(CLAIMS) >= 25
    by_claim = {row[0]: row for row in rows}
    gpt2 = next(row for claim, row in by_claim.items() if "117 M" in claim)
    assert "wrong" in gpt2[1]
    assert gpt2[2] == "124,439,808"
    assert "(parameters?model=gpt2_small)" in gpt2[3]
    assert all(any(verdict in row[1] for verdict in ("true", "roughly", "wrong", "depends")) for row in rows)


def test_what_to_see_fits_the_figure():
    assert "GPT-2's 117 M lies in the strip and is wrong" in said(opened(), "markdown")
    found = CLAIMS["gpt2"].check(*load("stories"))
    assert found.verdict == "wrong"
    assert all(abs(ratio - 1) < ROUGH for ratio in found.ratios.values())


def test_the_address_filters():
    assert 0 < len(claims(opened(verdict="wrong"))) == sum("wrong" in row[1] for row in claims(opened()))
    model = claims(opened(chapter="Model", words="mixtral"))
    assert [row[2] for row in model] == ["46,702,792,704", "12,879,925,248"]


@pytest.mark.parametrize(
    ("claim", "number", "verdict"),
    [
        ("mixtral", "46,702,792,704", "wrong"),
        ("kv", "85.9 GB", "true"),
        ("twenty", "93", "depends"),
        ("bits", "6.644 bits", "true"),
        ("wavelengths", "9,647", "roughly"),
    ],
)
def test_a_claim_is_shown_with_its_code(claim, number, verdict):
    test = opened(claim=claim)
    assert CLAIMS[claim].said in said(test, "subheader")
    assert number in said(test, "markdown")
    assert f"is {verdict}: " in figures(test)["ratios"][0]["alt"]
    assert any(f"{CLAIMS[claim].compute.__name__}`" in caption.value for caption in test.caption)


def test_nothing_found_is_said():
    test = opened(words="no such claim")
    assert "No claim has all of this" in test.info[0].value
    assert not figures(test)


def test_buttons_filter_and_choose():
    test = press(opened(), "try all that is wrong")
    assert all("wrong" in row[1] for row in claims(test))
    assert "softmax(8" in said(test, "subheader")


FILES = {key: page.file for key, page in pages().items()}
VIEWS = sorted({claim.see for claim in CLAIMS.values() if _views.parts(claim.see)[0] in FILES})


@pytest.mark.parametrize("view", often(VIEWS, VIEWS[::4]))
def test_the_view_of_a_claim_opens_as_it_is_asked_for(view):
    page, settings = _views.parts(view)
    test = visits.opened(FILES[page], **settings)
    assert "Corrected" not in said(test, "caption")
    assert "another meaning" not in said(test, "caption")


def test_a_click_on_a_row_chooses_its_claim(monkeypatch):
    chosen: dict[str, object] = {}
    monkeypatch.setattr(controls, "set_values", lambda **values: chosen.update(values))
    click({"curve": 0, "point": 3, "x": 1, "y": 0, "customdata": "mixtral"})
    assert chosen == {"claim": "mixtral"}
    chosen.clear()
    click({"curve": 0, "point": 3, "x": 1, "y": 0, "customdata": "<b>"})
    assert not chosen
