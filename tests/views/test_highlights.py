"""The highlights of a text in words."""

from dataclasses import replace

import pytest

from tests import small
from tfcore.measures.highlights.links import Link
from tfcore.measures.highlights.of_text import Decision, Dependence, Highlights, RepeatedSpan, Surprise
from tfcore.tokenizers.tokenizer import ByteTokenizer
from tfcore.views.highlights import chips, highlights_of, named, no_links
from tfcore.views.sources import Reading

LINKS = tuple(Link(13, 8, 9 + i, 1, word, "trophy", 0.9, 0.1, 0.8) for i, word in enumerate(("it", "is")))
DECISION = Decision(
    12,
    5,
    " Mary",
    0.92,
    22,
    (),
    (Dependence((23, 3), "", 2.0, 1.9), Dependence((24, 1), "", 1.0), Dependence((2, 0), "", 0.5)),
)
FOUND = Highlights(
    links=LINKS,
    on_first=0.876,
    repeated=(RepeatedSpan(2, 8, 2, " the key", ((14, 3, 0.9), (17, 3, 0.5))),),
    surprises=(Surprise(4, " Tuesday", 9.2, " Monday", 0.4), Surprise(6, " x", 5.0, " y", 0.1)),
    decision=DECISION,
    cut=(),
    against_usual=True,
)


def test_chips_say_what_is_found_and_where():
    assert [(one.kind, one.words, one.layer, one.head, one.token, one.key) for one in chips(FOUND)] == [
        ("link", "“it” → “trophy”, head 13.8", 13, 8, 9, 1),
        ("decision", "“Mary” is decided in layer 22 by heads 23.3 and 24.1", 23, 3, 12, None),
        ("surprise", "surprise: “Tuesday”, 9 bits", None, None, 3, 4),
        ("repeated", "“the·key” again, head 14.3", 14, 3, 8, 3),
        ("link", "“is” → “trophy”, head 13.8", 13, 8, 10, 1),
    ]


def test_what_is_not_there_has_no_chip():
    nothing = replace(FOUND, links=(), repeated=(), surprises=(), decision=None)
    assert chips(nothing) == ()
    alone = replace(nothing, decision=replace(DECISION, heads=()), repeated=(replace(FOUND.repeated[0], heads=()),))
    assert [(one.words, one.layer, one.head) for one in chips(alone)] == [
        ("“Mary” is decided in layer 22", 22, None),
        ("“the·key” again", None, None),
    ]
    one = replace(nothing, decision=replace(DECISION, heads=DECISION.heads[:1]))
    assert chips(one)[0].words.endswith("by head 23.3")


def test_nothing_found_is_a_sentence():
    assert str(no_links(FOUND)) == (
        "No head of this model links words of this text above 0.2; 88 % of the weight rests on the first token."
    )


@pytest.mark.parametrize(
    ("word", "shown"),
    [(" dog", "“dog”"), ("\n", "“⏎”"), (" ", "“·”"), ("a" * 20, f"“{'a' * 15}…”"), ("\u202e", "“[U+202E]”")],
)
def test_words_hide_nothing(word, shown):
    assert named(word) == shown


def test_highlights_of_a_reading():
    model = small.model(vocab_size=256), ByteTokenizer()
    found = highlights_of(Reading(model, "a dog and a dog"))
    assert found.decision.position == 14
    assert not found.against_usual
    assert highlights_of(Reading(model, "")) is None
    both = small.model(vocab_size=256, architecture="encoder-decoder"), ByteTokenizer()
    assert highlights_of(Reading(both, "a dog")) is None
