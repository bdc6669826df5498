"""Scenes of a walk: the map has the stages of the model, each where it belongs; the stage what one head computes."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from tfcore.charts.heatmaps import full_colour
from tfcore.views.sources import opened
from tfcore.views.start import walkthrough as views
from tfcore.views.start.walkthrough import draw
from tfcore.views.start.walkthrough.measure.walk import walk_stages

STEPS = ("heads", "rotation", "scores", "scaled", "mask", "softmax", "values")
TEXT = "The little dog lost the red ball. The little"


@pytest.mark.parametrize("model", ["stories", "fill", "induction"])
def test_the_map_has_every_stage_of_the_model_in_its_part(model):
    layer = opened(model)[0].config.n_layers - 1
    path = walk_stages(opened(model)[0].config, layer)
    shown = views.overview(model, TEXT, "softmax", layer)
    data = shown.chart.data
    at = [one.name for one in path].index("softmax")
    assert data["value"] == at
    assert [stop["beside"] for stop in data["stops"]] == [one.beside for one in path]
    for area in data["parts"]:
        inside = {one.part for one in path[area["first"] : area["last"] + 1]}
        assert len(inside) == 1
    covered = [i for area in data["parts"] for i in range(area["first"], area["last"] + 1)]
    assert covered == list(range(len(path)))
    assert [f"layer {layer}:" in area["title"] for area in data["parts"]] == [
        path[area["first"]].part in ("attention", "feed-forward") for area in data["parts"]
    ]
    assert str(shown).startswith(f"Stage {at + 1} of {len(path)} of a text through the model: Softmax")
    table = shown.numbers()
    assert len(table) == len(path)
    assert table["part"][at] == "attention"


@pytest.mark.parametrize(
    ("layer", "titles"), [(0, ["layers 1–3"]), (1, ["layer 0", "layers 2–3"]), (3, ["layers 0–2"])]
)
def test_other_layers_are_folded_before_and_after_the_one_that_is_walked_through(layer, titles):
    data = views.overview("stories", TEXT, "characters", layer).chart.data
    assert [fold["title"] for fold in data["folds"]] == titles
    parts = [one.part for one in walk_stages(opened("stories")[0].config, layer)]
    for fold in data["folds"]:
        others = {parts[fold["before"] - 1], parts[fold["before"]]}
        assert others in ({"read", "attention"}, {"feed-forward", "predict"})
    assert sum(int(fold["words"].split()[4]) for fold in data["folds"]) == 3


def test_the_residual_stream_runs_from_the_embedding_to_the_last_sum():
    *stops, answer = views.overview("stories", TEXT, "characters", 0).chart.data["stops"]
    assert [stop["label"] for stop in stops if stop["carried"] and not stop["beside"]] == ["embedding", "add", "add"]
    assert answer["label"] == "'·dog'"


def test_labels_stand_under_the_line_before_a_branch_and_where_it_ends():
    stops = views.overview("stories", TEXT, "characters", 0).chart.data["stops"]
    for stop, after in pairwise(stops):
        assert stop["under"] == (not stop["beside"] and (after["beside"] or stop["label"] == "add"))


@pytest.mark.parametrize("step", STEPS)
def test_the_stage_shows_each_step_of_a_head_and_says_what_its_last_token_attends_to(step):
    shown = views.head("stories", TEXT, step, 2, 5)
    data = shown.chart.data
    assert (data["steps"], data["steps"][data["at"]]) == (list(STEPS), step)
    assert data["labels"][data["steps"].index("scaled")] == "÷ √d"
    assert data["label"] == f"Attention of head 5 in layer 2, {data['labels'][data['at']]}"
    assert str(shown) == f"{data['label']}. {data['stories'][-1]}"
    assert "attends most to" in data["stories"][-1]
    n = len(data["tokens"])
    for name in ("allowed", "weights"):
        assert len(data[name]) == n * n
    assert [len(one) for one in (*data["queries"], *data["keys"], data["output"])] == [n * data["width"]] * 5
    assert max(np.abs(data["values"])) <= draw.FULL


def test_its_table_has_the_score_and_the_weight_of_each_pair_that_is_allowed():
    shown = views.head("stories", TEXT, "softmax", 2, 5)
    model, tokenizer = opened("stories")
    ids = tokenizer.encode(TEXT)
    kept = model(torch.tensor([ids]), capture=["blocks.2.attn.pattern"]).activations["blocks.2.attn.pattern"][0, 5]
    table = shown.numbers()
    assert len(table) == len(ids) * (len(ids) + 1) / 2
    assert (table["query"] >= table["key"]).all()
    np.testing.assert_allclose(table["weight"], kept[table["query"].to_list(), table["key"].to_list()], atol=1e-6)
    for _, row in table.groupby("query"):
        assert row["weight"].sum() == pytest.approx(1, abs=1e-5)
        np.testing.assert_allclose(row["weight"], torch.tensor(row["score"].to_numpy()).softmax(0), atol=1e-5)
    assert table["key token"].to_list()[-1] == tokenizer.tokens(ids)[-1]


def test_the_few_components_that_are_far_larger_have_the_strongest_colour_too():
    values = np.ones((4, 50))
    values[0, 0], values[1, 1] = 90.0, -0.5
    whole = draw._whole(values, full_colour(values))
    assert (whole[0], whole[1], whole[51]) == (draw.FULL, draw.FULL, -50)
