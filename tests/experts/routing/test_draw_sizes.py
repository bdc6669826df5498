"""Pictures of the sizes of mixtures: a mark for each expert, and bars as long as the count."""

import numpy as np
import pytest

from tests.pages.figures import array
from tfcore import presets
from tfcore.charts import theme
from tfcore.views.experts.routing.draw import sizes as sizes
from tfcore.views.experts.routing.measure.sizes import expert_sizes, finer


@pytest.mark.parametrize(("parts", "shared"), [(1, 0), (4, 2)])
def test_strips_have_an_expert_each_and_bars_the_count(parts, shared):
    found = expert_sizes(finer(presets.deepseek_moe_16b(), parts, shared))
    drawn = sizes.expert_strips_figure([("as published", found)], 200)
    theme.check(drawn)
    assert sum(len(array(trace["x"])) for trace in drawn.to_dict()["data"]) == found.n_experts + found.n_shared
    bars = sizes.weights_figure(found, 200)
    theme.check(bars)
    rows = np.sum([trace["x"] for trace in bars.to_dict()["data"]], axis=0)
    assert rows.tolist() == [found.count.total, found.count.active]
