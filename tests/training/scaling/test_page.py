"""The page on scaling: published figures come out, each choice counts, our own ladder shows what was predicted."""

import json
from functools import partial

import numpy as np
import pytest

from pages.ui import controls, frame
from tests import small_ladder
from tests.nightly import nightly
from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.visits import press, run, said
from tfcore.measures import scaling_laws
from tfcore.measures.scaling_laws import LAWS, named_law
from tfcore.training import ladder
from tfcore.views.training import scaling as views
from tfcore.views.training.scaling.measure import ladder_fit as scaling
from tfcore.views.training.scaling.measure.compute_budget import optimum
from tfcore.views.training.scaling.measure.ladder_fit import FEWEST
from tfcore.views.training.scaling.measure.law_curves import law_curves

opened = partial(visits.opened, "training/scaling/page.py")


def metrics(test):
    return {metric.label: metric.value for metric in test.metric}


def test_chinchillas_budget_by_the_refit_and_by_the_printed_constants():
    test = opened()
    found = metrics(test)
    assert (found["Parameters N"], found["Tokens D"]) == ("72.2 B", "1.33 T")
    assert found["Tokens per parameter"] == "18.4"
    rows = test.dataframe[0].value.set_index("rule")["tokens per parameter"]
    assert rows["Chinchilla, approach 3 as printed"] == "92.6"
    assert rows["Chinchilla, approach 1"] == "21.4"
    press(test, "try the constants as printed")
    assert metrics(test)["Tokens per parameter"] == "92.6"
    assert "72.2 B" not in figures(test)["equal"][0]["alt"]


def test_the_chosen_budget_is_what_is_marked():
    test = opened(c="28.0")
    assert "10²⁸ operations" in said(test, "caption"), "the slider reaches its end"
    mark = next(trace for trace in figures(test)["equal"][1]["data"] if trace["name"] == "your best split")
    assert mark["x"] == [optimum(LAWS["refit"], 1e28).n]
    assert "N grows as C^0.73" in said(test, "markdown")


@pytest.mark.parametrize(
    ("against", "name", "x"),
    [("size", "refit", 1e9), ("data", "refit", 1e10), ("compute", "refit", 6e19), ("compute", "kaplan", 3e19)],
)
def test_the_model_is_marked_where_it_stands(against, name, x):
    test = opened(part="law", of=name, against=against, n="9.0", d="10.0")
    mark = next(trace for trace in figures(test)["law"][1]["data"] if trace["name"].startswith("your model"))
    assert mark["x"] == pytest.approx([x])


def test_four_times_the_compute_is_about_twice_the_size():
    small, large = (metrics(opened(c=c))["Parameters N"] for c in ("22.0", "22.6"))
    assert float(large.split()[0]) / float(small.split()[0]) == pytest.approx(2, rel=0.05)


def test_the_loss_is_taken_apart():
    found = metrics(opened(part="The laws", n="11.24", d="11.48"))
    assert float(found["Due to finite N"]) == pytest.approx(482.01 / 10 ** (11.24 * 0.3478), abs=1e-3)
    assert float(found["Due to finite D"]) == pytest.approx(2085.43 / 10 ** (11.48 * 0.3658), abs=1e-3)
    test = opened(part="The laws", of="Kaplan 2020", against="compute", n="9.0", d="10.0")
    assert metrics(test)["Irreducible loss E"] == "none"
    flops = 6 * 1e19 / 2
    assert float(metrics(test)["Loss, nats per token"]) == pytest.approx((3.1e8 * 8.64e19 / flops) ** 0.05, abs=1e-3)


def test_models_are_filtered_and_a_click_chooses():
    test = opened(part="Real models", until="2021")
    names = set(test.dataframe[0].value["model"])
    assert {"GPT-3", "Gopher"} <= names
    assert not names & {"Chinchilla", "Llama 3 8B"}
    assert set(opened(part="Real models", least="1,000").dataframe[0].value["model"]) >= {"Llama 3 8B", "TinyLlama"}
    test = opened(part="Real models", kind="recurrent")
    assert "No model with a known number of tokens" in test.info[0].value
    test.segmented_control(key="view").set_value("years")
    assert "LSTM with experts" in figures(run(test))["years"][0]["alt"]
    assert "ours: stories" in str(figures(test)["years"][1]["layout"]["annotations"])
    assert "1,875" in said(opened(part="Real models", who="Llama 3 8B"), "caption")


@pytest.mark.parametrize("view", ["plane", "years"])
def test_a_click_on_a_point_chooses_its_model(monkeypatch, view):
    handlers, chosen = {}, {}
    original = frame.figure

    def noted(*args, key, on_click=None, **options):
        handlers[key] = on_click
        original(*args, key=key, on_click=on_click, **options)

    monkeypatch.setattr(frame, "figure", noted)
    test = opened(part="Real models", view=view)
    monkeypatch.setattr(controls, "set_values", chosen.update)
    points = next(trace for trace in figures(test)[view][1]["data"] if "Gopher" in trace.get("customdata", ()))
    at = next(i for i, words in enumerate(points["text"]) if "<b>Gopher</b>" in words)
    handlers[view]({"customdata": points["customdata"][at]})
    assert chosen == {"who": "Gopher"}
    handlers[view]({"customdata": None})
    assert chosen == {"who": "Gopher"}


def test_the_cost_of_a_run_that_is_known():
    found = metrics(opened(part="What it costs"))
    assert found["Time"] == "68 days"
    assert found["Accelerator hours"] == "26.6 M", "30.8 M are published, which is 35 % of the peak and not 40 %"
    dear = metrics(opened(part="What it costs", mfu="20", price="4.0"))
    assert dear["Accelerator hours"] == "53.2 M"
    assert dear["Money"] == "$213 M"
    assert "sequences of 512 tokens" in figures(opened(part="What it costs", seq="9"))["rule"][0]["alt"]
    own = opened(part="What it costs", run="your own, by sliders", n="9.0", d="10.0", count="1")
    hours = 6e19 / (989.4e12 * 0.4) / 3600
    assert metrics(own)["Time"] == f"{hours:.0f} hours"


def test_beyond_the_best():
    found = metrics(opened(part="Over-training"))
    assert found["Same budget: loss"] == "+0.0143"
    assert found["Same loss: training"] == "1.64 ×"
    assert found["which pays after"] == "4.16 T"
    test = opened(part="Over-training", r="0.5")
    assert metrics(test)["which pays after"] == "never"
    chosen = figures(test)["life"][1]["layout"]["shapes"][0]
    assert chosen["x0"] == chosen["x1"] == pytest.approx(10**0.5)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return small_ladder.write(tmp_path_factory.mktemp("ladder"))


@pytest.fixture
def shipped(made, monkeypatch):
    monkeypatch.setattr(ladder, "SHIPPED", made)
    monkeypatch.setattr(scaling_laws, "STEPS", 10)
    views.fitted.clear()
    yield made
    views.fitted.clear()


def test_our_ladder_shows_what_its_recipe_wrote_down(shipped):
    rows = {row["name"]: row for row in ladder.read_table(shipped / "scaling.csv")}
    content = json.loads((shipped / "scaling.json").read_text())
    name, predicted = list(content["predicted"].items())[-1]
    test = opened(part="Our own ladder")
    found = metrics(test)
    assert found["Predicted"] == f"{predicted:.4f}"
    assert found["Then measured"] == f"{rows[name]['loss']:.4f}"
    table = test.dataframe[0].value
    assert len(table) == len(rows)
    assert (table["predicted"] == "yes").sum() == len(content["predicted"])
    shown = table.iloc[-1]
    assert shown["off by, %"] == pytest.approx(100 * (rows[name]["loss"] / predicted - 1), abs=0.006)
    drawn = figures(test)
    assert f"{predicted:.4f}" in drawn["rungs"][0]["alt"]
    assert drawn["residuals"][1]["data"][1]["name"] == "predicted"


def test_the_law_can_be_fitted_to_fewer_sizes(shipped):
    test = opened(part="Our own ladder", sizes="the smallest 3")
    assert (test.dataframe[0].value["predicted"] == "yes").sum() == 4
    assert len(array(figures(test)["residuals"][1]["data"][1]["y"])) == 4
    for label in test.selectbox(key="sizes").options:
        opened(part="Our own ladder", sizes=label)


@pytest.mark.parametrize("name", [*LAWS, "kaplan"])
def test_a_billion_tokens_stay_far_above_the_end_of_unlimited_ones(name):
    curves = law_curves(named_law(name), "size")
    few, unlimited = (curves.loss[curves.held.index(tokens)] for tokens in (1e9, float("inf")))
    assert np.min(few) > np.min(unlimited) + 0.5
    assert bool(law_curves(named_law(name), "compute").held) == (name != "kaplan")


@nightly
def test_the_floor_and_the_term_of_size_move_with_the_sizes_that_are_fitted():
    laws = [scaling.fitted(sizes).law for sizes in range(FEWEST, len(scaling.fitted(None).sizes))]

    def moves(name: str) -> float:
        values = [getattr(law, name) for law in laws]
        return float(max(values) / min(values) - 1)

    assert min(map(moves, ("floor", "a", "alpha"))) > max(map(moves, ("b", "beta")))
