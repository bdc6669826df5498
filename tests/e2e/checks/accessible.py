"""What axe-core and the keyboard find wrong on a page in Chromium, but for what is Streamlit's own."""

from importlib.resources import files

from playwright.sync_api import Page

AXE = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
HIGHEST = 10_000  # pixels of a page that are looked at
# Streamlit's own, which nothing from outside mends: rule of axe-core -> where, and why it does no harm here.
STREAMLITS = {
    # The chapters of the sidebar stand as boxes between the list and its entries; they are read in their order.
    "list": '[data-testid="stSidebarNavItems"]',
    "listitem": '[data-testid="stSidebarNavItems"]',
    # Formulas and code that are too wide scroll in a box, which browsers themselves make a stop of the Tab key.
    "scrollable-region-focusable": '.katex-display, [data-testid="stCode"]',
    # A control that is switched off is pale on purpose, its label too, which axe-core does not know to be its own.
    "color-contrast": "label[disabled]",
}
FINDINGS = """async ([own, rules]) => {
  const runOnly = rules.length ? { type: "rule", values: rules } : undefined
  const { violations } = await axe.run(document, { resultTypes: ["violations"], elementRef: true, runOnly })
  return violations.filter(({ impact }) => impact === "serious" || impact === "critical").flatMap(({ id, nodes }) =>
    nodes.filter(({ element }) => !(own[id] && element?.closest(own[id])))
      .map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`))
}"""
# Whatever answers to a mouse and is seen, but is no stop of the Tab key, nor a part of a group that has one (whose
# arrow keys lead to the parts). Shadow roots are looked into.
UNREACHABLE = """() => {
  const all = root => [...root.querySelectorAll("*")].flatMap(e => e.shadowRoot ? [e, ...all(e.shadowRoot)] : [e])
  const main = document.querySelector('[data-testid="stMain"]')
  const seen = e => e.checkVisibility({ opacityProperty: false, visibilityProperty: true }) && e.getClientRects().length
  const stop = e => e.tabIndex >= 0 && !e.disabled
  const group = e => e.closest('[role="radiogroup"], [role="group"], [role="toolbar"], [role="listbox"]')
  const acts = 'button, a[href], input, textarea, select, summary, [role="button"], [role="slider"], [role="radio"], '
    + '[role="checkbox"], [role="switch"], [role="tab"], [role="combobox"], [role="option"], [role="link"]'
  return all(main).filter(e => e.matches(acts) && !e.disabled && e.ariaDisabled !== "true" && seen(e) && !stop(e))
    .filter(e => !(group(e) && all(group(e)).some(stop)) && !e.closest('[aria-hidden="true"]'))
    .filter(e => !(e.matches("input") && e.closest('label, [data-testid="stFileUploaderDropzone"]')))
    .filter(e => !e.closest(".js-plotly-plot, .stDataFrame"))
    .map(e => e.outerHTML.slice(0, 200))
}"""


def findings(page: Page, *rules: str) -> list[str]:
    """Serious and critical findings of axe-core, one a line; of all its rules, or of these.

    The page scrolls in a box of its own, and axe passes over what is outside of it: the window is made as high as the
    page.
    """
    size = page.viewport_size
    height = page.evaluate("document.querySelector('[data-testid=\"stMain\"]').scrollHeight")
    if size is not None:
        page.set_viewport_size({"width": size["width"], "height": min(HIGHEST, int(height) + 50)})
    page.evaluate(AXE)
    found = list(page.evaluate(FINDINGS, [STREAMLITS, rules]))
    if size is not None:
        page.set_viewport_size(size)
    return found


def unreachable(page: Page) -> list[str]:
    """What can be clicked but not reached with keys."""
    return list(page.evaluate(UNREACHABLE))
