"""The shipped translator does what its card says, measured again on the sentences whose words a person linked."""

import pytest

from tests.cards import measured
from tfcore.analysis.model.alignment import read_links, right
from tfcore.analysis.model.translation import chrf, translate
from tfcore.loading.checkpoints import PRETRAINED, load

LINKS = read_links(PRETRAINED / "translate" / "alignment.json")


@pytest.fixture(scope="module")
def card():
    return measured("translate")


@pytest.fixture(scope="module")
def translator():
    return load("translate", device="cpu")


def test_the_card_meets_its_goals(card):
    assert card["chrf_greedy"] >= 45
    assert card["exact_beam_4"] >= 0.25


def test_cross_attention_finds_the_words_as_often_as_the_card_says(card, translator):
    model, tokenizer = translator
    of_heads, of_layers = right(model, tokenizer, LINKS)
    assert sum(len(sentence.links) for sentence in LINKS) == card["words_linked"]
    assert of_layers[-1] == pytest.approx(card["aligned_by_last_layer"], abs=0.03)
    assert of_heads.max() == pytest.approx(card["aligned_by_best_head"], abs=0.03)


def test_it_translates_about_as_well_as_the_card_says(card, translator):
    model, tokenizer = translator
    found = [translate(model, tokenizer, sentence.english) for sentence in LINKS]
    assert chrf(found, [sentence.french for sentence in LINKS]) == pytest.approx(card["chrf_greedy"], abs=12)
