"""Scenes: pictures that a script of ours draws, in the app, in a notebook and on a page of its own alike.

A scene is NAME.js with NAME.css beside it. The script imports nothing but scripts that have no style of their own and
import nothing (dom.js, dragging.js), and exports

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

from tfcore.charts.theme import FONT, MONO, ROLES, Theme, colour

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
FILES = tuple(sorted(path for path in HERE.iterdir() if path.suffix in (".js", ".css")))
NAMES = tuple(path.stem for path in FILES if path.suffix == ".css")
SHARED = tuple(path.name for path in FILES if path.suffix == ".js" and path.stem not in NAMES)  # what scenes import


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
        f'const file = code => URL.createObjectURL(new Blob([code], {{ type: "text/javascript" }}))\n'
        f"let code = {_script(source(name, 'js'))}\n"
        f"for (const [name, shared] of Object.entries({_script(_shared(name))}))\n"
        f'  code = code.replace(`"./${{name}}"`, `"${{file(shared)}}"`)\n'
        f"const {{ draw }} = await import(file(code))\n"
        f'draw(document.getElementById("scene"), {_script(data)})\n'
        f"</script>"
    )


def _shared(name: str) -> dict[str, str]:
    """File name -> code, of what a scene imports."""
    return {one: (HERE / one).read_text("utf-8") for one in SHARED if f'"./{one}"' in source(name, "js")}


def _script(value: Any) -> str:
    """A value as a literal of JavaScript that ends no script, whatever its texts say."""
    return json.dumps(value).replace("<", "\\u003c")


def frame(page: str, height: int) -> str:
    """A page inside another, as a notebook shows it."""
    return f'<iframe srcdoc="{escape(page)}" width="100%" height="{height + 160}" style="border: 0"></iframe>'
