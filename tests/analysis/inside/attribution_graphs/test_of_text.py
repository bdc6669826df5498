"""The graph of a text of the shipped model, drawn with and without groups, and its strongest features taken off."""

from tfcore.analysis.inside.attribution_graphs.effects import strongest
from tfcore.analysis.inside.attribution_graphs.graph import Output
from tfcore.analysis.inside.attribution_graphs.of_text import draw_traced, take_strongest_off, trace_text
from tfcore.loading.checkpoints import load

TEXT = "Once upon a time there was a little girl"


def test_a_text_is_traced_and_drawn():
    model, tokenizer = load("stories", device="cpu")
    found = trace_text(model, tokenizer, "stories", TEXT, 6, 7, 30)
    assert found.graph.ids == tuple(tokenizer.encode(TEXT)[:6])
    assert found.graph.outputs == (Output(7, 30),)
    alone, joined = (draw_traced(model, tokenizer, "stories", found, 0.6, 0.9, grouped) for grouped in (False, True))
    assert alone.pruned.nodes.tolist() == joined.pruned.nodes.tolist()
    assert alone.scores == joined.scores
    assert sorted(alone.diagram.members) == [(node,) for node in alone.pruned.nodes]
    assert max(map(len, joined.diagram.members)) > 1
    assert sorted(node for group in joined.diagram.members for node in group) == joined.pruned.nodes.tolist()
    taken = take_strongest_off(model, "stories", found)
    assert taken.nodes.tolist() == strongest(found.graph, found.influence).tolist()
    assert taken.output == Output(7, 30)
