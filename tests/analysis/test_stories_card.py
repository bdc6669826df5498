"""The shipped model does what its card says, measured again."""

import pytest

from tests.cards import STORIES, measured
from tfcore.analysis.heads import repeated_tokens_measure
from tfcore.analysis.information import bits_per_byte
from tfcore.checkpoints import PRETRAINED, load


@pytest.fixture(scope="module")
def card():
    return measured("stories")


@pytest.fixture(scope="module")
def stories():
    return load("stories", device="cpu")


def test_it_predicts_stories_about_as_well_as_the_card_says(card, stories):
    model, tokenizer = stories
    assert bits_per_byte(model, tokenizer, STORIES) == pytest.approx(card["bits_per_byte"], abs=0.35)


@pytest.mark.parametrize("name", ["previous_token_head", "induction_head", "second_over_first"])
def test_its_heads_score_what_the_card_says(card, stories, name):
    assert repeated_tokens_measure(stories[0], seed=1)[name] == pytest.approx(card[name], abs=0.02)


def test_it_is_as_small_as_promised(stories):
    assert sum(parameter.numel() for parameter in stories[0].parameters()) <= 6_000_000
    assert sum(file.stat().st_size for file in (PRETRAINED / "stories").iterdir()) <= 12_000_000
    assert stories[0].config.max_seq_len >= 256
