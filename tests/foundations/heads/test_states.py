"""Heads of a hybrid: those of attention as ever, and the matrices that states imply in the other layers."""

import numpy as np
import pytest
import torch

from tests import small
from tfcore.measures.heads.kinds import NO_ATTENTION, induction_scores
from tfcore.measures.heads.maps import attention_maps
from tfcore.part_configs import LayerConfig, MixerConfig
from tfcore.tokenizers.tokenizer import NamedTokenizer
from tfcore.views.finding import Statement
from tfcore.views.foundations import heads as views
from tfcore.views.foundations.heads.measure.attention import Order, kinds, layers_shown, tile_places
from tfcore.views.foundations.heads.measure.head_ranking import ENTROPY
from tfcore.views.foundations.heads.say import implied_rows, other_layers
from tfcore.views.sources import Reading

MODEL = small.model(
    layers=tuple(LayerConfig(mixer=kind) for kind in ("conv", "attention", "delta")),
    mixer=MixerConfig(n_heads=4, d_key=5, d_value=6, decay="token"),
    n_layers=3,
)
TOKENIZER = NamedTokenizer([chr(0x61 + i % 26) * (1 + i // 26) + " " for i in range(61)])
READING = Reading((MODEL, TOKENIZER), "a b c d b c d a ")


def test_layers_without_attention_have_no_weights_and_no_kind():
    ids = small.ids(1, 9)[0].tolist()
    maps = attention_maps(MODEL, ids)
    alone = MODEL(torch.tensor([ids]), capture=["blocks.1.attn.pattern"]).activations["blocks.1.attn.pattern"][0]
    np.testing.assert_allclose(maps.patterns[1], alone, atol=1e-6)
    assert not maps.patterns[[0, 2]].any()
    assert (maps.heads.kind == NO_ATTENTION).tolist() == [[True] * 6, [False] * 6, [True] * 6]
    assert not maps.heads.score[[0, 2]].any()
    scores = induction_scores(MODEL)
    assert scores is not None
    assert scores[1].any()
    assert not scores[[0, 2]].any()


def test_what_is_said_and_drawn_of_heads_leaves_those_layers_out():
    assert layers_shown(READING) == [1, 2]
    assert kinds(READING).attends.sum() == 6
    assert {layer for layer, _ in tile_places(READING, Order(sort="score"), 1)} == {1}
    shown = views.head_map(READING, Order(), 1, 0)
    assert len(shown.numbers()) == 6
    assert "No attention weights are shown of: a convolution in layer 0; a state in layer 2." in str(shown.described)
    ranked = views.head_map(READING, Order(by=ENTROPY), 1, 0)
    assert "Of 6 heads, the largest entropy" in str(ranked)
    assert np.isnan(np.array(ranked.chart.data[0].z)[[0, 2]]).all()
    assert len(views.mosaic(READING, Order(), 1, 0).result) == 6
    with pytest.raises(ValueError, match="rollout multiplies the attention of all layers"):
        views.rolled_out(READING, 1, 3)
    assert other_layers(small.config()) is None


def test_a_state_shows_the_matrix_it_implies():
    shown = views.implied(READING, 2, 3)
    ids = torch.tensor([TOKENIZER.encode(READING.text)])
    matrix = MODEL(ids, capture=["blocks.2.attn.pattern"]).activations["blocks.2.attn.pattern"][0, 3].numpy()
    np.testing.assert_allclose(shown.result, matrix, atol=1e-6)
    n, sums = len(matrix), [sum(row) for row in matrix.tolist()]
    seen = [(matrix[i, j], i, j) for i in range(n) for j in range(i + 1)]
    weight, query, key = max((one for one in seen if one[1] != one[2]), key=lambda one: abs(one[0]))
    (said,) = shown.findings
    assert isinstance(said, Statement)
    values = said.values
    assert (values["low"], values["high"]) == (pytest.approx(min(sums), abs=1e-5), pytest.approx(max(sums), abs=1e-5))
    assert values["negative"] == pytest.approx(sum(one[0] < 0 for one in seen) / len(seen))
    assert (values["weight"], values["at"]) == (pytest.approx(weight, abs=1e-6), key)
    assert visible_of(query) in values["query"]
    assert "below 0: no probabilities. Largest" in str(shown)
    assert "0% of its entries are below 0. Largest" in str(implied_rows(np.eye(3), 0, 1, [*"abc"], [*"abc"]))
    for layer in (0, 1):
        with pytest.raises(ValueError, match=f"layer {layer} carries no state in the place of attention"):
            views.implied(READING, layer, 0)


def visible_of(place: int) -> str:
    return READING.text[2 * place]
