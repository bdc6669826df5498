"""What routers do with a text, against plain loops over its tokens; changed rules on the same weights."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests import expert_layers, small
from tfcore.inspection.edits import Edit
from tfcore.measures.expert_scan import load_over_texts
from tfcore.measures.one_text import one_text
from tfcore.part_configs import ExpertsConfig
from tfcore.views.experts.routing.measure import text_routing
from tfcore.views.experts.routing.measure.rules import sweep
from tfcore.views.experts.routing.measure.text_routing import RouterChange, agreement, noisy_scores, rerouted, route

IDS = small.ids(batch=1, seq=19).flatten().tolist()
CHANGES = [
    None,
    RouterChange(top_k=1),
    RouterChange(top_k=4, capacity=0.75),
    RouterChange(top_k=2, capacity=0.3),
    RouterChange(top_k=2, routing="experts"),
    RouterChange(top_k=1, routing="experts"),
]


def mixture(**values):
    dense = values.pop("dense_layers", 0)
    experts = ExpertsConfig(**({"n_experts": 5, "top_k": 2, "d_expert": 12} | values))
    return small.model(experts=experts, dense_layers=dense, vocab_size=61)


@pytest.fixture(scope="module", params=["after", "before"])
def model(request):
    return mixture(softmax=request.param)


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_who_takes_what_with_what_weight_is_that_of_a_plain_loop(model, change):
    found = route(model, IDS, change)
    plain = model if change is None else rerouted(model, change)
    read = plain(one_text(plain, IDS), capture=("blocks.*.ln2.normalized",)).activations
    edits = []
    for at, layer in enumerate(found.layers):
        experts, x = plain.decoder.blocks[layer].mlp, read[f"blocks.{layer}.ln2.normalized"]
        wanted = expert_layers.plan(experts, x, None)
        for place in range(len(IDS)):
            taken = found.taken[at, place].nonzero()[0].tolist()
            assert set(taken) == set(wanted[0, place])
            for expert, weight in wanted[0, place].items():
                assert found.weights[at, place, expert] == pytest.approx(weight, abs=1e-5)
            scores = [math.exp(float(score)) for score in experts.router.weight @ x[0, place]]
            assert found.probs[at, place] == pytest.approx(np.array(scores) / sum(scores), abs=1e-5)
            others = [i for i in range(5) if i not in taken]
            assert not found.weights[at, place, others].any()
        edits.append(Edit.replace(f"blocks.{layer}.mlp_out", expert_layers.dense(experts, x, None, "swiglu")))
    logits = plain(one_text(plain, IDS), edits=edits).logits[0]  # every layer's output made by the loop
    losses = [-float(F.log_softmax(logits[i], -1)[IDS[i + 1]]) for i in range(len(IDS) - 1)]
    assert found.losses == pytest.approx(losses, abs=1e-4)
    assert found.loss == pytest.approx(np.mean(losses), abs=1e-4)


def test_what_is_dropped_came_when_the_expert_was_full():
    found = route(mixture(), IDS, RouterChange(top_k=2, capacity=0.75))
    assert found.room == int(0.75 * 2 * len(IDS) / 5)
    assert found.dropped.any()
    for at in range(len(found.layers)):
        for expert in range(5):
            asked = found.chosen[at, :, expert].nonzero()[0]
            assert found.dropped[at, asked, expert].tolist() == [i >= found.room for i in range(len(asked))]
    assert (found.load <= found.room).all()
    assert not (found.dropped & ~found.chosen).any()


def test_experts_that_choose_are_equally_busy():
    found = route(mixture(), IDS, RouterChange(top_k=2, routing="experts"))
    assert (found.load == 2 * len(IDS) // 5).all()
    assert (found.first[~found.taken.any(-1)] == -1).all()
    for place, first in np.ndenumerate(found.first):
        assert found.first_weight[place] == (found.weights[*place, first] if first >= 0 else 0.0)


def test_a_change_shares_the_weights_and_leaves_the_model_alone():
    model = mixture()
    before, other = route(model, IDS), rerouted(model, RouterChange(top_k=1))
    for name, tensor in model.state_dict().items():
        assert other.state_dict()[name].data_ptr() == tensor.data_ptr()
    route(model, IDS, RouterChange(top_k=1, noise=2.0))
    again = route(model, IDS)
    assert np.array_equal(before.weights, again.weights)
    same = route(model, IDS, RouterChange(top_k=2))
    assert np.array_equal(before.losses, same.losses)
    changed = route(model, IDS, RouterChange(top_k=1))
    assert np.array_equal(before.logits[0], changed.logits[0])  # the first router reads what it read before
    assert not np.array_equal(before.logits[1], changed.logits[1])


def test_noise_comes_from_its_seed_and_has_its_size():
    model = mixture()
    found = [route(model, IDS, RouterChange(noise=0.5, seed=seed)) for seed in (3, 3, 4)]
    assert np.array_equal(found[0].logits, found[1].logits)
    assert not np.array_equal(found[0].logits, found[2].logits)
    noise = noisy_scores(0.5, 0).function(torch.zeros(1, 400, 50))
    assert float(noise.std()) == pytest.approx(0.5, rel=0.03)


def test_agreement_counts_pairs():
    ids, first = [7, 8, 7, 8, 7], np.array([[0, 1, 0, 2, 1], [0, 0, 0, 0, -1]])
    found = agreement(ids, first)
    assert found.pairs == 4
    assert found.equal == pytest.approx([1 / 4, 2 / 4])
    assert found.all == pytest.approx([2 / 10, 6 / 10])
    assert np.isnan(agreement([1, 2], np.array([[0, 0]])).equal).all()
    assert np.isnan(agreement([1], np.array([[0]])).all).all()


def test_first_layers_without_experts_and_one_token():
    found = route(mixture(dense_layers=1), IDS[:1])
    assert found.layers == (1,)
    assert math.isnan(found.loss)


@pytest.mark.parametrize("compute", [lambda m: route(m, IDS), lambda m: sweep(m, IDS, (), ())])
def test_a_model_without_experts_is_refused(compute):
    with pytest.raises(ValueError, match="no experts"):
        compute(small.model())


@pytest.mark.parametrize(
    ("wrong", "limits"),
    [
        ({"top_k": 0}, "1 and 4,096"),
        ({"noise": -1.0}, "0 and 100"),
        ({"capacity": 0.0}, "0.01 and 1,000, or None"),
        ({"seed": -1}, "0 and 1,000,000"),
    ],
)
def test_a_change_is_checked(wrong, limits):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}=.* must be between {limits}"):
        RouterChange(**wrong)
    assert text_routing.RouterChange().top_k == 2


def test_loads_are_shares_of_tokens_and_of_choices():
    subject = small.model(experts=ExpertsConfig(n_experts=5, top_k=2), dense_layers=1, d_ff=16, n_layers=3)
    texts = [small.ids(1, n, seed=n)[0].tolist() for n in (3, 13, 20)]
    found = load_over_texts(subject, texts)
    assert found.tokens.shape == (2, 5), "the first layer is dense"
    name = "blocks.2.mlp.router.indices"
    chosen = [subject(torch.tensor([text]), capture=(name,)).activations[name] for text in texts]
    by_hand = [sum(int((choice == expert).sum()) for choice in chosen) / 36 for expert in range(5)]
    np.testing.assert_allclose(found.tokens[1], by_hand, atol=1e-6)
    np.testing.assert_allclose(found.tokens.sum(-1), 2, atol=1e-6)
    np.testing.assert_allclose(found.choices.sum(-1), 1, atol=1e-6)


def test_a_dense_model_is_refused():
    with pytest.raises(ValueError, match="has no experts to count"):
        load_over_texts(small.model(), [[1]])


def test_a_choice_among_groups_compares_probabilities_with_their_bias():
    values = small.WIRINGS["like DeepSeek-V3"]
    subject = small.model(**values, positions="rope")
    for block in subject.decoder.blocks:
        block.mlp.balance_bias.copy_(torch.tensor([0.0, 0.3, -0.2, 0.1, 0.2, -0.1]))
    found = route(subject, IDS)
    opened = set()
    for at in range(2):
        for place in range(len(IDS)):
            choice = text_routing.group_choice(subject, found, at, place)
            expected = found.probs[at, place] + subject.decoder.blocks[at].mlp.balance_bias.numpy()
            assert choice.compared == pytest.approx(expected)
            best = sorted(range(3), key=lambda group: -expected[2 * group : 2 * group + 2].sum())[:2]
            assert set(choice.groups) == set(best)
            assert not found.chosen[at, place][~choice.open].any()
            opened.add(choice.groups)
    assert len(opened) > 1
    assert text_routing.group_choice(rerouted(subject, RouterChange(routing="experts")), found, 0, 0) is None
    assert rerouted(subject, RouterChange(top_k=5)).config.experts.top_groups == 3
