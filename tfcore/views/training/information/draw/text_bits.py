"""Pictures of a text in bits: the sum token by token, and models beside other coders by bits per byte."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.figures import theme
from tfcore.measures.text_loss import TextBits
from tfcore.views.training.information.measure.compression import Coder
from tfcore.views.training.information.measure.text_bits import UNIFORM


def adding_up_figure(
    found: Mapping[str, TextBits], names: Mapping[str, str], chosen: str, labels: Sequence[str], height: int
) -> go.Figure:
    """Bits of the text so far against bytes of it, for each model; above them the line of a uniform guess.

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
            "y": [0, UNIFORM * n],
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


def per_byte_figure(coders: Sequence[Coder], names: Mapping[str, str], chosen: str, height: int) -> go.Figure:
    """Bits per byte as bars, the first on top.

    Args:
        names: of the coders that are models, safe for plotly.
        chosen: the model whose bar is strong.
    """
    colours = [
        "@embedding" if coder.name == chosen else "@embedding/0.55" if coder.name in names else "@muted/0.5"
        for coder in coders
    ]
    values = [coder.per_byte for coder in coders]
    top = 9.0 if max(values) <= UNIFORM else 1.15 * max(values)
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": list(range(len(coders))),
        "x": values,
        "text": [f"{value:.3f}" for value in values],
        "textposition": "outside",
        "cliponaxis": False,
        "textfont": {"size": 12, "color": "@ink"},
        "marker": {"color": colours},
        "customdata": [f"{names[coder.name]}: {coder.how}" if coder.name in names else coder.how for coder in coders],
        "hovertemplate": "%{customdata}<extra></extra>",
    }
    layout = theme.base_layout(
        height,
        margin={"t": 8, "l": 8},
        bargap=0.25,
        xaxis={"range": [0, top], "title": "bits per byte: less is better"},
        yaxis={
            "tickvals": list(range(len(coders))),
            "ticktext": [names.get(coder.name, coder.name) for coder in coders],
            "autorange": "reversed",
            "showgrid": False,
            "tickfont": {"size": 12, "color": "@ink"},
        },
    )
    return theme.build([bars], layout)
