"""Every sentence that no other test has whole, with numbers that are all different."""

import pytest

from tfcore.views.inside.flow.say import HeadMeasures

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
]


@pytest.mark.parametrize(("found", "sentence"), SENTENCES, ids=lambda one: type(one).__name__)
def test_it_says_what_it_found(found, sentence):
    assert str(found) == sentence
