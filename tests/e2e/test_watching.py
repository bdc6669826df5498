"""The tests here would notice: each kind of trouble becomes a complaint, and a missing browser one clear sentence."""

import pytest

from tests.e2e.serving import serve
from tests.e2e.windows import find_chromium

TROUBLE = {
    "console: deliberate": "console.error('deliberate')",
    "uncaught: deliberate": "setTimeout(() => { throw 'deliberate' })",
    "404: http": "fetch('/assets/none/plotly.min.js')",
    "console: .*Content Security Policy": "document.head.append(Object.assign(document.createElement('script'),"
    " { text: 'window.inline = 1' }))",
    "console: .*connect": "fetch('https://example.org/').catch(() => 0)",
    "a script of the visitor ran": "alert(1)",
    "Traceback": "document.body.insertAdjacentHTML('beforeend', '<p data-testid=stException>Traceback</p>')",
}


@pytest.mark.parametrize(("complaint", "deed"), TROUBLE.items(), ids=TROUBLE)
def test_trouble_is_noticed(visit, server, complaint, deed):
    visitor = visit(server)
    visitor.page.goto(f"{visitor.address}/healthz")
    visitor.check()
    visitor.page.evaluate(f"() => {{ {deed} }}")
    with pytest.raises(AssertionError, match=complaint):
        check_for_a_while(visitor)
    assert visitor.page.evaluate("window.inline") is None, "the policy let an inline script run"
    visitor.page.context.close()  # with its complaints


def check_for_a_while(visitor):
    for _ in range(600):  # frames of the browser, until the message has come
        visitor.page.evaluate("new Promise(requestAnimationFrame)")
        visitor.check()


def test_a_missing_browser_is_one_sentence():
    with pytest.raises(FileNotFoundError, match=r"^Chromium was not found: install it \(apt-get install chromium\)"):
        find_chromium({"PATH": ""})
    with pytest.raises(FileNotFoundError, match=r"^/nowhere/chrome was not found"):
        find_chromium({"PATH": "", "CHROMIUM": "/nowhere/chrome"})


def test_a_server_that_does_not_start_says_why():
    with (
        pytest.raises(RuntimeError, match=r"told no address; the server said:[\s\S]*No module named"),
        serve("python3", "-m", "nosuchmodule"),
    ):
        pass
