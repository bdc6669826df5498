"""Pictures of a text in bits: the sum token by token, and models beside other coders by bits per byte."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.measures.text_loss import TextBits
from tfcore.views.training.information.measure.compression import Coder
from tfcore.views.training.information.measure.text_bits import UNIFORM


def adding_up_figure(
    texts: Mapping[str, TextBits], names: Mapping[str, str], chosen: str, labels: Sequence[str], height: int
) -> go.Figure:
    """Bits of the text so far against bytes of it, for each model; above them the line of a uniform guess.

    Args:
        texts: by model, all of the same text.
        names: of the models, safe for plotly.
        chosen: the model whose line is strong.
        labels: its tokens, safe for plotly.
    """
    n = texts[chosen].n_bytes
    data: list[dict[str, Any]] = [
        kit.line(
            [0, n], [0, UNIFORM * n], "@muted", name="every byte alike: 8 a byte", width=1.5, dash="dot", hover=False
        )
    ]
    for i, (name, one) in enumerate(texts.items()):
        ends, bits = np.cumsum(one.sizes), np.cumsum(one.bits)
        line = {
            "shape": "hv",
            "color": "@embedding" if name == chosen else f"@cat{i}/0.8",
            "width": 3 if name == chosen else 1.5,
        }
        trace = kit.line(
            np.concatenate(([0], ends)).astype(np.float32),
            np.concatenate(([0], bits)).astype(np.float32),
            name=names[name],
            hover=f"%{{y:.1f}} bits after %{{x}} bytes<extra>{names[name]}</extra>",
            line=line,
        )
        if name == chosen:
            trace["customdata"] = ["", *labels]
            trace["hovertemplate"] = "'%{customdata}': %{y:.1f} bits after %{x} bytes<extra></extra>"
        data.append(trace)
    high = max(float(one.bits.sum()) for one in texts.values())
    layout = theme.base_layout(
        height,
        margin={"t": 44},
        xaxis=kit.axis("bytes read", [0, n]),
        yaxis=kit.axis("bits so far", [0, 1.25 * max(high, 1.0)]),
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
    bars = kit.bars(
        values,
        list(range(len(coders))),
        colours,
        hover="%{customdata}",
        orientation="h",
        text=[f"{value:.3f}" for value in values],
        textposition="outside",
        cliponaxis=False,
        textfont={"size": 12, "color": "@ink"},
        customdata=[f"{names[coder.name]}: {coder.how}" if coder.name in names else coder.how for coder in coders],
    )
    layout = theme.base_layout(
        height,
        margin={"t": 8, "l": 8},
        bargap=0.25,
        xaxis=kit.axis("bits per byte: less is better", [0, top]),
        yaxis=kit.axis(
            grid=False,
            tickvals=list(range(len(coders))),
            ticktext=[names.get(coder.name, coder.name) for coder in coders],
            autorange="reversed",
            tickfont={"size": 12, "color": "@ink"},
        ),
    )
    return theme.build([bars], layout)
