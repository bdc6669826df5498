"""Files the browser loads once: plotly from the installed package, and our scripts, styles and colours.

They are served by `app.py` under a path that contains a hash of their contents, so a browser may keep them for ever
and never shows an old script with a new server. Compressed once, in memory.
"""

import gzip
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import plotly
import streamlit as st

from tfcore.figures import theme

HERE = Path(__file__).parent
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
TYPES = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}


@cache
def contents() -> dict[str, bytes]:
    """File name -> bytes, of everything that is served."""
    tables = json.dumps(theme.browser_tables(), separators=(",", ":"))
    return {
        "plotly.min.js": PLOTLY.read_bytes(),
        "figure.js": (HERE / "figure.js").read_bytes(),
        "figure.css": (HERE / "figure.css").read_bytes(),
        "dragging.js": (HERE / "dragging.js").read_bytes(),
        "bars.js": (HERE / "bars.js").read_bytes(),
        "bars.css": (HERE / "bars.css").read_bytes(),
        "planes.js": (HERE / "planes.js").read_bytes(),
        "planes.css": (HERE / "planes.css").read_bytes(),
        "line_map.js": (HERE / "line_map.js").read_bytes(),
        "line_map.css": (HERE / "line_map.css").read_bytes(),
        "parts_map.js": (HERE / "parts_map.js").read_bytes(),
        "parts_map.css": (HERE / "parts_map.css").read_bytes(),
        "theme.js": f"export default {tables}\n".encode(),
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
    """A component whose script is one of the files. Streamlit sends a component's own script along with every change,
    so that one only loads the file, which the browser keeps."""
    loader = f"""
const here = document.querySelector('script[src*="static/js/"]').src.split("static/js/")[0]
const code = import(here + "assets/{digest()}/{script}")
export default function (component) {{
  return code.then(m => m.render(component))
}}
"""
    return st.components.v2.component(name, js=loader, isolate_styles=False)
