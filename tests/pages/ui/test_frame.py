"""What the frame of a section makes of views: captions, and programs of what is shown now."""

from typing import Any

from pages.ui import frame
from pages.ui.frame import Panel
from tfcore.views.foundations import heads
from tfcore.views.sources import Reading

READ = Reading("stories", "One two three")


def test_what_a_click_does_follows_the_caption(monkeypatch):
    said = list[str]()
    monkeypatch.setattr(frame, "figure", lambda _, *, caption, **__: said.append(caption))
    panel, shown = Panel(None, None, None), heads.portrait(READ, 0, 1, 2)
    panel.show(shown)
    panel.show(shown, lambda _: None, "Click a word.")
    assert said == [shown.caption, f"{shown.caption} Click a word."]
    assert panel.views == {"portrait": shown}


def test_what_a_saved_picture_says_goes_along(monkeypatch):
    said = list[dict[str, Any]]()
    monkeypatch.setattr(frame, "figure", lambda _, *, about, **__: said.append(about))
    shown = heads.portrait(READ, 0, 1, 2)
    frame.show(shown, lambda _: None, "Click a word.")
    words = {"title": shown.title, "finding": str(shown.findings[0]), "computed": shown.computed}
    call = "heads.portrait", {"model": "stories", "text": "One two three", "layer": 0, "head": 1, "token": 2}
    assert said == [{**words, "hint": "Click a word.", "call": call}]
    assert "model stories" in shown.computed


def test_a_drawer_offers_the_program_of_what_a_fragment_has_shown_since_it_was_opened():
    panel = Panel(None, None, None)
    panel.views["closer"] = heads.head(READ, 0, 1, 2)
    offered = frame._downloads(panel.views, "closer", "This view")
    panel.views["closer"] = heads.layer_mean(READ, 0, 1)
    script = offered.written["py"]().decode()
    assert "shown = layer_mean(\n" in script
    assert "    token=1,\n" in script


def test_two_pictures_of_one_function_have_files_of_their_own():
    panel = Panel(None, None, None)
    panel.views |= {key: heads.portrait(READ, 0, i, 2) for i, key in enumerate(("one", "other"))}
    assert [frame._downloads(panel.views, key, "").name for key in panel.views] == [
        "heads-portrait-one",
        "heads-portrait-other",
    ]
