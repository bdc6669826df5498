"""Scenes: pictures that a script of ours draws, in the app, in a notebook and on a page of its own alike.

A scene is NAME.js with NAME.css beside it. The script imports nothing but scripts that have no style of their own
(dom.js, dragging.js, colours.js, picture.js), which may import one another, and exports

    draw(element, data, tell)    // again whenever the data change; returns what is called at the end
    picture(element)             // for files: an SVG or a canvas of it as it is now; without, its elements are drawn
    film(element)                // for videos, where it moves: how long, and what shows a moment of it

where `tell(name, value)` says what a visitor clicked; without it nothing can be clicked. The CSS variables --role-NAME
of the element are the colours, and those of HOUSE its text, lines and papers, as Streamlit calls them. What is drawn on
a canvas takes its colours from `palette` of colours.js. widget.js shows a scene in a notebook.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from tfcore.charts.theme import FONT, MONO, ROLES, Theme, browser_tables, colour

HOUSE = {
    "text-color": "@ink",
    "background-color": "@paper",
    "secondary-background-color": "@grid",
    "border-color": "@grid",
    "primary-color": "@accent",
    "font": FONT,
    "code-font": MONO,
    "base-radius": "0.5rem",
    "button-radius": "0.5rem",
}
HERE = Path(__file__).parent
NAMES = tuple(sorted(path.stem for path in HERE.glob("*.css")))


@cache
def files() -> dict[str, str]:
    """File name -> text, of all scripts and styles; theme.js, which has the colours of both themes, is made here."""
    tables = json.dumps(browser_tables(), separators=(",", ":"))
    written = {path.name: path.read_text("utf-8") for path in sorted(HERE.iterdir()) if path.suffix in (".js", ".css")}
    return {**written, "theme.js": f"export default {tables}\n"}


def html(name: str, data: Mapping[str, Any], height: int, theme: Theme, then: str = "") -> str:
    """A part of a page that draws a scene; it needs no network.

    Args:
        data: as JSON has it.
        height: in pixels.
        then: code that runs when the `scene` is drawn into the `element`; `urls["picture.js"]` is a module there.

    Raises:
        ValueError: there is no such scene.
    """
    if name not in NAMES:
        raise ValueError(f"no scene is called {name!r}; there are {', '.join(NAMES)}")
    box = f"min-height: {height}px; padding: 8px; background: var(--st-background-color)"
    modules = (_modules("picture.js") if then else {}) | _modules(f"{name}.js")
    return (
        f"<style>{files()[f'{name}.css']}</style>\n"
        f'<div id="scene" style="{variables(theme)} {box}"></div>\n'
        f'<script type="module">\n'
        f"{_urls(modules)}"
        f'const element = document.getElementById("scene"), scene = await import(urls[{_script(f"{name}.js")}])\n'
        f"scene.draw(element, {_script(data)})\n"
        f"{then}</script>"
    )


def variables(theme: Theme) -> str:
    """The CSS variables that scenes take their colours from, as the declarations of a style."""
    said = {f"role-{role}": f"@{role}" for role in ROLES} | {f"st-{name}": value for name, value in HOUSE.items()}
    return "".join(f"--{key}: {colour(at, theme) if at.startswith('@') else at};" for key, at in said.items())


def library(names: Iterable[str]) -> str:
    """A classic script after which `window.tfScenes` has the address of each of these scripts ("river.js") and of all
    that they import, as modules: for pages in a folder, whose modules a browser would not fetch."""
    modules: dict[str, str] = {}
    for name in names:
        modules |= _modules(name)
    return f"(() => {{\n{_urls(modules)}window.tfScenes = urls\n}})()\n"


def widget(name: str, plotly: str = "") -> tuple[str, str]:
    """The script of a scene, or of figures ("plot"), as one module for anywidget to draw in a notebook, and its style.

    Args:
        plotly: the library, for figures.
    """
    modules = _modules(f"{name}.js") | _modules("widget.js") | ({"plotly.js": plotly} if plotly else {})
    before = "if (!window.Plotly) await import(urls['plotly.js'])\n" if plotly else ""
    script = (
        f"{_urls(modules)}{before}"
        f"const [scene, door] = await Promise.all([import(urls[{_script(f'{name}.js')}]), import(urls['widget.js'])])\n"
        f"export default door.widget(scene)\n"
    )
    own = "".join(f"--st-{key}: {value};" for key, value in HOUSE.items() if not value.startswith("@"))
    own += "margin: 0; padding: 8px; background: var(--st-background-color); color: var(--st-text-color);"
    return script, f".tf-widget {{ {own} font-family: var(--st-font) }}\n{files().get(f'{name}.css', '')}"


def _urls(modules: Mapping[str, str]) -> str:
    """A script after which `urls` has the address of each of these modules, by their names; each comes after what it
    imports."""
    return (
        f"const urls = {{}}\n"
        f"for (const [name, code] of Object.entries({_script(modules)})) {{\n"
        f'  const linked = code.replace(/ from "\\.\\/([^"]+)"/g, (_, other) => ` from "${{urls[other]}}"`)\n'
        f'  urls[name] = URL.createObjectURL(new Blob([linked], {{ type: "text/javascript" }}))\n'
        f"}}\n"
    )


def _modules(name: str) -> dict[str, str]:
    """File name -> code, of a script and of all that it imports; each after what it imports itself."""
    code, modules = files()[name], dict[str, str]()
    for other in re.findall(r' from "\./([^"]+)"', code):
        modules |= _modules(other)
    return {**modules, name: code}


def _script(value: Any) -> str:
    """A value as a literal of JavaScript that ends no script, whatever its texts say."""
    return json.dumps(value).replace("<", "\\u003c")


def frame(page: str, height: int) -> str:
    """A page inside another, as a notebook shows it."""
    return f'<iframe srcdoc="{escape(page)}" width="100%" height="{height + 160}" style="border: 0"></iframe>'
