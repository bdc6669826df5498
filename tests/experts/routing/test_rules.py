"""Other routing rules: a sweep is its runs, and what is said of a change is what loops find."""

import math

import pytest

from tests import small
from tests.experts.routing.random_routing import IDS, TOKENS, routed
from tfcore.measures.one_text import UsedTokens
from tfcore.part_configs import ExpertsConfig
from tfcore.views.experts.routing.measure.rules import RoutingSweep, loss_changes, sweep
from tfcore.views.experts.routing.measure.text_routing import RoutedText, RouterChange, route
from tfcore.views.experts.routing.say.rules import (
    RuleEffect,
    RuleTotals,
    largest_loss_change,
    rule_effect,
    rule_totals,
    sweep_ends,
)

TEXT = small.ids(batch=1, seq=19).flatten().tolist()


def mixture(**values):
    return small.model(experts=ExpertsConfig(**({"n_experts": 5, "top_k": 2, "d_expert": 12} | values)), vocab_size=61)


def test_a_sweep_is_its_runs():
    model = mixture()
    found = sweep(model, TEXT, (0.5, 1.0), (1.0,), seed=2)
    assert found.top_k == (1, 2, 3, 4)
    assert found.tokens[1] == route(model, TEXT).loss
    assert found.experts[2] == route(model, TEXT, RouterChange(top_k=3, routing="experts")).loss
    assert found.cut == tuple(route(model, TEXT, RouterChange(capacity=factor)).loss for factor in (0.5, 1.0))
    assert found.noisy == (route(model, TEXT, RouterChange(noise=1.0, seed=2)).loss,)


def test_the_token_that_a_change_costs_most():
    before, after = routed(0), routed(1, drop=0.4)
    growth, lost = loss_changes(before.routing, after.routing, 1)
    for i in range(len(IDS)):
        wanted = float(after.routing.losses[i - 1] - before.routing.losses[i - 1]) if i else 0.0
        assert growth[i] == pytest.approx(wanted)
        taken = after.routing.chosen[1, i - 1] & ~after.routing.dropped[1, i - 1]
        assert lost[i] == (i > 0 and not any(taken))
    assert lost.any()
    found, changes = largest_loss_change(before, after), growth.tolist()
    worst = changes.index(max(changes))
    largest, mean = max(changes), sum(changes[1:]) / (len(IDS) - 1)
    assert str(found) == (
        f"Change of the loss by token: worst is '{TOKENS[worst].replace(' ', '·')}' ({worst}) with {largest:+.2f} "
        f"nats; the mean is {mean:+.2f}."
    )


@pytest.mark.parametrize("n", [1, 2])
def test_the_mean_change_is_that_of_the_tokens_that_are_predicted(n):
    read, model = UsedTokens(TEXT[:n], TOKENS[:n], n), mixture()
    before, after = (RoutedText(read, route(model, read.ids, change)) for change in (None, RouterChange(top_k=1)))
    wanted = 0.0 if n == 1 else after.routing.loss - before.routing.loss
    assert largest_loss_change(before, after).values["mean"] == pytest.approx(wanted)


def test_the_effect_of_a_change_of_rules():
    before, after = routed(0).routing, routed(1, room=2, drop=0.4).routing
    found = rule_effect(before, after, RouterChange(capacity=0.5), 1)
    moved = [
        sum(abs(float(a - b)) for a, b in zip(after.logits[at].flat, before.logits[at].flat, strict=True)) / 44
        for at in (0, 2)
    ]
    assert found.moved == ((1, pytest.approx(moved[0])), (3, pytest.approx(moved[1])))
    assert (found.layer, found.room, found.dropped) == (2, 2, sum(after.dropped[1].flat))
    assert (found.before, found.after) == (pytest.approx(before.losses.mean()), pytest.approx(after.losses.mean()))
    assert found.taken is None
    assert rule_effect(before, after, RouterChange(noise=1.0), 1).moved == ()
    chosen_by_experts = rule_effect(before, after, RouterChange(routing="experts"), 2)
    assert chosen_by_experts.taken == max(int(after.taken[2, :, e].sum()) for e in range(4))


AGAIN = "The whole model was run again with these rules in every layer, with the same weights. "


@pytest.mark.parametrize(
    ("effect", "words"),
    [
        (
            RuleEffect(((0, 0.0), (3, 0.25)), 1, 9, 29, None, 1.5, 2.25),
            "Scores of layer 0 are exactly the same; those of layer 3, which read what other experts wrote, moved by "
            "0.25. Each expert has a capacity of 9 tokens; in layer 1 29 choices are dropped. The loss of this text "
            "goes from 1.50 to 2.25 nats per token.",
        ),
        (
            RuleEffect(((2, 0.5),), 2, None, 0, 19, 1.5, 1.25),
            "Scores of layer 2 are moved by 0.50. In layer 2 each expert takes 19 tokens. The loss of this text goes "
            "from 1.50 to 1.25 nats per token.",
        ),
        (
            RuleEffect((), 0, None, 0, None, math.nan, math.nan),
            "One token has nothing to predict, so there is no loss.",
        ),
    ],
)
def test_the_sentence_of_a_change(effect, words):
    assert str(effect) == AGAIN + words


def test_totals_of_all_layers():
    before, after = routed(0, drop=0.1).routing, routed(1, drop=0.6).routing
    found = rule_totals(before, after)
    cells = [(at, token) for at in range(3) for token in range(len(IDS))]
    assert (found.tokens, found.layers, found.chosen) == (len(IDS), 3, 3 * len(IDS) * 2)
    assert found.dropped == sum(int(after.dropped[cell].sum()) for cell in cells) > 0
    taken = [int((after.chosen[cell] & ~after.dropped[cell]).sum()) for cell in cells]
    assert (found.alone, found.computed) == (taken.count(0), sum(taken))
    assert found.trained == found.chosen - int(before.dropped.sum())
    assert RuleTotals(1, 1, 1, 0, 0, 1, 1, 1.5, 1.25).loss == ("1.250", "-0.250")


def test_the_ends_of_a_sweep():
    found = RoutingSweep(
        (1, 2, 3), (2.5, 2.0, 1.875), (3.0, 2.0, 1.5), (0.5, 1.0), (4.0, 2.25), (1.0, 1.5, 2.0), (2.5, 3.0, 3.5)
    )
    assert str(sweep_ends(found, 2, 2.0)) == (
        "Loss over experts per token, capacity and noise, 11 runs of the model: with 1 expert 2.50, with 2 as trained "
        "2.00; at capacity 0.5 4.00; with noise 2 3.50 nats per token. Of the numbers of experts, 3 is best on this "
        "text; trained with 2."
    )
