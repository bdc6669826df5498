"""Pictures of scaling: valid for plotly, true to their numbers, whole also at the ends of the sliders."""

import numpy as np
import pytest

from tfcore.charts import theme
from tfcore.measures.flop_count import RuleError
from tfcore.measures.scaling_laws import KAPLAN, LAWS
from tfcore.views.training.scaling.draw import known_models as models_figures
from tfcore.views.training.scaling.draw import ladder as ladder_figures
from tfcore.views.training.scaling.draw import over_training as over_figures
from tfcore.views.training.scaling.draw import scaling
from tfcore.views.training.scaling.draw import training_cost as cost_figures
from tfcore.views.training.scaling.measure import known_models, training_cost
from tfcore.views.training.scaling.measure.compute_budget import at_size, iso_flops, optimum, splits
from tfcore.views.training.scaling.measure.ladder_fit import LadderFit
from tfcore.views.training.scaling.measure.law_curves import law_curves
from tfcore.views.training.scaling.measure.over_training import lifetime

LAW = LAWS["refit"]
CURVES = iso_flops(LAW, [5.76e23, 1e18, 1e24], np.logspace(6.5, 13.5, 40))
WAY = [optimum(LAW, flops) for flops in (1e16, 1e20, 1e28)]
KNOWN = [model for model in known_models.MODELS if model.tokens]
RATIOS = np.logspace(0, 4.5, 20)
LIFE = lifetime(LAW, 2.0, 1e13, RATIOS)
FIT = LadderFit(
    LAW,
    np.array([1e4, 1e4, 1e5]),
    np.array([1e6, 2e6, 1e6]),
    np.array([4.0, 3.9, 3.5]),
    np.array([4.1, 3.9, 3.4]),
    np.array([False, False, True]),
)
FIGURES = {
    "size": lambda: scaling.law_figure(law_curves(LAW, "size"), 7e10, 2.0, 400, above_floor=False),
    "compute": lambda: scaling.law_figure(law_curves(LAW, "compute"), 1e23, 2.0, 400, above_floor=True),
    "kaplan": lambda: scaling.law_figure(law_curves(KAPLAN, "compute"), 1e23, 2.0, 400, above_floor=True),
    "equal": lambda: scaling.iso_flops_figure(CURVES, 0, at_size(LAW, 5.76e23, 5e11), WAY, 400),
    "ratios": lambda: scaling.ratios_figure(splits(np.logspace(17, 28, 12).tolist()), 1e22, 400),
    "plane": lambda: models_figures.plane_figure(KNOWN, WAY, "Chinchilla", 500),
    "years": lambda: models_figures.years_figure(known_models.MODELS, {"ours": 2_200_000}, "GShard", 2026.0, 500),
    "one model": lambda: models_figures.years_figure(known_models.MODELS[:1], {}, None, 2026.0, 500),
    "days": lambda: cost_figures.days_figure(dict.fromkeys(training_cost.HARDWARE, 1e6), "h100", 512, 400),
    "rule": lambda: cost_figures.rule_figure({"a": RuleError(1e9, 1.1, 1.4)}, 2048, 300),
    "extra": lambda: over_figures.extra_loss_figure(RATIOS, RATIOS / 1e5, 20.0, 200.0, 0.01, 300),
    "life": lambda: over_figures.lifetime_figure(LIFE, 200.0, 300),
    "ladder": lambda: ladder_figures.ladder_figure(FIT, 400),
    "residuals": lambda: ladder_figures.residuals_figure(FIT, 240),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_valid(name):
    theme.check(FIGURES[name]())


def traces(name):
    return {trace["name"]: trace for trace in FIGURES[name]().data}


def test_the_marks_are_where_the_numbers_are():
    best = traces("equal")["your best split"]
    assert list(best["x"]) == [optimum(LAW, 5.76e23).n]
    assert list(best["y"]) == [optimum(LAW, 5.76e23).loss]
    star = traces("life")["cheapest in all"]
    assert list(star["y"]) == [LIFE.total.min()]
    kaplan = traces("equal")["Kaplan's split"]
    assert list(kaplan["x"]) == [5e11]


def test_every_published_model_is_a_point_with_its_source():
    points = [t for t in FIGURES["plane"]().to_dict()["data"] if t["mode"] == "markers" and t.get("text")]
    assert sum(len(t["x"]) for t in points) == len(KNOWN)
    assert all("arXiv:" in words or "card" in words for t in points for words in t["text"])


def test_names_of_models_do_not_touch():
    notes = [n for n in FIGURES["plane"]().to_dict()["layout"]["annotations"] if n.get("bgcolor")]
    assert "Chinchilla" in [n["text"] for n in notes]
    assert len(notes) > len(KNOWN) / 2


def test_residuals_are_in_per_cent_and_predicted_ones_apart():
    found = traces("residuals")
    assert found["predicted"]["y"] == pytest.approx([100 * (3.5 / 3.4 - 1)])
    assert list(found["predicted"]["x"]) == [2]
    stars = [t for t in FIGURES["ladder"]().data if t["marker"]["symbol"] == "star"]
    assert [list(t["y"]) for t in stars if len(t["y"])] == [[3.5]]
    assert {t["marker"]["size"] for t in stars} == {14}, "larger than the circles"


def test_our_own_models_have_one_label_however_close_they_are():
    ours = {f"model-{i}": 2_200_000 + i for i in range(6)}
    figure = models_figures.years_figure(known_models.MODELS[:1], ours, None, 2026.0, 500)
    labels = [note.text for note in figure.layout.annotations if "ours" in note.text]
    assert len(labels) == 1
    assert all(name in labels[0] for name in ours)
    assert len(figure.layout.shapes) == 6


def test_days_fall_with_the_number_of_accelerators():
    figure = cost_figures.days_figure({"a100": 30.0, "h100": 10.0}, "h100", 512, 400)
    line = next(trace for trace in figure.data if trace["name"] == training_cost.HARDWARE["a100"].name)
    assert [x * y for x, y in zip(line["x"], line["y"], strict=True)] == pytest.approx([30 * 512] * 2)
    assert [(list(t["x"]), list(t["y"])) for t in figure.data if t["mode"] == "markers"] == [([512], [10.0])]
