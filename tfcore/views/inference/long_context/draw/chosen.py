"""Pictures of attention by blocks that queries choose: the map of a head, and the weight that is kept in each layer."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.charts.tokens import token_heatmap
from tfcore.views.inference.long_context.measure.chosen import BlockAttention, HeadBlocks, Way

STYLES: Mapping[Way, tuple[str, str, str]] = {  # name, colour, dash
    "heaviest": ("those with most weight", "@muted", "dot"),
    "chosen": ("chosen by mean key", "@attention", "solid"),
    "nearest": ("the nearest", "@key", "dash"),
}
MOST_KEYS = 24  # written under the map
STRONG = 0.3  # the weight that is darkest: most are far below it in texts of a hundred tokens and more


def head_blocks_figure(blocks: HeadBlocks, labels: Sequence[str], height: int) -> go.Figure:
    """The full weights of a head; hatched are keys in blocks that the query does not choose, and those after it."""
    return token_heatmap(
        blocks.weights,
        labels,
        blocked=~blocks.seen,
        zmax=STRONG,
        blocked_hover="%{y} does not read the block of %{x}",
        most_keys=MOST_KEYS,
        height=height,
    )


def kept_weight_figure(result: BlockAttention, height: int) -> go.Figure:
    """The share of the full weight in the blocks, layer by layer: the mean over the heads, a line for each way."""
    data = [
        kit.line(
            list(result.layers),
            result.kept[way].mean(1).astype(np.float32),
            colour,
            name=name,
            width=2.5,
            dash=dash,
            marks={"size": 6},
            hover="layer %{x}: %{y:.0%} of the weight",
        )
        for way, (name, colour, dash) in STYLES.items()
    ]
    layout = theme.base_layout(
        height,
        margin={"t": 46, "b": 44},
        xaxis=kit.axis("layer", fixed=True, dtick=max(1, len(result.layers) // 10)),
        yaxis=kit.axis("share of the full weight", [0, 1.03], fixed=True, tickformat=".0%"),
    )
    return theme.build(data, layout)
