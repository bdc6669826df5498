"""Which texts a small model cannot know."""

import math

import pytest
import torch

import tfcore
from tests.cards import measured
from tests.nightly import often
from tfcore.views.familiarity import FAR, LEAST, Familiarity, familiarity, held_out_bits

STORY = "Once upon a time there was a little dog named Max. Max had a red ball, and he loved to play with it."
NEWS = "The central bank raised interest rates by a quarter point on Thursday, citing persistent inflation in services."
CODE = "def fibonacci(n):\n    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)\n"


@pytest.mark.usefixtures("unchecked")  # so many runs
@pytest.mark.parametrize(("text", "strange"), [(STORY, False), (NEWS, True), (CODE, True), (NEWS[:40], False)])
@pytest.mark.parametrize(
    "name", often(["stories", "stories-moe", "stories-learned", "stories-shared"], ["stories-shared"])
)
def test_stories_are_known_and_news_and_code_are_not(name, text, strange):
    model, tokenizer = tfcore.load(name)
    ids = tokenizer.encode(text)
    found = familiarity(model, tokenizer, name, ids)
    nats = 0.0
    for i in range(1, len(ids)):
        nats -= float(model(torch.tensor([ids[:i]])).logits[0, -1].log_softmax(-1)[ids[i]])
    size = len(text.encode()) - len(tokenizer.decode(ids[:1]).encode())
    assert found.size == size
    assert found.bits == pytest.approx(nats / math.log(2) / size, rel=1e-4)
    assert found.is_strange is strange


def test_the_sentence_says_both_numbers():
    found = Familiarity("stories", 2.324, 0.8907, 100)
    assert str(found) == (
        "stories needs 2.32 bits per byte for this text; on held-out texts like those it was trained on it needs 0.89."
    )
    assert found.is_strange
    assert not Familiarity("stories", 2.324, 0.8907, LEAST - 1).is_strange
    assert not Familiarity("stories", 1.69, 0.8907, 100).is_strange
    assert Familiarity("stories", 1.70, 0.8907, 100).is_strange


def test_models_without_such_a_number_are_not_compared():
    assert held_out_bits("stories") == measured("stories")["bits_per_byte"]
    assert held_out_bits("smollm2") is held_out_bits("induction") is None
    model, tokenizer = tfcore.load("stories")
    assert familiarity(model, tokenizer, "stories", [5]) is None
    assert familiarity(model, tokenizer, "stories", [5, 6]) is not None
    model, tokenizer = tfcore.load("fill")
    assert familiarity(model, tokenizer, "fill", tokenizer.encode(NEWS)) is None


def test_a_text_is_strange_from_a_length_on_and_above_a_ratio():
    strange = [Familiarity("a", bits, 1.0, size).is_strange for bits, size in ((FAR + 1, LEAST), (FAR, LEAST))]
    assert strange == [True, False]
    assert not Familiarity("a", FAR + 1, 1.0, LEAST - 1).is_strange
