"""Days, money and energy by hand; published runs; how far 6 N D is off; and what is said of them."""

import pytest

from tfcore.measures.flop_count import RuleError, rule_errors
from tfcore.presets import gpt2_small, gpt3_175b
from tfcore.views.training.scaling.measure.training_cost import HARDWARE, RUNS, Cost, Plan, PublishedRun, training_cost
from tfcore.views.training.scaling.say.training_cost import (
    PlannedCost,
    duration,
    energy,
    furthest_from_rule,
    one_gpu,
    planned_cost,
    reached_peak,
)

PLAN = {"n": 175e9, "d": 300e9, "hardware": "a100", "count": 1024, "mfu": 0.5, "price": 2.0, "pue": 1.1}


def test_gpt3_on_a_thousand_gpus_by_hand():
    cost = training_cost(Plan(**PLAN))
    assert cost.flops == 3.15e23
    assert cost.days == pytest.approx(3.15e23 / (1024 * 312e12 * 0.5) / 86400)
    assert cost.days == pytest.approx(22.8, abs=0.05)
    assert cost.hours == pytest.approx(cost.days * 24 * 1024)
    assert cost.dollars == pytest.approx(2 * cost.hours)
    assert cost.kwh == pytest.approx(cost.hours * 0.4 * 1.1)


def test_twice_the_accelerators_take_half_the_time_and_the_same_money():
    one, two = (training_cost(Plan(**PLAN | {"count": count})) for count in (64, 128))
    assert one.days == pytest.approx(2 * two.days)
    assert (one.dollars, one.kwh) == (two.dollars, two.kwh)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hardware": "x"}, "not one of a100"),
        ({"mfu": 1.5}, "mfu=1.5"),
        ({"pue": 0.9}, "pue=0.9"),
        ({"n": 0}, "n=0"),
        ({"count": 0}, "count=0"),
        ({"mfu": 0.0}, "mfu=0"),
        ({"price": -0.1}, "price=-0.1"),
    ],
)
def test_plans_that_cannot_be(change, words):
    with pytest.raises(ValueError, match=words):
        Plan(**PLAN | change)


def test_published_runs_reach_what_their_papers_report():
    reached = {run.name: run.mfu for run in RUNS}
    assert all(0.3 < mfu < 0.5 for mfu in reached.values())
    # arXiv:2302.13971, section 2.4: about 380 tokens a second and GPU for the model of 65 billion
    assert reached["LLaMA 65B"] == pytest.approx(380 * 6 * 65.2e9 / HARDWARE["a100"].peak, rel=0.03)


def test_the_rule_leaves_out_scores_and_the_unembedding():
    found = rule_errors({"small": gpt2_small(), "large": gpt3_175b()}, 1024)
    d, layers, vocab = 768, 12, 50_257
    weights = layers * 12 * d * d + vocab * d  # every weight that multiplies, the tied table once
    by_hand = 3 * (2 * weights + layers * 4 * d * 1024)
    assert found["small"].exact == by_hand
    assert found["small"].of_all == pytest.approx(by_hand / (6 * 124_439_808))
    assert found["large"].of_all == pytest.approx(1, abs=0.03)
    assert found["small"].without_embeddings > found["small"].of_all


def test_the_share_that_published_runs_reached_is_that_of_the_table():
    shares = [6 * run.n * run.d / (run.hours * 3600 * HARDWARE[run.hardware].peak) for run in RUNS]
    found = reached_peak()
    assert (found.values["lowest"], found.values["highest"]) == pytest.approx((min(shares), max(shares)))
    assert str(found) == (
        "The peak is never reached: the published runs in the table above come out at 32% to 48% of it (MFU)."
    )
    half = PublishedRun("x", 1e9, 312e12 * 1800 * 1e3 / 6e9, "a100", 1_000, "hand")
    assert half.numbers == ("1,000", "50%")


@pytest.mark.parametrize(
    ("days", "words"),
    [
        (3000 / 1440, "2.1 days"),
        (10.4, "10 days"),
        (1.5, "36 hours"),
        (3 / 24, "3.0 hours"),
        (1.9 / 24, "114 minutes"),
        (729, "729 days"),
        (731, "2.0 years"),
        (365_250, "1,000 years"),
    ],
)
def test_times_in_the_largest_unit_of_which_there_are_two(days, words):
    assert duration(days) == words


def test_energies_in_words():
    assert [energy(kwh) for kwh in (70.66, 2_500, 22.3e6)] == ["70.7 kWh", "2.5 MWh", "22.3 GWh"]


def test_a_plan_on_other_accelerators():
    found = planned_cost(Plan(**PLAN))
    assert found.cost == training_cost(Plan(**PLAN))
    assert list(found.days) == list(HARDWARE)
    for key, days in found.days.items():
        assert days == pytest.approx(training_cost(Plan(**PLAN | {"hardware": key})).days)


def test_what_is_said_of_a_plan():
    cost = Cost(flops=3.14e23, days=22.8, hours=560_897, dollars=1_121_795, kwh=246_795)
    found = PlannedCost(Plan(**PLAN), cost, {"a100": 22.8, "rtx4090": 43.1})
    assert str(found) == (
        "3.1 × 10²³ operations at 50% of the peak. With 1,024: A100 SXM 80 GB 23 days; RTX 4090 43 days. With A100 SXM "
        "80 GB: 561 k accelerator hours, $1.12 M, 246.8 MWh."
    )
    assert found.numbers == (
        ("23 days", "1,024 × A100 SXM 80 GB"),
        ("561 k", "3.1 × 10²³ operations"),
        ("$1.12 M", "$2.00 per hour"),
        ("246.8 MWh", "400 W each, PUE 1.10"),
    )


def test_one_gpu_for_a_budget():
    assert round(1e22 / (989.4e12 * 0.4) / 86400) == 292
    assert str(one_gpu(1e22)) == "10²² operations: 292 days of one H100 at 40 % of its peak."


@pytest.mark.parametrize(("far", "name"), [((1.3, 0.9, 1.1), "a"), ((1.3, 0.6, 1.1), "b"), ((1.0, 1.1, 1.2), "c")])
def test_the_model_furthest_from_the_rule_may_be_below_it(far, name):
    errors = {key: RuleError(1e9, of_all, 9.0) for key, of_all in zip("abc", far, strict=True)}
    found = furthest_from_rule(errors, 2048)
    assert found.values == {"models": 3, "seq": 2048, "model": name, "times": far["abc".index(name)]}


def test_what_is_said_of_the_furthest():
    assert str(furthest_from_rule({"GPT-2 small": RuleError(1e9, 1.304, 9.0)}, 2048)) == (
        "Of 1 models on sequences of 2,048 tokens, GPT-2 small is furthest, 1.30 times with embeddings in N."
    )


def test_the_unit_of_a_duration():
    words = ["2.0 hours", "2.0 days", "9.4 days", "10 days", "2.0 years"]
    assert [duration(days) for days in (1 / 12, 2, 9.4, 10, 730.5)] == words


def test_the_unit_of_an_energy():
    assert [energy(value) for value in (999, 1e3, 1e6)] == ["999.0 kWh", "1.0 MWh", "1.0 GWh"]


@pytest.mark.usefixtures("unchecked")
def test_a_training_may_use_the_whole_peak_for_nothing_in_a_perfect_hall():
    plan = {"n": 1.0, "d": 1.0, "hardware": "h100", "count": 1, "mfu": 1.0, "price": 0.0, "pue": 1.0}
    Plan(**plan)
    for wrong in ({"mfu": 1.01}, {"mfu": 0.0}, {"price": -0.01}, {"pue": 0.99}, {"count": 0}):
        with pytest.raises(ValueError, match="must be above 0"):
            Plan(**plan | wrong)
