"""Every sentence of the chapter that no other test has whole, with numbers that are all different."""

import pytest

from tfcore.views.inside.changes import DifferenceChange
from tfcore.views.inside.flow.say import HeadMeasures
from tfcore.views.inside.in_context.measure.accuracy import Interval
from tfcore.views.inside.in_context.measure.live import Answer
from tfcore.views.inside.in_context.say import Accuracy, HeadsAgree

NEAR, FAR = Interval(0.5, 0.4, 0.6), Interval(0.25, 0.125, 0.375)
SENTENCES = [
    (
        HeadMeasures("he", ("2.5", 0.25), ("3.1", -1.5), ("0.3", 2.25), False),
        "Head 2.5 carries most of the state from token to token, 25%; head 3.1 writes most of the logit of 'he' "
        "itself, -1.50; without head 0.3 its log-probability falls most, by 2.25 nats (partly estimated). The "
        "measures name three heads: what is carried need not be used, and a head can matter through what later heads "
        "make of it.",
    ),
    (
        HeadMeasures("he", ("2.5", 0.25), ("2.5", 1.5), ("0.3", 0.01), True),
        "Head 2.5 carries most of the state from token to token, 25%; head 2.5 writes most of the logit of 'he' "
        "itself, +1.50; without head 0.3 its log-probability falls most, by 0.01 nats (measured). The measures name "
        "two heads: what is carried need not be used, and a head can matter through what later heads make of it.",
    ),
    (
        HeadMeasures("he", ("2.5", 0.25), ("2.5", 1.5), ("2.5", 2.25), True, "she"),
        "Head 2.5 carries most of the state from token to token, 25%; head 2.5 writes most of the logit of 'he' "
        "above that of 'she' itself, +1.50; without head 2.5 that difference falls most, by 2.25 logits (measured). "
        "The three measures agree on the first head.",
    ),
    (
        HeadMeasures("he", ("2.5", 0.25), ("2.5", 1.5), ("2.5", 0.0099), False, "she"),
        "Head 2.5 carries most of the state from token to token, 25%; head 2.5 writes most of the logit of 'he' "
        "above that of 'she' itself, +1.50; without any one of them that difference falls by less than 0.01 logits "
        "(partly estimated).",
    ),
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
    (DifferenceChange(" he", " she", 2.5, -0.75), "The logit of '·he' less that of '·she' goes from 2.50 to -0.75."),
]


@pytest.mark.parametrize(("found", "sentence"), SENTENCES, ids=lambda one: type(one).__name__)
def test_it_says_what_it_found(found, sentence):
    assert str(found) == sentence
