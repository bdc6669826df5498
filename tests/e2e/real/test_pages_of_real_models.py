"""The residual stream, interventions and a conversation with a model of 30 layers; no word over another."""

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

from tests.e2e.checks.overlap import overlapping
from tests.e2e.visitor import Visitor
from tests.nightly import often
from tests.real import real
from tfcore.inspection.edits import Edit

MARY = "When Mary and John went to the store, John gave a drink to"
OTHER = MARY.replace("John gave", "Mary gave")
TEXT = f"model=smollm2&text={MARY}"
NAMES = "token=another+token&own=+Mary&against=another+token&own_against=+John"
pytestmark = pytest.mark.usefixtures("real_models")


def lead(*edits: Edit, text: str = MARY) -> float:
    """By how much the logit of Mary is above that of John."""
    model, tokenizer = real("smollm2")
    (mary,), (john,) = tokenizer.encode(" Mary"), tokenizer.encode(" John")
    logits = model(torch.tensor([tokenizer.encode(text)]), edits=edits).logits[0, -1]
    return float(logits[mary] - logits[john])


def fields(visitor: Visitor) -> list[dict]:
    """What the board of effects is made of: the exact effects and, until all of those are there, the estimates."""
    return [trace for trace in visitor.traces("board") if trace["type"] == "heatmap"]


def test_effects_are_estimated_and_then_exact(visit, real_server):
    few = "John gave a drink to"  # all 300 effects are exact in a few seconds

    def without(*edits: Edit) -> float:
        return lead(text=few) - lead(*edits, text=few)

    visitor = visit(real_server)
    visitor.open(f"/interventions?by=two+tokens&{NAMES}&model=smollm2&text={few}")
    expect(visitor.figure("board")).to_contain_text("estimate")
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


def test_the_parts_of_the_stream_add_up_to_the_lead_of_a_name(visit, real_server):
    visitor = visit(real_server)
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


def test_a_conversation_is_continued(visit, real_server):
    visitor = visit(real_server)
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


SEEN = [*((view, "desktop") for view in VIEWS), *((view, "phone") for view in VIEWS[:6:2])]


@pytest.mark.parametrize("seen", often(SEEN, [SEEN[0], SEEN[-1]]), ids="{0[0]} {0[1]}".format)
def test_no_words_lie_over_others(desk_and_phone, seen):
    view, window = seen
    visitor = desk_and_phone[window].open(view)
    assert overlapping(visitor.page) == []
    visitor.check()
