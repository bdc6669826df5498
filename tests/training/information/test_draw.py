"""Pictures of entropy, bumps, joint tables and texts in bits: valid for plotly, areas that are the numbers, no NaN."""

import numpy as np
import pytest

from tests.pages.figures import array
from tests.small import model
from tfcore.charts import theme
from tfcore.measures.text_loss import text_bits
from tfcore.tokenizers.tokenizer import ByteTokenizer
from tfcore.views.training.information.draw import entropy, kl_fit, mutual_information
from tfcore.views.training.information.draw import text_bits as texts
from tfcore.views.training.information.measure.compression import Coder
from tfcore.views.training.information.measure.entropy import compare
from tfcore.views.training.information.measure.kl_fit import fit_bumps, fit_of
from tfcore.views.training.information.measure.mutual_information import joint_information

NAMES = ["A", "B", "&lt;C"]
PAIRS = {
    "ordinary": ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]),
    "ruled out": ([0.5, 0.5, 0.0], [1.0, 0.0, 0.0]),
    "nothing shared": ([1.0, 0.0, 0.0], [0.0, 0.5, 0.5]),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_plotly_accepts_distributions(pair):
    result = compare(*map(np.array, PAIRS[pair]))
    theme.check(entropy.areas_figure(result, NAMES, 300))
    theme.check(entropy.outcome_terms_figure(result, NAMES, 300))


def test_areas_are_the_entropies():
    result = compare(*map(np.array, PAIRS["ordinary"]))
    other, own = entropy.areas_figure(result, NAMES, 300).to_dict()["data"]
    assert (array(own["width"]) * array(own["y"])).sum() == pytest.approx(result.own, abs=1e-5)
    assert (array(other["width"]) * array(other["y"])).sum() == pytest.approx(result.cross, abs=1e-5)


@pytest.mark.parametrize("p", [0.001, 0.5, 1.0])
def test_the_mark_lies_on_the_curve(p):
    figure = entropy.token_loss_figure(p, 300)
    theme.check(figure)
    assert figure.to_dict()["data"][2]["y"] == [pytest.approx(-np.log2(p))]


@pytest.mark.parametrize("values", [(0.0, 0.5, 1.0), (8.0, 0.05, 0.4)])
def test_plotly_accepts_bumps(values):
    result = fit_bumps(*values)
    own = fit_of(result.p, result.x, 1.0, 0.5)
    theme.check(kl_fit.bumps_figure(result, own, 300))
    figure = kl_fit.kl_maps_figure(result, own, 300)
    theme.check(figure)
    data = figure.to_dict()["data"]
    assert all(np.isfinite(array(trace["z"])).all() for trace in data if trace["type"] == "contour")
    assert len(data[4]["x"]) == len(result.picking)


@pytest.mark.parametrize("table", [[[0.5, 0.0], [0.0, 0.5]], [[0.42, 0.18], [0.28, 0.12]], [[1.0, 0.0], [0.0, 0.0]]])
def test_plotly_accepts_joint_tables_and_lengths_are_the_bits(table):
    result = joint_information(np.array(table))
    figure = mutual_information.overlap_figure(result, 200)
    theme.check(figure)
    theme.check(mutual_information.cell_terms_figure(result, ["x1", "x2"], ["y1", "y2"], 200))
    rows = figure.to_dict()["data"]
    assert sum(row["x"][0] for row in rows if row["y"] == ["H(X, Y)"]) == pytest.approx(result.h_xy, abs=1e-9)


def test_plotly_accepts_texts():
    found = {
        "a": text_bits(model(vocab_size=256), ByteTokenizer(), "abc"),
        "b": text_bits(model(1, vocab_size=256), ByteTokenizer(), "abc"),
    }
    figure = texts.adding_up_figure(found, {"a": "a", "b": "b"}, "b", ["x", "y", "z"], 300)
    theme.check(figure)
    assert array(figure.to_dict()["data"][2]["y"])[-1] == pytest.approx(found["b"].total, rel=1e-5)
    theme.check(texts.per_byte_figure([Coder("a", "one", 1.0), Coder("zlib", "other", 24.0)], {"a": "A"}, "a", 300))
