"""Files the browser loads once: plotly from the installed package, and our scripts, styles and colours.

They are served by `app.py` under a path that contains a hash of their contents, so a browser may keep them for ever
and never shows an old script with a new server. Compressed once, in memory.
"""

import gzip
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import plotly
import streamlit as st

from pages.ui import finder
from tfcore.charts import bundle, scenes

HERE = Path(__file__).parent
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
OURS = (
    *("styles.js", "saving.js", "figure.js", "figure.css", "bars.js", "bars.css", "scene.js"),
    *("shortcuts.js", "shortcuts.css", "present.js", "search.js"),
    *("shelf.js", "pin.js", "drawer.js", "shelf_file.js", "shelf.css"),
)
TYPES = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}


def plotly_script() -> bytes:
    """plotly.min.js with the function that wraps it in brackets, by which browsers know that it is called at once: they
    compile it while it is being fetched instead of a second time, later, when nothing else can run (0.1 s)."""
    script = PLOTLY.read_bytes()
    before, begins, inside = script.partition(b": this, () => {\n")
    inside, ends, rest = inside.rpartition(b"}));")
    if not begins or not ends or rest.strip():
        return script  # another version wraps it in another way
    return before + b": this, (() => {\n" + inside + b"})));"


@cache
def contents() -> dict[str, bytes]:
    """File name -> bytes, of everything that is served."""
    return {
        "plotly.min.js": plotly_script(),
        bundle.CARTESIAN.name: bundle.CARTESIAN.read_bytes(),
        **{name: (HERE / name).read_bytes() for name in OURS},
        **{name: text.encode() for name, text in scenes.files().items()},
        "entries.js": finder.script().encode(),
    }


@cache
def digest() -> str:
    """Twelve hexadecimal digits that change whenever any of the files changes."""
    total = hashlib.sha256()
    for name, data in sorted(contents().items()):
        total.update(name.encode() + len(data).to_bytes(8, "big") + data)
    return total.hexdigest()[:12]


@cache
def compressed(name: str) -> bytes:
    """One of the files, gzipped."""
    return gzip.compress(contents()[name], compresslevel=6, mtime=0)


def component(name: str, script: str) -> Any:
    """A component whose script is one of the files."""
    return st.components.v2.component(name, js=loader(script), isolate_styles=False)


def inline(name: str, files: str, html: str = "") -> Any:
    """A component whose files are in inline/: small ones that need no other script, which Streamlit sends itself.

    Args:
        files: their name without the ending.
        html: what it begins as, where that is no file.
    """
    place = HERE / "inline" / files
    return st.components.v2.component(
        name,
        html=html or place.with_suffix(".html").read_text("utf-8"),
        css=place.with_suffix(".css").read_text("utf-8"),
        js=place.with_suffix(".js").read_text("utf-8"),
    )


def loader(script: str, before: str = "", arguments: str = "component") -> str:
    """The script of a component, as short as can be: Streamlit sends it along with every change, so it only loads the
    file, which the browser keeps.

    Streamlit calls for an end not only when a component leaves the page, but also for a change that the next one
    overtook. So what the file's `render` gives back to be called at the end is called only when the element is gone.

    Args:
        before: what need not wait for the file, in JavaScript.
        arguments: of `render`.
    """
    return f"""
const here = document.querySelector('script[src*="static/js/"]').src.split("static/js/")[0]
const code = import(here + "assets/{digest()}/{script}")
export default function (component) {{
  {before}
  return code.then(m => {{
    const end = m.render({arguments})
    return () => component.parentElement.isConnected || end()
  }})
}}
"""
