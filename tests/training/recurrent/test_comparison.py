"""Findings of trainings side by side, what ships of them, and what the page says about these."""

import json
from dataclasses import replace

import pytest

from tfcore.training.alike import Comparison, ComparisonEvaluation, Repeats, repeats_of
from tfcore.training.recurrent import comparison
from tfcore.training.recurrent.comparison import BEGIN, TASKS, ComparisonConfig
from tfcore.training.recurrent.networks import KINDS
from tfcore.training.recurrent.side_by_side import material
from tfcore.views import alike
from tfcore.views.foundations.recurrence import say


def look(step, *accuracy):
    return ComparisonEvaluation(
        step=step,
        seconds=(step * 0.1, step * 0.2, step * 0.3),
        loss=(3.0, 2.0, 1.0),
        held_out=(3.1, 2.1, 0.001234),
        accuracy=accuracy,
        by_place=((0.1, 0.9, 0.2), (0.3, 0.9, 0.4), (0.5, 0.9, 1.0)),
    )


FOUND = Comparison(
    ComparisonConfig(), (look(1, 0.0, 0.1, 0.2), look(10, 0.1, 0.8, 0.9), look(20, 0.2, 0.9, 1.0)), (1, 2)
)


def test_findings_are_read_off_the_looks():
    now = alike.held_out_accuracy(FOUND)
    assert str(now) == (
        "Right tokens on held-out rows after 20 steps: RNN 20.0% (loss 3.1), LSTM 90.0% (loss 2.1), Transformer 100.0% "
        "(loss 0.0012)."
    )
    when = alike.learned(FOUND)
    assert when.when == (("rnn", 0, 0.0), ("lstm", 10, 2.0), ("transformer", 10, 3.0))
    assert str(when) == (
        "80% right: the LSTM after 10 steps (2.0 s), the Transformer after 10 steps (3.0 s); not within 20 steps: the "
        "RNN."
    )
    none = alike.learned(replace(FOUND, looks=FOUND.looks[:1]))
    assert str(none) == "None has 80% right within 1 steps."
    assert str(say.accuracy_by_place(FOUND, "copy")) == (
        "Right for the first letter and for the last: RNN 10% and 20%, LSTM 30% and 40%, Transformer 50% and 100%."
    )


@pytest.mark.parametrize("task", TASKS)
def test_what_ships_is_whole_and_comes_back_from_json(task):
    found = comparison.kept_comparison(task)
    assert found.config == BEGIN[task]
    assert found.last.step == found.config.steps
    assert len(found.gradients) == len(KINDS)
    assert comparison.from_json(json.loads(json.dumps(comparison.to_json(found)))).looks == found.looks
    assert all(len(row) == len(found.places) for row in found.last.by_place)


def accuracy(task):
    return dict(zip(KINDS, comparison.kept_comparison(task).last.accuracy, strict=True))


def at(task, step):
    looks = comparison.kept_comparison(task).looks
    return dict(zip(KINDS, next(one for one in looks if one.step >= step).accuracy, strict=True))


def test_what_the_page_says_of_copies_sums_and_a_text():
    copied, sums, text = accuracy("copy"), accuracy("addition"), accuracy("characters")
    assert copied["transformer"] == 1
    assert copied["rnn"] < 0.06  # one of 26 letters is 0.04
    assert 0.4 < copied["lstm"] < 0.6
    assert sums["rnn"] < 1 / 31 > sums["lstm"]
    assert sums["transformer"] > 5 / 31
    assert max(comparison.kept_comparison("addition").last.loss[:2]) < 0.15  # memorised
    assert accuracy("addition")["rnn"] == accuracy("addition")["lstm"] == 0
    assert text["rnn"] > text["lstm"] > text["transformer"]
    assert at("characters", 60)["rnn"] > at("characters", 60)["lstm"] > at("characters", 60)["transformer"]


@pytest.mark.parametrize("task", TASKS)
def test_repeats_begin_with_the_comparison_that_is_shown(task):
    kept, found = comparison.kept_repeats(task), comparison.kept_comparison(task)
    assert kept.seeds == (0, 1, 2)
    assert kept.accuracy[0] == found.last.accuracy
    assert kept.by_place[0] == found.last.by_place
    assert repeats_of([found]) == Repeats((0,), kept.accuracy[:1], kept.by_place[:1])


def test_the_spread_over_seeds():
    repeats = Repeats((0, 1, 5), ((0.1, 0.9, 1.0), (0.3, 0.9, 0.2), (0.2, 0.9, 0.6)), ())
    found = alike.seed_spread(repeats, ComparisonConfig())
    assert found.values["ranges"] == {"rnn": (0.1, 0.3), "lstm": (0.9, 0.9), "transformer": (0.2, 1.0)}
    assert str(found) == (
        "Over 3 seeds of weights and batches: RNN 10% to 30%, LSTM 90%, Transformer 20% to 100% right at the end."
    )


def test_recall_over_seeds_is_counted():
    places = (((0.9, 0.5), (1.0, 1.0), (0.9, 1.0)), ((0.5, 0.5), (1.0, 0.9), (0.1, 0.3)))
    repeats = Repeats((0, 4), ((0.7, 1.0, 0.8), (0.5, 0.95, 0.2)), places)
    found = say.recall_over_seeds(repeats)
    counted = [found.values[name] for name in ("seeds", "whole", "nearer", "learned", "least")]
    assert counted == [2, 1, 1, 1, 0.2]
    kept = say.recall_over_seeds(comparison.kept_repeats("recall"))
    assert str(kept) == (
        "At the end the LSTM has every letter right with 3 of 3 seeds. The RNN has more right at the shortest distance "
        "than at the longest with 3 of 3 seeds. The Transformer has 80% or more right with 2 of 3 seeds, and 12% with "
        "the seed where it has fewest."
    )


def test_what_the_page_says_of_all_seeds():
    copied, sums, text, recalled = (
        [dict(zip(KINDS, shares, strict=True)) for shares in comparison.kept_repeats(task).accuracy]
        for task in ("copy", "addition", "characters", "recall")
    )
    assert all(one["transformer"] == 1 and one["rnn"] < 0.06 and 0.4 < one["lstm"] < 0.6 for one in copied)
    assert all(one["transformer"] > 0.3 and max(one["rnn"], one["lstm"]) < 1 / 31 for one in sums)
    assert all(one["rnn"] > one["lstm"] > one["transformer"] for one in text)
    assert all(one["lstm"] == 1 for one in recalled)
    assert sorted(one["transformer"] > 0.9 for one in recalled) == [False, True, True]
    assert min(one["transformer"] for one in recalled) < 0.15  # not begun
    for by_network in comparison.kept_repeats("recall").by_place:
        assert by_network[0][0] > by_network[0][-1]  # the RNN is better at the shortest distance than at the longest


def test_what_the_page_says_of_one_letter():
    found, early = comparison.kept_comparison("recall"), at("recall", 300)
    assert early["lstm"] > 0.99
    assert early["lstm"] > early["rnn"] > early["transformer"]
    rnn = next(one for one in found.looks if one.accuracy[0] >= 0.4).by_place[0]
    assert sum(rnn[:3]) / 3 > 0.15 + sum(rnn[-3:]) / 3  # better at short distances than at long ones
    assert found.last.by_place[0][0] > 0.1 + found.last.by_place[0][-1]
    assert min(found.last.by_place[2]) > 0.99
    assert found.last.seconds[2] > max(found.last.seconds[:2])  # a step of the Transformer takes longer


def test_the_most_tokens_are_allowed():
    assert ComparisonConfig(steps=100, length=25, rows=180).tokens == comparison.MOST_TOKENS


def test_tokens_that_a_network_reads_are_those_of_a_row():
    for task in TASKS:
        config = replace(BEGIN[task], rows=2)
        assert material(config).batch(0).ids.shape == (2, config.seq)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"length": 100}, "length=100 must be between 4 and 48"),
        ({"steps": 101, "length": 25, "rows": 180}, "take 100 steps at most"),
        ({"steps": 1_500, "length": 24}, "would take more than about a minute; take 585"),
    ],
)
def test_what_cannot_be_is_refused(values, problem):
    with pytest.raises(ValueError, match=problem):
        ComparisonConfig(**values)
