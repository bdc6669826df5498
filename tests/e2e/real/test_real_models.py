"""Heads, the residual stream, interventions and a conversation with models of 30 x 9 and 6 x 12 heads; no word over
another."""

import re

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

from tests.e2e.checks.overlap import OVERLAPPING, WORDS, overlapping
from tests.e2e.visitor import Visitor
from tests.nightly import nightly, often
from tests.real import real
from tfcore.inspection.edits import Edit
from tfcore.measures.heads.maps import attention_maps
from tfcore.measures.heads.sink import without_keys

TIRED = "The animal didn't cross the street because it was too tired."
MARY = "When Mary and John went to the store, John gave a drink to"
OTHER = MARY.replace("John gave", "Mary gave")
TEXT = f"model=smollm2&text={MARY}"
NAMES = "token=another+token&own=+Mary&against=another+token&own_against=+John"
pytestmark = pytest.mark.usefixtures("real_models")


@pytest.fixture
def patterns(real_models):
    model, tokenizer = real("smollm2")
    return attention_maps(model, tokenizer.encode(TIRED)).patterns


def closer(visitor: Visitor) -> np.ndarray:
    """The map of the chosen head, as drawn."""
    return np.array(next(t["z"] for t in visitor.traces("closer")[::-1] if t["type"] == "heatmap"), dtype=np.float32)


@nightly
def test_a_head_is_chosen_found_and_seen_without_the_sink(desk_and_phone, patterns):
    visitor = desk_and_phone["desktop"]
    visitor.open("/heads?model=smollm2")
    visitor.paste(TIRED, "A question.")
    visitor.wait_for_address(hide="true")  # the page begins with a link between words, the first token hidden
    visitor.settle("A question.")
    before = visitor.drawn("closer")
    visitor.click_cell("map", 4, 23)  # head, layer
    visitor.wait_for_address(layer="23", head="4")
    visitor.expect_drawing("closer", unlike=before)
    np.testing.assert_allclose(closer(visitor), without_keys(patterns[23, 4], np.arange(13) == 0), atol=1e-4)
    expect(visitor.figure("closer")).to_contain_text("Hidden: 'The' (0)")

    before = visitor.drawn("closer")
    visitor.page.get_by_role("button", name="More settings").click()
    visitor.page.get_by_text("Hide first token").click()
    visitor.expect_drawing("closer", unlike=before)
    np.testing.assert_allclose(closer(visitor), patterns[23, 4], atol=1e-4)

    view = "rank=weight+from+a+token+to+a+token&from=8&to=1&sort=by+score&layer=23&head=4"
    visitor.open(f"/heads?model=smollm2&{view}&text={TIRED}")
    expect(visitor.figure("map")).to_contain_text(
        "Of 270 heads, the largest weight from '·it' (8) to '·animal' (1): 13.8 with 0.75"
    )
    before = visitor.drawn("closer")
    visitor.click_mark("mosaic", [13, 8])
    visitor.expect_title("Layer 13, head 8")  # the head that the page would begin with, so not in the address
    visitor.expect_drawing("closer", unlike=before)
    assert closer(visitor)[8, 1] == pytest.approx(0.75, abs=0.005)


def lead(*edits: Edit, text: str = MARY) -> float:
    """By how much the logit of Mary is above that of John."""
    model, tokenizer = real("smollm2")
    (mary,), (john,) = tokenizer.encode(" Mary"), tokenizer.encode(" John")
    logits = model(torch.tensor([tokenizer.encode(text)]), edits=edits).logits[0, -1]
    return float(logits[mary] - logits[john])


def fields(visitor: Visitor) -> list[dict]:
    """What the board of effects is made of: the exact effects and, until all of those are there, the estimates."""
    return [trace for trace in visitor.traces("board") if trace["type"] == "heatmap"]


@nightly
def test_effects_are_estimated_and_then_exact(desk_and_phone):
    few = "John gave a drink to"  # all 300 effects are exact in a few seconds

    def without(*edits: Edit) -> float:
        return lead(text=few) - lead(*edits, text=few)

    visitor = desk_and_phone["desktop"]
    visitor.open(f"/interventions?by=two+tokens&{NAMES}&model=smollm2&text={few}")
    expect(visitor.figure("board")).to_contain_text(re.compile("estimate|All effects are exact"))  # seconds apart
    expect(visitor.figure("board")).to_contain_text("All effects are exact", timeout=60_000)
    (exact,) = fields(visitor)
    found = np.array(exact["z"], dtype=np.float32)
    assert found.shape == (30, 10)
    for layer, head in ((23, 3), (18, 6), (0, 0)):
        off = Edit.zero(f"blocks.{layer}.attn.z", heads=[head])
        assert found[layer, head] == pytest.approx(without(off), abs=2e-3)
    assert found[11, 9] == pytest.approx(without(Edit.zero("blocks.11.mlp_out")), abs=2e-3)
    visitor.click_cell("board", 1, 20)
    visitor.wait_for_address(edit="parts you name")
    visitor.wait_until("part => new URL(location.href).searchParams.get('parts')?.includes(part)", "20.1")


def test_the_parts_of_the_stream_add_up_to_the_lead_of_a_name(desk_and_phone):
    visitor = desk_and_phone["desktop"]
    visitor.open(f"/stream?token=another+token&own=+Mary&against=another+token&own_against=+John&{TEXT}")
    (bars,) = [trace for trace in visitor.traces("sum") if trace["type"] == "bar"]
    assert len(bars["x"]) == 14  # the twelve largest, all others, the sum
    assert bars["x"][-1] == pytest.approx(lead(), abs=2e-3)
    assert sum(bars["x"][:-1]) == pytest.approx(bars["x"][-1], abs=1e-3)
    visitor.more_settings("layer")
    assert visitor.control("layer").input_value() == "23"  # the layer of the head that writes most
    visitor.page.keyboard.press("Escape")
    before = visitor.drawn("writes")
    visitor.click_cell("board", 6, 20)
    visitor.wait_for_address(layer="20", part="head 6")
    visitor.expect_drawing("writes", unlike=before)

    visitor.open(f"/stream?show=Logit+lens&{TEXT}")
    (cells,) = [trace for trace in visitor.traces("lens") if trace["type"] == "heatmap"]
    assert len(cells["text"][-1]) == 11
    assert cells["text"][-1][-1] == "·Mary"
    visitor.more_settings("from_layer")
    visitor.control("from_layer").press("End")
    visitor.wait_for_address(from_layer="29")


@nightly
def test_a_conversation_is_continued(desk_and_phone):
    visitor = desk_and_phone["desktop"]
    visitor.open("/generation?show=Conversation&model=smollm2&answer=10&temperature=0.0&said=What+is+2+%2B+2%3F")
    expect(visitor.page.get_by_test_id("stChatMessage")).to_have_count(2)
    expect(visitor.figure("conversation")).to_contain_text("template", timeout=60_000)
    answer = visitor.page.get_by_test_id("stChatMessage").nth(1).inner_text()
    assert "4" in answer
    visitor.page.get_by_test_id("stChatInputTextArea").fill("And 3 + 3?")
    visitor.page.get_by_test_id("stChatInputTextArea").press("Enter")
    expect(visitor.page.get_by_test_id("stChatMessage")).to_have_count(4, timeout=60_000)
    visitor.wait_for_address(said="What is 2 + 2?\n---\nAnd 3 + 3?")
    assert visitor.page.get_by_test_id("stChatMessage").nth(1).inner_text() == answer


VIEWS = [
    f"/stream?{TEXT}",
    f"/stream?show=Logit+lens&{TEXT}",
    f"/stream?show=Norm+and+cosine&{TEXT}",
    f"/stream?show=Skip+a+layer&{TEXT}",
    f"/interventions?{TEXT}",
    f"/interventions?show=Activation+patching&other={OTHER}&{TEXT}",
    "/induction?model=smollm2",
    "/induction?show=the+induction+circuit&model=smollm2",
    "/generation?model=smollm2",
    "/tokens?model=smollm2",
    "/masks?model=smollm2",
    "/walkthrough?model=smollm2",
    "/attention?look=Words+of+a+text&model=minilm",
    "/masks?model=minilm",
    "/tokens?part=Embedding+table&model=minilm",
    "/heads?show=side+by+side&with=another+model&model=smollm2&model2=minilm",
    "/feedforward?panel=Activation+functions&of=smollm2",
    "/positions?scheme=Learned&of=minilm",
    "/residuals?part=Dropout&model=smollm2",
    "/generation?show=Beam+search&model=smollm2",
    "/kv-cache?model=smollm2",
    "/architectures?model=smollm2",
    "/your-model?model=smollm2",
    "/flow?model=minilm",
]
HEADS = [
    "/heads?model=smollm2",
    "/heads?model=smollm2&rank=entropy&sort=by+score&log=true&hide=true",
    "/heads?model=smollm2&kind=induction&sort=by+kind",
    "/heads?model=smollm2&layer=17&text=" + "The+quick+brown+fox+jumps+over+it.+" * 40,
    "/heads?model=minilm&rank=weight+from+a+token+to+a+token",
    "/heads?model=minilm&show=side+by+side",
    "/heads?model=stories",
]
ON_PHONE = [*HEADS, *VIEWS[:6:2]]
SEEN = [*((view, "desktop") for view in [*VIEWS, *HEADS]), *((view, "phone") for view in ON_PHONE)]


@nightly
@pytest.mark.parametrize("seen", often(SEEN, [SEEN[0], SEEN[-1]]), ids="{0[0]} {0[1]}".format)
def test_no_words_lie_over_others(desk_and_phone, seen):
    view, window = seen
    visitor = desk_and_phone[window].open(view)
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
