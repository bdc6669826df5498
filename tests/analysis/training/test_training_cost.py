"""Days, money and energy by hand; published runs; and how far 6 N D is off."""

import pytest

from tfcore.analysis.model.flop_count import rule_errors
from tfcore.analysis.training.known_models import MODELS, KnownModel
from tfcore.analysis.training.training_cost import HARDWARE, RUNS, Plan, reached, training_cost
from tfcore.presets import gpt2_small, gpt3_175b

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
    ("change", "words"), [({"hardware": "x"}, "not one of a100"), ({"mfu": 1.5}, "mfu=1.5"), ({"pue": 0.9}, "pue=0.9")]
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


def test_published_models_are_dated_sourced_and_of_known_ratio():
    by_name = {model.name: model for model in MODELS}
    assert len(by_name) == len(MODELS) > 45
    assert by_name["Chinchilla"].ratio == pytest.approx(20)
    assert by_name["GPT-3"].flops == pytest.approx(3.15e23)
    assert by_name["DeepSeek-V3"].flops == pytest.approx(6 * 37e9 * 14.8e12), "only what a token uses"
    assert by_name["Llama 3 8B"].ratio == pytest.approx(1875)
    for model in MODELS:
        assert 2013 < model.year < 2026
        assert model.source
        assert (model.active is not None) <= (model.kind == "mixture")
        assert model.used <= model.parameters
        assert model.tokens is None or 1e9 < model.tokens < 1e14
    assert by_name["Chinchilla"].year == pytest.approx(2022 + 2.5 / 12)
    with pytest.raises(ValueError, match="carries no date"):
        _ = KnownModel("x", "dense", 1.0, None, "a letter").year


def test_the_share_that_published_runs_reached_is_that_of_the_table():
    shares = [6 * run.n * run.d / (run.hours * 3600 * HARDWARE[run.hardware].peak) for run in RUNS]
    assert reached() == pytest.approx((min(shares), max(shares)))
