"""The highlights of a text in words."""

from dataclasses import replace

import pytest

from tests import small
from tests.nightly import nightly
from tfcore.measures.highlights.links import Link
from tfcore.measures.highlights.of_text import Decision, Dependence, Highlights, RepeatedSpan, Surprise
from tfcore.measures.token_text import CharacterPart
from tfcore.tokenizers.tokenizer import ByteTokenizer
from tfcore.views import highlights as module
from tfcore.views.highlights import (
    Chip,
    Found,
    chips,
    computed,
    found_in,
    highlights_of,
    named,
    no_links,
    store,
    stored_for,
)
from tfcore.views.sources import Reading
from tools.highlights import texts

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
    tokens=13,
    links=LINKS,
    on_first=0.876,
    repeated=(RepeatedSpan(2, 8, 2, " the key", ((14, 3, 0.9), (17, 3, 0.5))),),
    surprises=(Surprise(4, " Tuesday", 9.2, " Monday", 0.4), Surprise(6, " x", 5.0, " y", 0.1)),
    decision=DECISION,
    cut=(),
    against_usual=True,
)


def test_chips_say_what_is_found_and_where():
    assert chips(FOUND) == (
        Chip("link", "“it” → “trophy”, head 13.8", 9, ((13, 8),), 1),
        Chip("decision", "“Mary” leads from layer 22 on, depends most on heads 23.3 and 24.1", 12, ((23, 3), (24, 1))),
        Chip("surprise", "surprise: “Tuesday”, 9 bits", 3, key=4),
        Chip("repeated", "“the·key” again, head 14.3", 8, ((14, 3),), 3),
        Chip("link", "“is” → “trophy”, head 13.8", 10, ((13, 8),), 1),
    )


def test_what_is_not_there_has_no_chip():
    nothing = replace(FOUND, links=(), repeated=(), surprises=(), decision=None)
    assert chips(nothing) == ()
    alone = replace(nothing, decision=replace(DECISION, heads=()), repeated=(replace(FOUND.repeated[0], heads=()),))
    assert [(one.words, one.heads) for one in chips(alone)] == [
        ("“Mary” leads from layer 22 on", ()),
        ("“the·key” again", ()),
    ]
    one = replace(nothing, decision=replace(DECISION, heads=DECISION.heads[:1]))
    assert chips(one)[0].words.endswith("depends most on head 23.3")


def test_nothing_found_is_a_sentence():
    assert str(no_links(FOUND)) == (
        "No head of this model links words of this text above 0.2; 88 % of the weight rests on the first token."
    )


def test_what_is_stored_is_read_again(tmp_path, monkeypatch):
    found = Found(13, chips(FOUND), "No head links words.")
    (tmp_path / "small").mkdir()
    store(tmp_path / "small", {"a text": found})
    monkeypatch.setattr(module, "PRETRAINED", tmp_path)
    assert stored_for("small") == {"a text": found}
    assert found_in(Reading("small", "a text")) == found
    stored_for.cache_clear()


@nightly
def test_the_examples_of_a_real_model_are_stored_as_they_are_found(real_models):
    stored = stored_for("smollm2")
    assert set(texts()) <= set(stored)
    assert {text: computed(Reading("smollm2", text)) for text in stored} == stored


@pytest.mark.parametrize(
    ("word", "shown"),
    [(" dog", "“dog”"), ("\n", "“⏎”"), (" ", "“·”"), ("a" * 20, f"“{'a' * 15}…”"), ("\u202e", "“[U+202E]”")],
)
def test_words_hide_nothing(word, shown):
    assert named(word) == shown


def test_a_part_of_a_character_is_named_by_it():
    assert named(CharacterPart("<0xE4>", "今 1/2", b"\xe4")) == "“今 1/2”"
    model = small.model(vocab_size=256), ByteTokenizer()
    (surprise, *_) = highlights_of(Reading(model, "今今")).surprises
    assert named(surprise.token) in {f"“今 {part}/3”" for part in (1, 2, 3)}


def test_highlights_of_a_reading():
    model = small.model(vocab_size=256), ByteTokenizer()
    found = highlights_of(Reading(model, "a dog and a dog"))
    assert found.decision.position == 14
    assert not found.against_usual
    assert highlights_of(Reading(model, "")) is None
    both = small.model(vocab_size=256, architecture="encoder-decoder"), ByteTokenizer()
    assert highlights_of(Reading(both, "a dog")) is None


def test_the_last_tokens_are_read_as_many_as_a_page_reads():
    model = small.model(vocab_size=256), ByteTokenizer()
    text = "a cat, a dog and a dog"
    assert highlights_of(Reading(model, text), 10) == highlights_of(Reading(model, text[-10:]))
    assert highlights_of(Reading(model, text), 10).tokens == 10
