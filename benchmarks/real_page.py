"""The page on heads with SmolLM2 in Chromium: from Run, or from a key on a slider, until everything is painted."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Any

import torch
from playwright.sync_api import Page, WebSocket

import tfcore
from benchmarks import results
from benchmarks.first_figure import chromium
from benchmarks.servers import APP, serving
from tests.e2e.visitor import Visitor
from tfcore.loading.real_models import installed

NAME = "smollm2"
ROUNDS = {"text": 7, "token": 15}
TEXT = "When {} and {} went to the store on a rainy Monday, {} gave a drink to a friend, who had waited in line for it"
NAMES = ("Mary", "John", "Anna", "Peter", "Laura", "Simon", "Alice", "Frank", "Susan", "Oliver", "Emma")
WHAT = {"text": "a new text of {} tokens, until its arcs and the map of the head are painted", "token": "another token"}
PORTRAIT, MAP = ".st-key-portrait-figure .main-svg", ".st-key-closer-figure .main-svg"
# Notes the moment at which every one of these has changed, and nothing has for 40 ms more.
WATCH = """selectors => {
  const shown = () => selectors.map(one => document.querySelector(one)?.innerHTML)
  const before = shown(), begun = performance.now()
  let last = before, at = begun
  window.painted = 0
  const look = () => {
    const now = shown()
    if (now.some((one, i) => one !== last[i])) [last, at] = [now, performance.now()]
    const all = now.every((one, i) => one && one !== before[i])
    if (all && performance.now() - at > 40) window.painted = at - begun
    else requestAnimationFrame(look)
  }
  look()
}"""


@dataclass(frozen=True, slots=True)
class RealPage:
    """One line of the table.

    Args:
        what: text or token.
        tokens: of the texts.
        milliseconds: median time until painted.
        kilobytes: median of what the server sent.
        passes: over one pass over such a text with all maps, here and now.
    """

    what: str
    tokens: int
    milliseconds: float
    kilobytes: float
    passes: float


@torch.no_grad()
def measure(rounds: dict[str, int] | None = None, device: str = "cpu") -> list[RealPage]:
    """In one window; nothing where the model was left out when the app was set up."""
    if device != "cpu" or NAME not in installed():
        return []
    rounds = rounds or ROUNDS
    model, tokenizer = tfcore.load(NAME)
    assert tokenizer is not None
    texts = [TEXT.format(a, b, a) for a, b in pairwise(NAMES)]
    ids = torch.tensor([tokenizer.encode(texts[0])])
    one = median(timed(partial(model, ids, capture=("blocks.*.attn.pattern",))) for _ in range(5))
    with ExitStack() as stack:
        app = stack.enter_context(serving(APP, "/healthz"))
        visitor = Visitor(stack.enter_context(chromium()).new_page(), app.address)
        received: list[int] = []
        visitor.page.on("websocket", partial(listen, received))
        visitor.open(f"/heads?model={NAME}")
        found = {
            "text": [new_text(visitor, received, text) for text in texts[: rounds["text"]]],
            "token": [another_token(visitor, received) for _ in range(rounds["token"])],
        }
    return [line(what, ids.shape[1], seen, one) for what, seen in found.items()]


def timed(call: Callable[[], object]) -> float:
    """Milliseconds of a call."""
    start = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - start)


def listen(received: list[int], socket: WebSocket) -> None:
    """Note the bytes of every message."""
    socket.on("framereceived", lambda data: received.append(len(data)))


def new_text(visitor: Visitor, received: list[int], text: str) -> tuple[float, float]:
    """Milliseconds and kilobytes of another text."""
    visitor.box().fill(text)
    return painted(visitor, received, partial(visitor.box().press, "Control+Enter"), PORTRAIT, MAP)


def another_token(visitor: Visitor, received: list[int]) -> tuple[float, float]:
    """Milliseconds and kilobytes of one step of the slider for the query token."""
    slider = visitor.control("token")
    slider.focus()
    return painted(visitor, received, partial(slider.press, "ArrowLeft"), PORTRAIT)


def painted(visitor: Visitor, received: list[int], act: Callable[[], object], *places: str) -> tuple[float, float]:
    """Milliseconds from an act until all places show something else, and kilobytes received meanwhile."""
    page: Page = visitor.page
    visitor.settle()
    received.clear()
    page.evaluate(WATCH, list(places))
    act()
    visitor.wait_until("() => window.painted > 0")
    return float(page.evaluate("window.painted")), sum(received) / 1000


def line(what: str, tokens: int, seen: list[tuple[float, float]], one: float) -> RealPage:
    """Medians, as one line."""
    ms, kilobytes = (median(values) for values in zip(*seen, strict=True))
    return RealPage(what, tokens, round(ms, 1), round(kilobytes, 1), round(ms / one, 2))


def table(result: Mapping[str, Any]) -> str:
    """The rows as a Markdown table."""
    heads = ["what", "ms", "kB", "over one pass with all maps"]
    rows = []
    for row in result["rows"]:
        what = WHAT[row["what"]].format(row["tokens"])
        rows.append([what, f"{row['milliseconds']:.0f}", f"{row['kilobytes']:.0f}", f"{row['passes']:.1f}"])
    return results.table(heads, rows, "/heads with SmolLM2 in Chromium, a warm server", result)
