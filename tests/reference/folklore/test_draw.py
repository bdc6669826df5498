"""The picture of the claims: valid for plotly, at the true ratios, and clickable in every row."""

from collections import Counter

import pytest

from tfcore.charts import theme
from tfcore.views.reference.folklore import draw
from tfcore.views.reference.folklore.measure import CLAIMS as ALL_CLAIMS
from tfcore.views.reference.folklore.measure.claim import Checked, Claim

FINDINGS = {
    "a": Checked("x", "true", {"": 1.0}),
    "b": Checked("x", "depends", {"one": 1.0, "two": 2.5}),
    "c": Checked("x", "wrong", {"none": 0.0, "much": 40.0}),
}
CLAIMS = [
    Claim(
        key=key, name=key, said=key, where="", why="", chapter="Model", see="parameters", compute=lambda: FINDINGS["a"]
    )
    for key in FINDINGS
]


@pytest.mark.parametrize("chosen", ["b", None])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_plotly_accepts_it(chosen, count):
    theme.check(draw.ratios_figure(CLAIMS[:count], FINDINGS, chosen))


def test_marks_stand_at_the_ratios_and_far_ones_at_the_edge():
    figure = draw.ratios_figure(CLAIMS, FINDINGS, "b")
    drawn = {trace.name: list(zip(trace.x, trace.y, strict=True)) for trace in figure.data if trace.name}
    assert drawn["true"] == [(1.0, 0)]
    assert drawn["depends"] == [(1.0, 1), (2.5, 1)]
    assert drawn["wrong"] == [(draw.LOW, 2), (draw.HIGH, 2)]
    assert Counter(figure.data[-1].customdata) == dict.fromkeys(FINDINGS, len(draw.TARGETS))


def test_a_window_shows_all_claims_at_once_and_few_have_rows_of_full_height():
    assert draw.height_of(len(ALL_CLAIMS)) <= 900
    assert draw.row_height(len(ALL_CLAIMS)) >= 14, "too many for letters of 11 pixels: fold some away"
    assert draw.row_height(20) == draw.ROW
