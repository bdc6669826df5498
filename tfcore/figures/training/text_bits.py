"""Pictures of a text in bits: adding up token by token, and models beside peers by bits per byte."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.analysis.training.text_bits import BLIND, TextBits
from tfcore.figures import theme


def adding_up_figure(
    found: Mapping[str, TextBits], names: Mapping[str, str], chosen: str, labels: Sequence[str], height: int
) -> go.Figure:
    """Bits of the text so far against bytes of it, for each model; above them the line of who knows nothing.

    Args:
        found: by model, all of the same text.
        names: of the models, safe for plotly.
        chosen: the model whose line is strong.
        labels: its tokens, safe for plotly.
    """
    n = found[chosen].n_bytes
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [0, n],
            "y": [0, BLIND * n],
            "name": "every byte alike: 8 a byte",
            "line": {"color": "@muted", "width": 1.5, "dash": "dot"},
            "hoverinfo": "skip",
        }
    ]
    for i, (name, one) in enumerate(found.items()):
        ends, bits = np.cumsum(one.sizes), np.cumsum(one.bits)
        line = {
            "shape": "hv",
            "color": "@embedding" if name == chosen else f"@cat{i}/0.8",
            "width": 3 if name == chosen else 1.5,
        }
        trace = {
            "type": "scatter",
            "mode": "lines",
            "name": names[name],
            "line": line,
            "x": np.concatenate(([0], ends)).astype(np.float32),
            "y": np.concatenate(([0], bits)).astype(np.float32),
            "hovertemplate": f"%{{y:.1f}} bits after %{{x}} bytes<extra>{names[name]}</extra>",
        }
        if name == chosen:
            trace["customdata"] = ["", *labels]
            trace["hovertemplate"] = "'%{customdata}': %{y:.1f} bits after %{x} bytes<extra></extra>"
        data.append(trace)
    high = max(float(one.bits.sum()) for one in found.values())
    layout = theme.base_layout(
        height,
        margin={"t": 44},
        xaxis={"range": [0, n], "title": "bytes read"},
        yaxis={"range": [0, 1.25 * max(high, 1.0)], "title": "bits so far"},
    )
    return theme.build(data, layout)


def per_byte_figure(
    names: Sequence[str], values: Sequence[float], kinds: Sequence[str], hovers: Sequence[str], height: int
) -> go.Figure:
    """Bits per byte as bars, the best on top.

    Args:
        names, hovers: safe for plotly.
        kinds: "chosen", "model" or "peer", one each.
    """
    roles = {"chosen": "@embedding", "model": "@embedding/0.55", "peer": "@muted/0.5"}
    top = 9.0 if max(values) <= BLIND else 1.15 * max(values)
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": list(range(len(names))),
        "x": list(values),
        "text": [f"{value:.3f}" for value in values],
        "textposition": "outside",
        "cliponaxis": False,
        "textfont": {"size": 12, "color": "@ink"},
        "marker": {"color": [roles[kind] for kind in kinds]},
        "customdata": list(hovers),
        "hovertemplate": "%{customdata}<extra></extra>",
    }
    layout = theme.base_layout(
        height,
        margin={"t": 8, "l": 8},
        bargap=0.25,
        xaxis={"range": [0, top], "title": "bits per byte: less is better"},
        yaxis={
            "tickvals": list(range(len(names))),
            "ticktext": list(names),
            "autorange": "reversed",
            "showgrid": False,
            "tickfont": {"size": 12, "color": "@ink"},
        },
    )
    return theme.build([bars], layout)
