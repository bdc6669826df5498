"""The heatmap of shares: what is drawn is the flow, and every row has its name."""

import numpy as np

from tests import small
from tests.pages.figures import array
from tfcore.charts import theme
from tfcore.views.inside.flow.draw.shares import shares_figure
from tfcore.views.inside.flow.measure.passages import of_ids
from tfcore.views.inside.flow.measure.routes import trace


def test_shares_by_token_and_layer():
    found = trace(small.model(), of_ids(small.ids(1, 5)[0].tolist(), 4))
    figure = shares_figure(found, list("abcde"))
    theme.check(figure)
    [cells] = figure.to_dict()["data"]
    np.testing.assert_allclose(array(cells["z"]), found.stream.T)
    assert cells["y"] == ["0: a", "1: b", "2: c", "3: d", "4: e"]
    assert cells["customdata"][0] == ["before 0", "before 1", "after"]
    assert shares_figure(found, list("abcdef")).layout.height == figure.layout.height + 20
