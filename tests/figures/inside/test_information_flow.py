"""The heatmap of shares: what is drawn is the flow, and every row has its name."""

import numpy as np

from tests import small
from tests.pages.figures import array
from tfcore.analysis.inside.information_flow import trace
from tfcore.analysis.inside.passages import of_ids
from tfcore.figures import theme
from tfcore.figures.inside.information_flow import shares, shares_height


def test_shares_by_token_and_layer():
    found = trace(small.model(), of_ids(small.ids(1, 5)[0].tolist(), 4))
    figure = shares(found, list("abcde"), shares_height(5))
    theme.check(figure)
    [cells] = figure.to_dict()["data"]
    np.testing.assert_allclose(array(cells["z"]), found.stream.T)
    assert cells["y"] == ["0: a", "1: b", "2: c", "3: d", "4: e"]
    assert cells["customdata"][0] == ["before 0", "before 1", "after"]
    assert shares_height(5) < shares_height(6) == figure.layout.height + 20
