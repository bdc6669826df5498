"""Where the words of a number change: exactly at the limit, and one step beyond."""

from functools import partial
from math import inf
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tfcore.measures.information import cross_entropy, entropy
from tfcore.measures.quantities import amount, compact, counted, few_digits, gigabytes, in_ten, percent, power, scale
from tfcore.measures.scaling_laws import _in_latex
from tfcore.measures.timing import milliseconds
from tfcore.views.block.normalisation.say import GradientFall
from tfcore.views.experts.balance.measure import N_EXPERTS
from tfcore.views.experts.balance.say import CROWDED, EVEN, RemedyEffect
from tfcore.views.experts.routing.measure.sizes import ExpertSizes
from tfcore.views.familiarity import FAR, LEAST, Familiarity
from tfcore.views.foundations.attention.measure.similarity import TokenSimilarity
from tfcore.views.foundations.attention.measure.steps import softmax_at
from tfcore.views.foundations.heads.say import RolloutOnFirst
from tfcore.views.foundations.recurrence.say import ParallelGain, _size
from tfcore.views.inference.generation.say import SAME_SCORE, BeamScores
from tfcore.views.inference.long_context.measure.traffic import theorem
from tfcore.views.inference.long_context.say.timing import FusedSpeed
from tfcore.views.inference.long_context.say.traffic import Moved
from tfcore.views.inference.quantisation.say import FormatSpeeds
from tfcore.views.inside.in_context.measure.accuracy import Interval
from tfcore.views.inside.in_context.measure.live import Answer
from tfcore.views.inside.in_context.say import LabelsMatter, StepsHelp
from tfcore.views.model.modern.measure import LossEffect
from tfcore.views.pitfall_remarks import _times
from tfcore.views.reference.check.say import answer_text, off_by
from tfcore.views.reference.folklore.measure.claim import compare
from tfcore.views.start.walkthrough.say.costs import _percent
from tfcore.views.training.finetuning.measure.preference import REPEATED, SURPRISING, RewardHacking
from tfcore.views.training.information.measure.compression import unigram
from tfcore.views.training.information.measure.entropy import token_loss
from tfcore.views.training.information.say.text_bits import PerplexityLandmarks, TokenSurprisal
from tfcore.views.training.lab.say.runs import RISEN, LowestLoss
from tfcore.views.training.scaling.measure.training_cost import Plan
from tfcore.views.training.scaling.say.compute_budget import tokens_per_parameter
from tfcore.views.training.scaling.say.law_curves import DueToSizeAndData
from tfcore.views.training.scaling.say.over_training import OverTraining
from tfcore.views.training.scaling.say.training_cost import duration, energy

pytestmark = pytest.mark.usefixtures("unchecked")


def told(kind: type, name: str, **values: Any) -> Any:
    """A property of something that has these values alone."""
    return vars(kind)[name].fget(SimpleNamespace(**values))


@pytest.mark.parametrize(
    ("words", "values", "expected"),
    [
        (amount, (999.5, 9_995, 99_900, 99_950), ["1.00 kB", "10.0 kB", "99.9 kB", "100 kB"]),
        (partial(counted, what="layer"), (0, 1, 2, 1024), ["0 layers", "1 layer", "2 layers", "1,024 layers"]),
        (gigabytes, (1e9, 1e11), ["1.0 GB", "100 GB"]),
        (power, (0, inf, 0.5), ["0", "inf", "5.0 × 10⁻¹"]),
        (in_ten, (99_999.99, 100_000, 999_999.5), ["99,999.99", "100,000", "10⁶"]),
        (percent, (0.099, 0.0995), ["9.9 %", "10 %"]),
        (compact, (0.01, 999.5, 1000), ["0.010", "999.500", "1.0e+03"]),
        (few_digits, (0.001, 99, 100, 99_999, 100_000), ["0.001", "99", "100", "99,999", "1.0e+05"]),
        (partial(_times, small=1), (9.9, 10, 99_999, 1e5), ["9.9 times", "10 times", "99,999 times", "1e+05 times"]),
        (_size, (0.01, 999.5, 1000), ["0.010", "999.500", "10³"]),
        (partial(_percent, 1), (1000, 1001), ["0.1%", "below 0.1%"]),
        (milliseconds, (0.0994, 0.999, 0.9995), ["99.4 ms", "999 ms", "1,000 ms"]),
        (
            _in_latex,
            (0.001, 0.01, 999, 999.5, 99_999, 1e5),
            [r"1.00 \cdot 10^{-3}", "0.01", "999", "1{,}000", "99{,}999", r"1.00 \cdot 10^{5}"],
        ),
        (tokens_per_parameter, (99.4, 99.5), ["99.4", "100"]),
        (duration, (1 / 12, 2, 9.4, 10, 730.5), ["2.0 hours", "2.0 days", "9.4 days", "10 days", "2.0 years"]),
        (energy, (999, 1e3, 1e6), ["999.0 kWh", "1.0 MWh", "1.0 GWh"]),
        (partial(answer_text, unit=""), (999.5, 1000.5, 1e12), ["999.5", "1,000", "1.000e+12"]),
    ],
)
def test_the_form_of_a_number(words, values, expected):
    assert [words(value) for value in values] == expected


def test_an_axis_has_the_largest_unit_of_which_there_are_one_and_a_half():
    assert scale(1500, "decimal") == (1000.0, "kB")
    assert scale(1499, "decimal") == (1.0, "B")
    assert scale(1e30, "binary") == (2.0**60, "EiB")


@pytest.mark.parametrize(
    ("value", "answer", "words"),
    [
        (0, 5, "That is not it."),
        (5, 0, "That is not it."),
        (0.9, 1, "That is too small by 11%."),
        (0.5, 1, "That is too small by a factor of 2."),
        (2.5, 1, "That is too large by a factor of 2.5."),
    ],
)
def test_how_far_an_answer_is_off(value, answer, words):
    assert str(off_by(value, answer)) == words


def test_equal_times_are_once_as_quick():
    assert "fused attention is 1.0 times quicker" in str(FusedSpeed(8, 1.0, 1.0, None, 0.0))
    times = (("rnn", 1.0), ("lstm", 2.0), ("transformer", 1.0))
    assert "1.0 times as quick" in str(ParallelGain(8, times, times))
    assert "1.0 times as fast" in str(FormatSpeeds(8, 1.0, {"float16": (1.0, 0.5)}))
    assert "1.5 times slower" in str(FormatSpeeds(8, 1.0, {"float16": (1.5, 0.5)}))


def test_equal_amounts_are_no_more():
    assert Moved(1, 1, 10, 10, 1.0, 1.0).ratio == "1.00 × less"
    assert (BeamScores(1, -1.0, -1.0 - SAME_SCORE / 2).relation, BeamScores(1, -1.0, -2.0).relation) == (
        "the same as",
        "better than",
    )
    assert not LossEffect("RMSNorm", -0.25, 0.25).clear
    equal = SimpleNamespace(size=0.5, data=0.5)
    assert DueToSizeAndData(equal, equal).limit == "Parameters"


def test_the_theorem_holds_from_one_vector_in_sram_to_all():
    within = [theorem(64, 8, sram, "queries", False) < inf for sram in (7, 8, 512, 513)]
    assert within == [False, True, True, False]


def test_intervals_that_touch_overlap():
    def of(low, high):
        return Interval(0.5, low, high)

    for high, verdict in ((0.3, "the intervals overlap"), (0.2, "the intervals do not overlap")):
        below, above = of(0.1, high), of(0.3, 0.4)
        assert verdict in str(LabelsMatter(8, 50, above, below, 3))
        for both in ((below, above), (above, below)):
            assert verdict in str(StepsHelp("smollm2", 50, *both, (1.0, 9.0), (1e9, 9e9)))


def test_shares_of_nearly_all():
    shares = [str(RolloutOnFirst("a", "b", 0, share, 2)).partition(": ")[2] for share in (0.99, 0.9999, 0.99995)]
    assert [words.partition(" on ")[0] for words in shares] == ["99%", "99.99%", "99.99% or more"]


def test_one_in_so_many_tokens():
    for bits, like in ((6.0, "64.0"), (6.5, "90"), (29.9, "1,000,000,000"), (30.0, "2^30")):
        assert f"one of {like} equally" in str(TokenSurprisal(1, "a", bits, 1, 0.1))
    assert "perplexity of 1,000 is" in str(PerplexityLandmarks(1000.0, 1.0, 64))
    assert "perplexity of 999.0 is" in str(PerplexityLandmarks(999.0, 1.0, 64))


def test_an_answer_that_is_not_the_most_probable_token():
    def said(probability, rank):
        found = Answer("text", 5, 2, "right", "q", "a", "b", probability, rank, ("x", "b"), (0.5, 0.1), "a")
        return str(found).partition("has probability ")[2]

    assert said(0.001, 1) == "0.1%: the most probable token."
    assert said(0.0009, 2) == "less than 0.1%: rank 2; the most probable is 'x', 50.0%."


def test_what_is_certain_costs_nothing_and_not_minus_nothing():
    certain = np.array([1.0, 0.0])
    for bits in (token_loss(1.0), entropy(certain), cross_entropy(certain, certain), unigram(b"aa")):
        assert f"{bits:g}" == "0"


def test_a_claim_is_judged_at_its_limits():
    for found, verdict in (((1.25,), "true"), ((1.5,), "roughly"), ((1.5, 2.0), "depends"), ((2.0,), "wrong")):
        cases = {str(i): value for i, value in enumerate(found)}
        assert compare(1.0, cases, "", exact=0.25, rough=0.5).verdict == verdict


def test_what_saves_nothing_never_pays():
    def pays(saved):
        flops = {"best": SimpleNamespace(flops=1.0), "same_loss": SimpleNamespace(flops=3.0)}
        return told(OverTraining, "pays_after", saved_per_token=saved, **flops)

    assert [pays(saved) for saved in (-1.0, 0.0, 0.5)] == [inf, inf, 4.0]


@pytest.mark.parametrize(
    ("plain", "largest", "entropy", "verdict"),
    [
        (0.9, CROWDED, 1.0, "that is no cure"),
        (1.9 / N_EXPERTS, 0.1, 1.0, "there was little to cure"),
        (2 / N_EXPERTS, 0.1, EVEN, "better, not even"),
        (2 / N_EXPERTS, 0.1, EVEN + 0.01, "the load is even"),
    ],
)
def test_what_a_remedy_did_to_the_load(plain, largest, entropy, verdict):
    ends = {"plain": SimpleNamespace(largest=plain), "cured": SimpleNamespace(largest=largest, entropy=entropy)}
    assert told(RemedyEffect, "verdict", **ends) == verdict


def test_the_root_of_a_ratio_of_depths():
    assert told(GradientFall, "root", deep=64, shallow=4) == 4.0


def test_a_million_million_sets_are_a_power():
    words = [told(ExpertSizes, "combination_words", combinations=n) for n in (10**12 - 1, 10**12)]
    assert words == ["999,999,999,999", "10¹²"]


def test_a_softmax_needs_a_temperature_and_a_scale_an_end():
    with pytest.raises(ValueError, match=r"temperature=0\.0 must be above 0"):
        softmax_at(torch.zeros(1, 1, 2), 0.0)
    for products, end in ((np.zeros((2, 2)), 1e-6), (np.array([[9.0, 0.5], [-0.5, 9.0]]), 0.5)):
        assert told(TokenSimilarity, "largest_between", products=products) == end


def test_a_text_is_strange_from_a_length_on_and_above_a_ratio():
    strange = [Familiarity("a", bits, 1.0, size).is_strange for bits, size in ((FAR + 1, LEAST), (FAR, LEAST))]
    assert strange == [True, False]
    assert not Familiarity("a", FAR + 1, 1.0, LEAST - 1).is_strange


def test_a_training_may_use_the_whole_peak_for_nothing_in_a_perfect_hall():
    plan = {"n": 1.0, "d": 1.0, "hardware": "h100", "count": 1, "mfu": 1.0, "price": 0.0, "pue": 1.0}
    Plan(**plan)
    for wrong in ({"mfu": 1.01}, {"mfu": 0.0}, {"price": -0.01}, {"pue": 0.99}, {"count": 0}):
        with pytest.raises(ValueError, match="must be above 0"):
            Plan(**plan | wrong)


def test_a_loss_has_risen_and_a_reward_is_hacked_beyond_a_margin():
    assert [LowestLoss(1, 1.0, 1.0 + rise, 1.0).memorises for rise in (RISEN, 1.5 * RISEN)] == [False, True]

    def sampled(reward, surprise, repetition):
        return SimpleNamespace(reward=reward, surprise=surprise, repetition=repetition)

    before = sampled(0.0, 1.0, 0.0)
    for after, rose, worse in (
        (sampled(0.1 * 0.1, SURPRISING, REPEATED), False, False),
        (sampled(0.02, SURPRISING + 1, 0.0), True, True),
        (sampled(0.02, 1.0, REPEATED + 0.1), True, True),
    ):
        found = RewardHacking(before, after)
        assert (found.rose, found.worse) == (rose, worse)
