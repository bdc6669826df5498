"""Keys in Chromium: a page is presented, something is found, and the foot leads on."""

from playwright.sync_api import expect

from tests.e2e.visitor import Visitor
from tests.nightly import nightly

# What of these can be seen.
SEEN = """selectors => selectors.filter(one => [...document.querySelectorAll(one)].some(
  node => node.checkVisibility({ visibilityProperty: true }) && node.getBoundingClientRect().width > 0))"""
STAGED = ".tf-figure.tf-on-stage .main-svg"
CHROME = ('[data-testid="stSidebar"]', '[data-testid="stHeader"]', "textarea", "h1", '[class*="st-key-try-"]')
# Whether the figure is within the window and has this share of it.
LARGE = f"""share => {{
  const box = document.querySelector('{STAGED}')?.getBoundingClientRect()
  return Boolean(box && box.right <= innerWidth && box.bottom <= innerHeight
    && box.width * box.height > share * innerWidth * innerHeight)
}}"""
FRAMED = """() => {
  const main = document.querySelector('[data-testid="stMain"]')
  return [main.matches(":focus-visible"), getComputedStyle(main, "::before").boxShadow]
}"""


def seen(visitor: Visitor, *selectors: str) -> set[str]:
    return set(visitor.page.evaluate(SEEN, list(selectors)))


def test_a_page_is_presented_with_keys(visitor):
    visitor.open("/masks")
    assert seen(visitor, *CHROME) == set(CHROME)
    visitor.page.keyboard.press("p")
    visitor.wait_for_address(present="1")
    visitor.wait_until(LARGE, 0.35)
    assert seen(visitor, *CHROME, ".tf-stage h2", ".tf-words", STAGED) == {".tf-stage h2", ".tf-words", STAGED}
    expect(visitor.page.locator(".tf-stage h2")).to_have_text("Which tokens may attend to which?")
    expect(visitor.page.locator(".tf-words")).to_contain_text("minus infinity")
    expect(visitor.page.get_by_role("status").filter(has_text="Presenting")).to_have_count(1)

    before = visitor.drawn("mask")
    visitor.page.keyboard.press("ArrowRight")
    visitor.page.keyboard.press("ArrowRight")
    visitor.wait_for_address(kind="bidirectional", present="1")
    expect(visitor.page.locator(".tf-stage header p")).to_have_text("an encoder")
    visitor.expect_drawing("mask", unlike=before)
    visitor.page.keyboard.press("b")
    expect(visitor.page.locator(".tf-black")).to_be_visible()
    visitor.page.keyboard.press("b")
    expect(visitor.page.locator(".tf-black")).to_be_hidden()

    visitor.page.keyboard.press("Escape")
    visitor.wait_until("() => !new URLSearchParams(location.search).has('present')")
    assert seen(visitor, *CHROME) == set(CHROME)
    assert "tf-on-stage" not in (visitor.figure("mask").get_attribute("class") or "")


def test_something_is_found_and_opened_with_keys(visitor):
    visitor.open("/masks")
    visitor.page.keyboard.press("Control+k")
    visitor.page.keyboard.type("previous token example")
    expect(visitor.page.get_by_text("Nothing has all of these words.")).to_be_visible()
    visitor.page.keyboard.press("Control+a")
    visitor.page.keyboard.type("kv cache")
    option = visitor.page.get_by_role("option", selected=True)
    first = option.inner_text()
    visitor.page.keyboard.press("ArrowDown")
    expect(option).not_to_have_text(first)
    visitor.page.keyboard.press("ArrowUp")
    visitor.page.keyboard.press("Enter")
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("Why cache keys and values?")
    visitor.wait_until("() => location.pathname === '/kv-cache'")


@nightly
def test_a_link_presents_and_typing_is_typing(visitor):
    visitor.page.goto(f"{visitor.address}/masks?present=1&kind=sliding+window")  # no word that `open` waits for is seen
    visitor.wait_until(LARGE, 0.35)
    visitor.page.get_by_role("button", name="Leave the presentation").click()
    visitor.wait_until("() => !new URLSearchParams(location.search).has('present')")
    visitor.box().fill("")
    visitor.box().press_sequentially("p?b")
    visitor.page.keyboard.press("Control+k")
    expect(visitor.box()).to_have_value("p?b")
    assert seen(visitor, *CHROME) == set(CHROME)
    expect(visitor.page.get_by_role("dialog")).to_have_count(0)


@nightly
def test_an_example_is_found_and_pressed_and_the_foot_leads_on(visitor):
    visitor.open("/masks")
    visitor.page.keyboard.press("Control+k")
    visitor.page.keyboard.type("previous token heads")
    named = visitor.page.get_by_text("previous token", exact=True)  # and not "two previous token heads"
    visitor.page.get_by_role("option").filter(has=named).filter(has_text="Attention heads").click()
    visitor.wait_until("() => location.pathname === '/heads'")
    visitor.wait_for_address(layer="1", head="1")
    visitor.settle()
    visitor.page.get_by_role("link", name="Pictures →").click()
    visitor.wait_until("() => location.pathname === '/pictures'")
    visitor.settle()
    visitor.page.keyboard.press("?")
    expect(visitor.page.get_by_role("dialog", name="Keys")).to_be_visible()
    visitor.page.keyboard.press("Escape")
    expect(visitor.page.get_by_role("dialog")).to_have_count(0)


@nightly
def test_a_click_on_the_page_draws_no_frame_around_it(visitor):
    visitor.open("/masks")
    visitor.page.mouse.click(400, 500)
    visitor.page.keyboard.press("ArrowDown")
    assert visitor.page.evaluate(FRAMED) == [True, "none"]
