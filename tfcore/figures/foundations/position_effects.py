"""Pictures of what every position scheme does to one head."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from tfcore.analysis.foundations.position_effects import Effect
from tfcore.config import Positions
from tfcore.figures.foundations.heads import tiles

LIMIT = 8.0  # of the colour scale of scores


def added_figure(effects: Mapping[Positions, Effect], names: Mapping[str, str], height: int) -> go.Figure:
    """What each scheme changes the scores by; the future is left out, as the mask will."""
    maps = [np.tril(effect.added) for effect in effects.values()]
    titles = [f"<b>{names[name]}</b><br>up to {np.abs(m).max():.1f}" for name, m in zip(effects, maps, strict=True)]
    return tiles(np.stack(maps), titles, len(maps), hovers=titles, limit=LIMIT, height=height)


def weights_figure(effects: Mapping[Positions, Effect], names: Mapping[str, str], height: int) -> go.Figure:
    """The attention weights that follow."""
    titles = [f"<b>{names[name]}</b><br>{effect.distance:.1f} tokens back" for name, effect in effects.items()]
    return tiles(np.stack([e.weights for e in effects.values()]), titles, len(titles), hovers=titles, height=height)
