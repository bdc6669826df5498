"""The script that draws a saved figure: plotly's own, or the bundle of the same release with fewer kinds of traces."""

from pathlib import Path

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

# From the npm package plotly.js-cartesian-dist-min, a third as large.
CARTESIAN = Path(__file__).parent / "plotly" / "plotly-cartesian.min.js"
TRACES = ("bar", "contour", "heatmap", "pie", "scatter")  # that charts here have, of those it draws


def script(figure: go.Figure) -> str:
    """The smallest of both that draws the figure, to be put between script tags."""
    small = all(trace.type in TRACES for trace in figure.data)
    code = CARTESIAN.read_text("utf-8") if small else str(get_plotlyjs())
    return code.replace("</script", "<\\/script")
