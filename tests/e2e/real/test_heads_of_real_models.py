"""The page on heads with models of 30 x 9 and 6 x 12 heads: a head chosen, found, seen without the sink; no word over
another."""

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.e2e.checks.overlap import OVERLAPPING, WORDS, overlapping
from tests.e2e.visitor import Visitor
from tests.nightly import nightly
from tests.real import real
from tfcore.analysis.foundations.attention_maps import attention_maps
from tfcore.analysis.foundations.attention_sink import without_keys

TIRED = "The animal didn't cross the street because it was too tired."


@pytest.fixture
def patterns(real_models):
    model, tokenizer = real("smollm2")
    return attention_maps(model, tokenizer.encode(TIRED)).patterns


def drawn(visitor: Visitor) -> np.ndarray:
    """The map of the chosen head, as drawn."""
    return np.array(next(t["z"] for t in visitor.traces("closer")[::-1] if t["type"] == "heatmap"), dtype=np.float32)


def test_a_head_is_chosen_found_and_seen_without_the_sink(visit, real_server, patterns):
    visitor = visit(real_server)
    visitor.open("/heads?model=smollm2")
    visitor.paste(TIRED, "A question.")
    before = visitor.drawn("closer")
    visitor.click_cell("map", 4, 23)  # head, layer
    visitor.wait_for_address(layer="23", head="4")
    visitor.expect_drawing("closer", unlike=before)
    np.testing.assert_allclose(drawn(visitor), patterns[23, 4], atol=1e-4)

    before = visitor.drawn("closer")
    visitor.page.get_by_role("button", name="More settings").click()
    visitor.page.get_by_text("Hide first token").click()
    visitor.wait_for_address(hide="true")
    visitor.expect_drawing("closer", unlike=before)
    np.testing.assert_allclose(drawn(visitor), without_keys(patterns[23, 4], np.arange(13) == 0), atol=1e-4)
    expect(visitor.figure("closer")).to_contain_text("Hidden: 'The' (0)")

    view = "rank=weight+from+a+token+to+a+token&from=8&to=1&sort=by+score&layer=23&head=4"
    visitor.open(f"/heads?model=smollm2&{view}&text={TIRED}")
    expect(visitor.figure("map")).to_contain_text(
        "Of 270 heads, the largest weight from '·it' (8) to '·animal' (1): 13.8 with 0.75"
    )
    before = visitor.drawn("closer")
    visitor.click_mark("mosaic", [13, 8])
    visitor.expect_title("Layer 13, head 8")  # the head that the page would begin with, so not in the address
    visitor.expect_drawing("closer", unlike=before)
    assert drawn(visitor)[8, 1] == pytest.approx(0.75, abs=0.005)


VIEWS = [
    "model=smollm2",
    "model=smollm2&rank=entropy&sort=by+score&log=true&hide=true",
    "model=smollm2&kind=induction&sort=by+kind",
    "model=smollm2&layer=17&text=" + "The+quick+brown+fox+jumps+over+it.+" * 40,
    "model=minilm&rank=weight+from+a+token+to+a+token",
    "model=minilm&show=side+by+side",
    "model=stories",
]
SEEN = [(view, window) for view in VIEWS for window in ("desktop", "phone")]


@nightly
@pytest.mark.parametrize("seen", SEEN, ids="{0[0]} {0[1]}".format)
def test_no_words_lie_over_others(desk_and_phone, real_models, seen):
    view, window = seen
    visitor = desk_and_phone[window].open(f"/heads?{view}")
    assert overlapping(visitor.page) == []
    visitor.check()


def test_words_over_others_are_noticed(visit):
    visitor = visit("")
    visitor.page.set_content(
        '<div class="st-key-map-figure"><div class="js-plotly-plot"><svg width="200" height="60"><g class="xtick">'
        '<text x="10" y="20">one</text></g><g class="xtick"><text x="14" y="20">two</text></g><g class="xtick">'
        '<text x="90" y="20">three</text></g></svg></div></div>'
    )
    assert visitor.page.evaluate(OVERLAPPING, WORDS) == ["map: “two” over “one”"]
