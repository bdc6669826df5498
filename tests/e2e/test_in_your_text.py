"""What is worth seeing in a text that a visitor pastes: the page begins with it, and every chip opens what shows it."""

import re

from playwright.sync_api import expect

from tests.e2e.visitor import LAST
from tests.nightly import nightly
from tfcore.views.highlights import chips, highlights_of
from tfcore.views.sources import Reading

PARK = "Tom went to the park with Lily. Tom saw a big tree. He was very"


def found(kind):
    return next(one for one in chips(highlights_of(Reading("stories", PARK))) if one.kind == kind)


def test_a_page_begins_with_what_is_found_and_leads_to_the_rest(visitor):
    visitor.open("/heads?model=stories")
    visitor.paste(PARK)
    link, decision = found("link"), found("decision")
    (layer, head), *_ = link.heads
    visitor.wait_for_address(head=str(head), token=str(link.token), hide="true")
    visitor.settle(LAST["/heads"])
    visitor.expect_title(f"Layer {layer}, head {head}")
    expect(visitor.page.get_by_role("button", name=link.words, exact=True)).to_be_visible()
    visitor.page.get_by_role("link", name=decision.words).click()
    visitor.page.wait_for_url(re.compile("/stream"))
    visitor.settle(LAST["/stream"])
    visitor.wait_for_address(part=f"head {decision.heads[0][1]}")
    visitor.check()


@nightly
def test_the_river_enlarges_the_head_that_looks(visitor):
    visitor.open("/flow?model=stories")
    visitor.paste(PARK)
    link = found("link")
    (layer, head), *_ = link.heads
    visitor.page.get_by_role("button", name=link.words, exact=True).click()
    visitor.wait_for_address(zoom=f"{layer}.{head}")
    visitor.settle(LAST["/flow"])
    visitor.check()
