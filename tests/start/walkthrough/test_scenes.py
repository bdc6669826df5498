"""Scenes of a walk: the map has the stages of the model, in order, each where it belongs."""

from itertools import pairwise

import pytest

from tfcore.views.sources import opened
from tfcore.views.start import walkthrough as views
from tfcore.views.start.walkthrough.measure.walk import walk_stages

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


def test_the_residual_stream_runs_from_the_embedding_to_the_last_sum():
    *stops, answer = views.overview("stories", TEXT, "characters", 0).chart.data["stops"]
    assert [stop["label"] for stop in stops if stop["carried"] and not stop["beside"]] == ["embedding", "add", "add"]
    assert answer["label"] == "'·dog'"


def test_labels_stand_under_the_line_before_a_branch_and_where_it_ends():
    stops = views.overview("stories", TEXT, "characters", 0).chart.data["stops"]
    for stop, after in pairwise(stops):
        assert stop["under"] == (not stop["beside"] and (after["beside"] or stop["label"] == "add"))
