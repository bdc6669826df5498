"""The menu beside the title, with the keyboard and the clipboard of a real browser."""

from playwright.sync_api import expect

OWN = "/heads?text=My+private+words&layer=1"


def clipboard(visitor) -> str:
    return visitor.page.evaluate("navigator.clipboard.readText()")


def test_a_view_is_copied_without_its_text_reported_and_put_back(visitor):
    visitor.open(OWN)
    page = visitor.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=visitor.address)
    said = page.get_by_role("status").filter(has_text="copied")
    page.get_by_role("button", name="Copy link").click()
    expect(said).to_have_text("Link copied")
    assert "private" in clipboard(visitor)
    without = page.get_by_role("button", name="Copy without the text")
    expect(without).to_be_visible()
    without.click()
    expect(without).to_be_hidden()
    assert clipboard(visitor) == f"{visitor.address}/heads?layer=1&v=2"
    more = page.get_by_role("button", name="More about this view")
    more.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(said).to_have_text("Report copied")
    report = clipboard(visitor)
    assert "Page: What does each head attend to?\n" in report
    assert "Model: stories\n" in report
    assert "private" not in report
    more.press("Enter")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{visitor.address}/heads")
    expect(visitor.box()).not_to_have_value("My private words")
