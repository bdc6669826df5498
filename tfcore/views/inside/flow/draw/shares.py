"""Where a state was, layer by layer: the shares of the information flow as a heatmap."""

from collections.abc import Sequence

import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.views.inside.flow.measure.routes import Flow


def shares_figure(flow: Flow, tokens: Sequence[str]) -> go.Figure:
    """The share of the explained state or logit in each token's stream, before each layer and after the last one.

    Args:
        tokens: labels of the rows.
    """
    whole = "what raises the logit" if flow.toward else "the state"
    stages = [*(f"before {layer}" for layer in flow.layers), "after"]
    rows = [f"{i}: {token}" for i, token in enumerate(tokens)]
    cells = kit.cells(
        flow.stream.T,
        "@logweights",
        0.0,
        1.0,
        hover=f"%{{y}}, %{{customdata}}: %{{z:.1%}} of {whole}",
        x=list(range(len(stages))),
        y=rows,
        customdata=[stages] * len(rows),
        xgap=1,
        ygap=1,
        colorbar={"tickformat": ".0%", "thickness": 10},
    )
    layout = {
        "height": 90 + 20 * len(tokens),
        "margin": {"l": 100, "r": 10, "t": 10, "b": 46},
        "xaxis": {"title": {"text": "layers passed"}, "fixedrange": True},
        "yaxis": {"autorange": "reversed", "fixedrange": True, "type": "category"},
    }
    return theme.build([cells], layout)
