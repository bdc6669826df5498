"""The map of all heads: each cell the head's own kind or number, a legend that counts, the chosen head framed."""

import numpy as np
import pytest

from tfcore.charts import theme
from tfcore.measures.heads.kinds import CROSS_KINDS, KINDS
from tfcore.views.foundations.heads.draw import head_map

KIND_MAP = np.array([["self", "broad", "induction"], ["broad", "broad", "local"]], dtype=object)
SCORES = np.arange(6, dtype=np.float64).reshape(2, 3) / 10


@pytest.mark.parametrize("shape", [(1, 1), (4, 6), (30, 9), (32, 32)])
def test_plotly_accepts_it_in_every_size(shape):
    names = np.array([*KINDS, *CROSS_KINDS], dtype=object)
    kinds = names[np.arange(shape[0] * shape[1]) % len(names)].reshape(shape)
    scores = np.linspace(0, 1, kinds.size).reshape(shape)
    figure = head_map.kind_map(kinds, scores, (0, 0))
    theme.check(figure)
    theme.check(head_map.value_map(scores, 1.0, (0, 0)))
    assert head_map.kind_map_height(kinds) < 760
    assert len(figure.to_dict()["layout"]["xaxis"]["tickvals"]) <= 9


def test_every_cell_has_the_colour_of_its_kind():
    figure = head_map.kind_map(KIND_MAP, SCORES, (1, 2))
    z, (cells, *legend) = np.asarray(figure.data[0].z), figure.to_dict()["data"]
    names = [trace["name"].rpartition(" (")[0] for trace in legend]
    assert {trace["name"] for trace in legend} == {"self (1)", "broad (3)", "induction (1)", "local (1)"}
    for place in np.ndindex(2, 3):
        kind = KIND_MAP[place]
        assert names[z[place]] == kind
        assert cells["text"][place[0]][place[1]] == f"{kind} {SCORES[place]:.2f}"
        middle = (z[place] - cells["zmin"]) / (cells["zmax"] - cells["zmin"])
        below = [colour for stop, colour in cells["colorscale"] if stop <= middle]
        assert below[-1] == legend[names.index(kind)]["marker"]["color"]


def test_every_known_kind_has_a_colour_of_its_own():
    for kinds in (KINDS, CROSS_KINDS):
        colours = [theme.HEAD_KINDS[kind] for kind in kinds]
        assert len(set(colours)) == len(kinds)


def test_numbers_are_drawn_as_they_are_and_one_head_is_framed():
    figure = head_map.value_map(SCORES, 0.5, (1, 2))
    spec = figure.to_dict()
    np.testing.assert_allclose(np.asarray(figure.data[0].z), SCORES, atol=1e-7)
    assert (spec["data"][0]["zmin"], spec["data"][0]["zmax"]) == (0, 0.5)
    frame = spec["layout"]["shapes"][0]
    assert frame["x0"] < 2 < frame["x1"]
    assert frame["y0"] < 1 < frame["y1"]
