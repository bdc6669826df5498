"""The first token of a text: the weight on it and the length of its vectors, against a loop."""

import numpy as np
import pytest

from tests import small
from tfcore.measures.one_text import one_text
from tfcore.views.model import modern as views
from tfcore.views.model.modern.measure import first_token
from tfcore.views.model.modern.say import first_token_weight

IDS = [3, 1, 4, 1, 5, 9, 2]


@pytest.mark.parametrize("wiring", [{}, {"n_kv_heads": 3}, {"attn_sinks": True}])
def test_weights_and_lengths_are_those_of_a_loop(wiring):
    model = small.model(**wiring)
    found = first_token(model, IDS)
    names = [f"blocks.{layer}.{part}" for layer in range(2) for part in ("attn.pattern", "attn.v", "resid_pre")]
    record = {name: value[0].cpu().numpy() for name, value in model.activations(one_text(model, IDS), names).items()}
    for layer in range(2):
        pattern = record[f"blocks.{layer}.attn.pattern"]
        for head in range(6):
            weights = [pattern[head, query, 0] for query in range(3, 7)]
            assert found.weights[layer, head] == pytest.approx(np.mean(weights), rel=1e-5)
        v, x = record[f"blocks.{layer}.attn.v"], record[f"blocks.{layer}.resid_pre"]
        values = [np.sqrt(sum((v[head, token] ** 2).sum() for head in range(len(v)))) for token in range(7)]
        stream = [np.sqrt((x[token] ** 2).sum()) for token in range(7)]
        # torch's median of an even number is the lower one
        for lengths, ours in ((values, found.values[layer]), (stream, found.stream[layer])):
            assert ours == pytest.approx(lengths[0] / sorted(lengths[1:])[2], rel=1e-4)
    assert found.even == pytest.approx((1 / 4 + 1 / 5 + 1 / 6 + 1 / 7) / 4)


def test_what_is_said_of_it():
    found = first_token(small.model(), IDS)
    said = first_token_weight(found, "m")
    assert said.values["many"] == sum(weight > 0.5 for weight in found.weights.flatten())
    assert said.values["layer"] == found.layers[int(np.argmin(found.values))]
    assert said.values["mean"] == pytest.approx(found.weights.mean())
    assert str(said).startswith(f"m: the first token has {found.weights.mean():.0%} of the weight of the queries")


def test_what_has_no_later_tokens_is_a_sentence():
    with pytest.raises(ValueError, match="in a text of 1; give two at least"):
        first_token(small.model(), IDS[:1])
    with pytest.raises(ValueError, match="in a decoder, not in an encoder"):
        first_token(small.model(architecture="encoder", head="mlm", positions="learned"), IDS)


def test_the_map_has_a_cell_for_each_head():
    shown = views.first_token("stories", "Once upon a time there was a dog.")
    assert np.shape(shown.chart.data[0].z) == shown.result.weights.shape == (4, 6)
    assert list(shown.chart.data[0].customdata[3][5]) == [3, 5]
    assert list(shown.table()["layer"]) == [0, 1, 2, 3]
