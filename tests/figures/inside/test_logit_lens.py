"""The picture of two lenses: a line each, on a scale that has no 0."""

from tfcore.analysis.inside.tuned_lens import LensDivergence
from tfcore.figures import theme
from tfcore.figures.inside.logit_lens import divergence_figure


def test_two_lenses_are_two_lines_without_the_stage_where_nothing_differs():
    figure = divergence_figure(LensDivergence(("embed", "FF 0", "FF 1"), (9.0, 2.0, 1e-7), (1.5, 0.5, 0.0), 7), 280)
    theme.check(figure)
    assert [line.name for line in figure.data] == ["logit lens", "tuned lens"]
    assert [list(line.y) for line in figure.data] == [[9.0, 2.0, None], [1.5, 0.5, None]]
    assert list(figure.layout.xaxis.ticktext) == ["embed", "FF 0", "FF 1"]
    assert figure.layout.yaxis.type == "log"
