"""Every sentence with numbers that are all different, and where its words change."""

import pytest

from tfcore.views.inside.in_context.measure.accuracy import Interval
from tfcore.views.inside.in_context.measure.one_prompt import Answer
from tfcore.views.inside.in_context.say import Accuracy, HeadsAgree, LabelsMatter, StepsHelp


def test_intervals_that_touch_overlap():
    def of(low, high):
        return Interval(0.5, low, high)

    for high, verdict in ((0.3, "the intervals overlap"), (0.2, "the intervals do not overlap")):
        below, above = of(0.1, high), of(0.3, 0.4)
        assert verdict in str(LabelsMatter(8, 50, above, below, 3))
        for both in ((below, above), (above, below)):
            assert verdict in str(StepsHelp("smollm2", 50, *both, (1.0, 9.0), (1e9, 9e9)))


def test_an_answer_that_is_not_the_most_probable_token():
    def said(probability, rank):
        found = Answer("text", 5, 2, "right", "q", "a", "b", probability, rank, ("x", "b"), (0.5, 0.1), "a")
        return str(found).partition("has probability ")[2]

    assert said(0.001, 1) == "0.1%: the most probable token."
    assert said(0.0009, 2) == "less than 0.1%: rank 2; the most probable is 'x', 50.0%."


NEAR, FAR = Interval(0.5, 0.4, 0.6), Interval(0.25, 0.125, 0.375)
SENTENCES = [
    (
        Accuracy("smollm2", "capitals", "right", 3, NEAR, FAR, 60, 0.0625),
        "smollm2, capitals, labels right: right in 50% (40% to 60%) of the prompts after 3 examples, in 25% (12% to "
        "38%) without any; a guess among the task's answers is right in 6%. 60 prompts, 95 % intervals.",
    ),
    (
        Accuracy("smollm2", "capitals", "random", 0, FAR, FAR, 60, 0.0625),
        "smollm2, capitals, labels random: right in 25% (12% to 38%) of the prompts without examples; a guess among "
        "the task's answers is right in 6%. 60 prompts, 95 % intervals.",
    ),
    (
        HeadsAgree(24, {(3, 0): 2.5, (1, 2): 0.25}, 8, 0.75, 6, 2, 1.5),
        "Fall of the right answer's log-probability when a head alone is zero-ablated, beside its induction score, "
        "of 24 heads (8 exact, the others estimated). Most: 3.0 +2.50, 1.2 +0.25 nats. Rank correlation of the two: "
        "0.75. Of the 6 with the largest fall 2 are among the 6 with the highest induction score; by chance it would "
        "be 1.5.",
    ),
    (
        HeadsAgree(24, {(3, 0): 2.5, (1, 2): 0.25}, 8, None, 6, 2, 1.5),
        "Fall of the right answer's log-probability when a head alone is zero-ablated, beside its induction score, "
        "of 24 heads (8 exact, the others estimated). Most: 3.0 +2.50, 1.2 +0.25 nats. Of the 6 with the largest "
        "fall 2 are among the 6 with the highest induction score; by chance it would be 1.5.",
    ),
    (
        Answer("x", 9, 1, "random", "Italy", "Rome", " Rome", 0.25, 2_050, (" Paris",), (0.5,), "Paris"),
        "After 1 example, labels random, the right answer to “Italy”, '·Rome', has probability 25.0%: rank 2,050; "
        "the most probable is '·Paris', 50.0%. Of the task's answers alone the first is “Paris”.",
    ),
    (
        Answer("x", 9, 0, "right", "Italy", "Rome", " Rome", 0.5, 1, (" Rome",), (0.5,), "Rome"),
        "Without examples the right answer to “Italy”, '·Rome', has probability 50.0%: the most probable token.",
    ),
]


@pytest.mark.parametrize(("found", "sentence"), SENTENCES, ids=lambda one: type(one).__name__)
def test_it_says_what_it_found(found, sentence):
    assert str(found) == sentence
