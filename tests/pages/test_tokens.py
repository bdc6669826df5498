"""The page on tokens: every part at its defaults, its ends, from damaged addresses, with hostile text and files."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.figures import figures

ROUTER = Path(__file__).parents[2] / "pages" / "router.py"
PARTS = ("Text", "Merges, one by one", "Learning merges", "Image", "Sound", "Time series", "Protein", "Embedding table")


def opened(**address: str) -> AppTest:
    test = AppTest.from_file(str(ROUTER), default_timeout=120)
    test.switch_page("foundations/tokens.py")
    test.query_params.update(address)
    return run(test)


def run(test) -> AppTest:
    test = test.run()
    assert not test.exception, test.exception
    assert not test.error, test.error
    return test


def said(test: AppTest) -> str:
    kinds = (test.caption, test.markdown, test.warning, test.info)
    return " ".join(element.value for kind in kinds for element in kind).replace("\\", "").replace("\u2060", "")


@pytest.mark.parametrize("part", PARTS)
def test_every_part_has_the_rhythm_of_a_page(part):
    test = opened(part=part)
    assert figures(test)
    assert test.latex
    assert "**What to see.**" in said(test)
    assert "**A question.**" in said(test)
    assert "doi:" in said(test) or "arXiv:" in said(test)
    assert any("tfcore." in expander.label for expander in test.expander)
    assert sum((button.key or "").startswith("try ") for button in test.button) >= 3
    for head, _ in figures(test).values():
        assert any(sign.isdigit() for sign in head["alt"]), head["alt"]


@pytest.mark.parametrize("part", PARTS)
def test_sliders_at_their_ends_and_every_try_button(part):
    test = opened(part=part)
    for end in ("min", "max"):
        for key in [slider.key for slider in test.slider if not slider.disabled]:
            found = [slider for slider in test.slider if slider.key == key and not slider.disabled]
            if found:
                found[0].set_value(getattr(found[0], end))
                run(test)
    for key in [button.key for button in test.button if (button.key or "").startswith("try ")]:
        test.button(key=key).click()
        run(test)
