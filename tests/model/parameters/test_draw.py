"""Pictures of parameters: valid for plotly, nothing counted twice, every component with a colour of its own."""

import pytest

from tests.small import DEBERTA, config
from tfcore.charts import theme
from tfcore.measures.parameter_count import parameters
from tfcore.part_configs import ClassesConfig
from tfcore.presets import PRESETS
from tfcore.views.model.parameters import draw as figures
from tfcore.views.model.parameters.measure import model_costs


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_drawn_whole(name):
    found = model_costs(PRESETS[name](), seq=128)
    ring = figures.ring_figure(found.count, 400)
    assert sum(ring.data[0]["values"]) == found.count.total
    tree = figures.treemap_figure(found.count, 400).to_dict()["data"][0]
    tops = [value for value, parent in zip(tree["values"], tree["parents"], strict=True) if parent == ""]
    assert sum(tops) == found.count.total
    for place, key in enumerate(tree["ids"]):
        inside = [v for v, parent in zip(tree["values"], tree["parents"], strict=True) if parent == key]
        assert not inside or sum(inside) == tree["values"][place]
    bars = figures.blocks_figure(found.count, 400)
    assert sum(sum(trace.y) for trace in bars.data) == sum(
        sum(parts.values()) for parts in found.count.by_layer.values()
    )
    for figure in (ring, bars, figures.treemap_figure(found.count, 400)):
        theme.check(figure)


@pytest.mark.parametrize(
    "values",
    [
        DEBERTA,
        {"architecture": "encoder", "head": "none", "d_embed": 6, "n_segments": 2, "pooler": True},
        {"head": "classes", "classes": ClassesConfig(labels=("no", "yes"), place="last"), "tie_embeddings": False},
    ],
    ids=["disentangled", "narrow", "classes"],
)
def test_so_are_models_that_are_no_preset(values):
    count = parameters(config(**values))
    ring, bars = figures.ring_figure(count, 400), figures.blocks_figure(count, 400)
    assert sum(ring.data[0]["values"]) == count.total
    for figure in (ring, bars, figures.treemap_figure(count, 400)):
        theme.check(figure)


def test_neighbours_of_a_deep_model_share_a_tile():
    deep = figures.treemap_figure(model_costs(PRESETS["llama3_405b"]()).count, 400).data[0]
    blocks = [name for name, parent in zip(deep["labels"], deep["parents"], strict=True) if parent == figures.BLOCKS]
    assert len(blocks) <= figures.MOST_TILES
    assert (blocks[0], blocks[-1]) == ("blocks 0 to 3", "blocks 124 to 125")
    both = figures.treemap_figure(model_costs(PRESETS["t5_large"]()).count, 400).data[0]
    assert {"encoder.blocks 0 to 1", "decoder.blocks 22 to 23"} <= set(both["labels"])


def test_memory_is_stacked_by_what_holds_it():
    use = model_costs(PRESETS["gpt2_small"](), batch=2, seq=256).memory
    figure = figures.memory_figure({"a": use, "b": use}, ("train", "generate"), 300)
    theme.check(figure)
    per_row = [sum(trace.x[row] for trace in figure.data) for row in range(4)]
    assert per_row[:2] == pytest.approx([use.training / 1e9] * 2)
    assert per_row[2:] == pytest.approx([use.generation / 1e9] * 2)
    assert figure.layout.xaxis.title.text == "GB (10⁹ bytes)"


def test_a_small_model_is_drawn_in_smaller_units():
    use = model_costs(config()).memory
    figure = figures.memory_figure({"it": use}, ("train", "generate"), 300)
    assert figure.layout.xaxis.title.text in ("kB (10³ bytes)", "MB (10⁶ bytes)")
    assert sum(trace.x[0] for trace in figure.data) > 1
