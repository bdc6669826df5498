"""An experiment as pages have them that are not written over views yet."""

from tfcore.config import Positions
from tfcore.figures.shown import Shown
from tfcore.views.foundations.positions.draw.scores import differences_figure
from tfcore.views.foundations.positions.measure.effects import ShuffleResult
from tfcore.views.foundations.positions.say import TITLES, shuffle_changes


def shuffled(result: ShuffleResult, look: Positions) -> Shown:
    """Words shuffled: how much the output of each changes."""
    return Shown(differences_figure(result, look, TITLES, height=280), (shuffle_changes(result),))
