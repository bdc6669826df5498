"""Pictures of other routing rules: valid in both themes, one mark for each run and each token."""

import numpy as np

from tfcore.charts import theme
from tfcore.views.experts.routing.draw import rules as rules
from tfcore.views.experts.routing.measure.rules import RoutingSweep

SWEEP = RoutingSweep((1, 2), (2.1, 2.0), (3.0, 2.4), (0.5, 1.0), (4.0, 2.5), (1.0,), (2.2,))


def test_curves_and_costs():
    drawn = rules.sweep_figure(SWEEP, 2.0, 2.5, 300)
    theme.check(drawn)
    assert [trace["y"] for trace in drawn.to_dict()["data"]] == [[2.1, 2.0], [3.0, 2.4], [4.0, 2.5], [2.0, 2.2]]
    cost = rules.loss_changes_figure(["a", "b", "c"], np.array([0, 1.5, -0.2]), np.array([False, True, False]), 300)
    theme.check(cost)
    assert len(cost.to_dict()["layout"]["shapes"]) == 1
