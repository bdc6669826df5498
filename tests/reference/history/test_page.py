"""The page on history: the filter in the address, a card for every entry, links that lead somewhere, true lengths."""

from functools import partial

import pytest

from pages.facts import pages
from pages.reference import views as _views
from pages.reference.history import sequences, timeline
from pages.ui import controls, places
from tests.pages import visits
from tests.pages.figures import figures
from tests.pages.visits import press, said
from tfcore.measures.token_counts import SEQUENCES
from tfcore.views.reference.folklore.measure import CLAIMS
from tfcore.views.reference.history.measure import milestones

opened = partial(visits.opened, "reference/history/page.py")
SEEN = {view for entry in milestones().values() for view in entry.see}
SEEN |= {claim.see for claim in CLAIMS.values()}


def card(test):
    """The title of the card."""
    return test.subheader[0].value


def test_default_view_shows_all_and_the_transformer():
    test = opened()
    assert card(test) == "2017 · Transformer"
    head, drawn = figures(test)["timeline"]
    assert f"{len(milestones())} of {len(milestones())} entries from 1943 to 2026" in head["alt"]
    assert "arXiv:1706.03762" in said(test, "caption")
    labelled = [key for trace in drawn["data"] for key in trace.get("customdata", [])]
    assert sorted(labelled) == sorted(milestones())


def test_the_chosen_entry_is_brought_into_sight():
    places = [
        figures(opened(entry=entry))["timeline"][0]["at"] for entry in ("1943 McCulloch–Pitts neuron", "2020 GPT-3")
    ]
    assert 0 < places[0] < 390 < places[1] < 960
    assert figures(opened(words="nothing has this"))["timeline"][0]["at"] is None


def test_the_address_filters_and_chooses():
    test = opened(field="biology", entry="alphafold")
    assert card(test) == "2021 · AlphaFold 2"
    test = opened(words="VASWANI")
    assert "2 of" in (alt := figures(test)["timeline"][0]["alt"])  # relative positions are his too
    assert "Transformer (2017)" in alt
    test = opened(show="families", entry="lstm")
    alt = figures(test)["timeline"][0]["alt"]
    assert "LSTM (1997), which builds on" in alt
    assert "others and led to" in alt


def test_neighbours_in_the_lineage_are_one_click_away():
    test = press(opened(field="language", entry="gpt"), "go Led to bert")
    assert card(test) == "2018 · BERT"
    test = press(test, "go Builds on transformer")
    assert card(test) == "2017 · Transformer"


def test_nothing_found_is_said():
    test = opened(words="$x$ <b>nothing</b>")
    assert "No entry has all of this" in test.info[0].value
    assert "None of" in figures(test)["timeline"][0]["alt"]


def test_an_entry_that_the_filter_hides_gives_way():
    assert card(opened(field="audio", entry="gpt3")).startswith("2006")


@pytest.mark.parametrize(
    ("address", "tokens"),
    [
        ({"kind": "image"}, 197),
        ({"kind": "sound"}, 1_500),
        ({"kind": "image", "image_patch": "32"}, 50),
        ({"kind": "video", "video_frames": "64"}, 6_272),
    ],
)
def test_lengths_follow_the_sliders(address, tokens):
    test = opened(show="sequences", **address)
    assert test.metric[0].value == f"{tokens:,}"
    assert test.metric[1].value == f"{tokens**2:,}"
    assert f"{tokens:,} tokens" in figures(test)["lengths"][0]["alt"]


def test_how_far_apart_the_lengths_are_is_counted():
    lengths = sorted(one.published() for one in SEQUENCES.values())
    words = said(opened(show="sequences"), "markdown")
    assert f"From the {lengths[0]:,} tokens of" in words
    assert f"to the {lengths[-1]:,} tokens of" in words
    assert f"a factor of {lengths[-1] / lengths[0]:.0f}." in words


def test_an_entry_about_sequences_leads_to_them_on_this_page():
    test = press(opened(entry="dalle"), "see history?show=sequences&kind=codes")
    assert test.selectbox(key="kind").value == "codes"
    assert test.metric[0].value == "1,280"


@pytest.mark.parametrize("view", sorted(SEEN | {one.see for one in SEQUENCES.values()} - {""}))
def test_every_view_that_is_named_is_a_page(view):
    page, settings = _views.parts(view)
    assert page in set(pages())
    assert "=" not in page
    assert all(settings.values())


def test_every_entry_has_a_page_that_is_there_now():
    for entry in milestones().values():
        assert any(places.known(_views.parts(view)[0]) for view in entry.see), entry.key


def test_a_click_chooses_the_entry_and_the_kind(monkeypatch):
    chosen: dict[str, object] = {}
    monkeypatch.setattr(controls, "set_values", lambda **values: chosen.update(values))
    click = {"curve": 0, "point": 3, "x": 1, "y": 0}
    timeline._click({**click, "customdata": "lstm"})
    sequences._click({**click, "customdata": "video"})
    assert chosen == {"entry": "lstm", "kind": "video"}
    chosen.clear()
    timeline._click({**click, "customdata": "no such entry"})
    sequences._click({**click, "customdata": None})
    assert not chosen
