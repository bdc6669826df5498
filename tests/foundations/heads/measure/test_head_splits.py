"""Cutting anew with the model's own number gives the model's own maps; merging equal heads changes nothing."""

import numpy as np
import pytest
import torch

from tests.small import config, difference, ids, model
from tfcore.measures.parameter_count import parameters
from tfcore.views.foundations.heads import say
from tfcore.views.foundations.heads.measure.head_splits import (
    HeadSplit,
    SharedKV,
    divisors,
    resplit,
    share_kv_heads,
    split_sizes,
    with_kv_heads,
)
from tfcore.views.foundations.heads.say import (
    SplitMaps,
    sharing_loss,
    sharing_refusal,
    sharing_variants,
    split_maps,
    trained_sharing,
)

IDS = ids(1, 13)[0].tolist()


@pytest.mark.parametrize("positions", ["rope", "learned", "none"])
@pytest.mark.parametrize("kv_heads", [6, 3])
def test_the_own_number_of_heads_gives_the_own_maps(positions, kv_heads):
    subject = model(positions=positions, n_kv_heads=kv_heads)
    name = "blocks.1.attn.pattern"
    own = subject(torch.tensor([IDS]), capture=(name,)).activations[name][0].numpy()
    found = resplit(subject, IDS, 1, 6)
    np.testing.assert_allclose(found.patterns, own, atol=1e-5)
    assert found.widths == (24, 4 * kv_heads, 4 * kv_heads)
    assert found.product.shape == (13, sum(found.widths))


@pytest.mark.parametrize("n_heads", divisors(24))
def test_any_cut_is_attention_over_the_same_numbers(n_heads):
    subject = model()
    found, own = resplit(subject, IDS, 0, n_heads), resplit(subject, IDS, 0, 6)
    np.testing.assert_array_equal(found.product, own.product)
    assert found.patterns.shape == (n_heads, 13, 13)
    np.testing.assert_allclose(found.patterns.sum(-1), 1, atol=1e-5)
    q, k = (own.product[:, start : start + 24 // n_heads] for start in (0, 24))
    scores = np.where(np.tril(np.ones((13, 13))) > 0, q @ k.T / (24 // n_heads) ** 0.5, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    np.testing.assert_allclose(found.patterns[0], weights / weights.sum(-1, keepdims=True), atol=1e-5)


def test_a_cut_with_a_rest_is_refused_with_what_would_work():
    with pytest.raises(
        ValueError, match=r"24 dimensions do not fall into 5 heads; try one of \[1, 2, 3, 4, 6, 8, 12\]"
    ):
        resplit(model(), IDS, 0, 5)
    with pytest.raises(ValueError, match=r"6 KV heads do not fall into 4 groups; try \[1, 2, 3, 6\]"):
        with_kv_heads(model(), 4)


def test_merging_equal_heads_changes_nothing():
    shared = with_kv_heads(model(bias=True), 2)
    state = shared.state_dict()
    for name in [name for name in state if ".attn.qkv." in name]:
        q, k, v = state[name].split((24, 8, 8))
        state[name] = torch.cat(
            [q, *(part.unflatten(0, (2, 4)).repeat_interleave(3, 0).flatten(0, 1) for part in (k, v))]
        )
    whole = model(bias=True)
    whole.load_state_dict(state)
    tokens = torch.tensor([IDS])
    assert difference(whole(tokens).logits, shared(tokens).logits) < 1e-5
    assert difference(with_kv_heads(whole, 2)(tokens).logits, shared(tokens).logits) < 1e-5


def test_sharing_goes_from_all_to_one_and_counts():
    found = share_kv_heads(model(), IDS)
    assert [variant.kv_heads for variant in found] == [6, 3, 2, 1]
    assert found[0].cache_bytes == 2 * 2 * 6 * 4 * 2, "2 x layers x kv_heads x d_head x bytes"
    assert found[0].cache_bytes == 6 * found[-1].cache_bytes
    assert found[0].parameters - found[-1].parameters == 2 * 2 * 5 * 4 * 24
    name = "blocks.1.attn.pattern"
    own = model()(torch.tensor([IDS]), capture=(name,)).activations[name][0].numpy()
    np.testing.assert_allclose(found[0].patterns[1], own, atol=1e-5)
    assert np.isnan(share_kv_heads(model(), [5])[0].loss)


def test_the_largest_weight_is_averaged_over_heads_and_queries_but_the_first():
    patterns = np.array([[[1, 0, 0], [0.25, 0.75, 0], [0.5, 0.3, 0.2]], [[1, 0, 0], [0.5, 0.5, 0], [0.1, 0.1, 0.8]]])
    found = HeadSplit(0, 6, np.zeros((3, 6)), (2, 2, 2), patterns)
    assert found.largest == pytest.approx(sum(max(row) for head in patterns for row in head[1:]) / 4) == 2.55 / 4
    fewer = [HeadSplit(0, 6, np.zeros((n, 6)), (2, 2, 2), patterns[:, :n, :n]).largest for n in (1, 2)]
    assert fewer == [1, pytest.approx((0.75 + 0.5) / 2)]


def test_the_maps_of_a_split_say_how_it_was_trained():
    patterns = np.array([[[1, 0], [0.25, 0.75]], [[1, 0], [0.5, 0.5]], [[1, 0], [0.9, 0.1]]])
    found = split_maps(HeadSplit(2, 6, np.zeros((2, 24)), (12, 6, 6), patterns))
    assert (found.layer, found.n_heads, found.d_head, found.trained_heads) == (2, 3, 4, 6)
    assert found.largest == pytest.approx((0.75 + 0.5 + 0.9) / 3)
    assert str(found) == (
        "softmax(q kᵀ / √4) of layer 2, cut into 3: it was trained with 6. The same queries and keys every time; the "
        "largest weight of a query token is 0.72 on average."
    )
    assert SplitMaps(0, 6, 4, 6, 0.5).trained == "as it was trained"
    assert str(SplitMaps(0, 32, 4, 6, 0.5)).endswith("0.50 on average.")
    assert str(SplitMaps(0, 64, 4, 6, 0.5)).endswith("0.50 on average. Drawn: the first 32.")


@pytest.mark.parametrize("kv_heads", [6, 2])
def test_a_split_costs_no_parameters_but_weights(kv_heads):
    subject = model(n_kv_heads=kv_heads)
    found = split_sizes(subject.config, 3, 13)
    assert found.parameters == subject.decoder.blocks[0].attn.qkv.weight.numel()
    assert (found.d_head, found.weights) == (8, resplit(subject, IDS, 0, 3).patterns.size)


def variant(kv_heads, loss):
    return SharedKV(kv_heads, np.zeros((1, 6, 2, 2)), loss, 0, 0)


def test_the_loss_goes_from_the_own_kv_heads_to_the_fewest():
    variants = [variant(6, 1.25), variant(3, 9.0), variant(1, 3.5)]
    assert str(sharing_loss(variants)) == (
        "The loss goes from 1.25 to 3.50 nats per token when KV heads are merged without further training."
    )
    assert str(sharing_variants(variants)) == (
        "Which query heads share KV heads: MHA: 6 for 6; GQA: 3 for 6; MQA: 1 for 6."
    )


def test_sharing_is_refused_where_there_is_no_loss_or_too_much_to_copy(monkeypatch):
    assert sharing_refusal(model().config) is None
    assert "predicts no tokens" in str(sharing_refusal(model(architecture="encoder", head="none").config))
    large = config(d_model=768, n_heads=12, n_layers=12, vocab_size=50_257, d_ff=3_072)
    assert f"{parameters(large).total:,} parameters" in str(sharing_refusal(large))
    monkeypatch.setattr(say, "LARGEST_SHARED", parameters(large).total)
    assert sharing_refusal(large) is None


def test_a_model_says_how_its_own_query_heads_share():
    assert trained_sharing(config(n_heads=6, n_kv_heads=2)) == "In this model 6 query heads read 2 KV heads, 3 each."
    assert "each of the 6 query heads has a KV head of its own" in trained_sharing(config(n_heads=6))
