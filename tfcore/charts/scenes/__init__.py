"""Scenes: pictures that a script of ours draws, in the app, in a notebook and on a page of its own alike.

A scene is NAME.js with NAME.css beside it. The script imports nothing and exports

    draw(element, data, tell)    // again whenever the data change; returns what is called at the end

where `tell(name, value)` says what a visitor clicked; without it nothing can be clicked. The CSS variables --role-NAME
of the element are the colours, and those of HOUSE its text, lines and papers, as Streamlit calls them.
"""

import json
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from tfcore.figures.theme import FONT, MONO, ROLES, Theme, colour

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
NAMES = tuple(sorted(path.stem for path in HERE.glob("*.js")))


@cache
def source(name: str, ending: str) -> str:
    """The script ("js") or the style ("css") of a scene.

    Raises:
        ValueError: there is no such scene.
    """
    if name not in NAMES:
        raise ValueError(f"no scene is called {name!r}; there are {', '.join(NAMES)}")
    return (HERE / f"{name}.{ending}").read_text("utf-8")


def html(name: str, data: Mapping[str, Any], height: int, theme: Theme) -> str:
    """A part of a page that draws a scene; it needs no network.

    Args:
        data: as JSON has it.
        height: in pixels.
    """
    said = {f"role-{role}": f"@{role}" for role in ROLES} | {f"st-{name}": value for name, value in HOUSE.items()}
    colours = "".join(f"--{key}: {colour(at, theme) if at.startswith('@') else at};" for key, at in said.items())
    return (
        f"<style>#scene {{ {colours} min-height: {height}px; padding: 8px; background: var(--st-background-color) }}\n"
        f"{source(name, 'css')}</style>\n"
        f'<div id="scene"></div>\n'
        f'<script type="module">\n'
        f'const code = new Blob([{_script(source(name, "js"))}], {{ type: "text/javascript" }})\n'
        f"const {{ draw }} = await import(URL.createObjectURL(code))\n"
        f'draw(document.getElementById("scene"), {_script(data)})\n'
        f"</script>"
    )


def _script(value: Any) -> str:
    """A value as a literal of JavaScript that ends no script, whatever its texts say."""
    return json.dumps(value).replace("<", "\\u003c")


def frame(page: str, height: int) -> str:
    """A page inside another, as a notebook shows it."""
    return f'<iframe srcdoc="{escape(page)}" width="100%" height="{height + 160}" style="border: 0"></iframe>'
