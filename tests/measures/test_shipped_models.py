"""The shipped encoder and translator do what their cards say, measured again."""

import numpy as np
import pytest

from tests.cards import STORIES, measured
from tests.nightly import nightly
from tfcore.loading.checkpoints import PRETRAINED, load
from tfcore.measures.masked_tokens import filled, guesses, with_blanks
from tfcore.measures.one_text import one_text
from tfcore.measures.text_loss import next_tokens
from tfcore.measures.translation import alignment_accuracy, chrf, read_links, translate

BLANK = "The dog was very ___ because he had lost his bone."


@pytest.fixture(scope="module")
def fill():
    return load("fill", device="cpu")


def test_the_encoder_meets_its_goals():
    assert measured("fill")["top1"] >= 0.4
    assert measured("fill")["top5"] >= 0.6


def test_it_fills_blanks_about_as_well_as_the_card_says(fill):
    # said six times: other tokens are hidden each time
    model, tokenizer = fill
    found, card = filled(model, tokenizer, STORIES * 6), measured("fill")
    assert found.hidden > 100
    assert found.top1 == pytest.approx(card["top1"], abs=0.15)
    assert found.top5 == pytest.approx(card["top5"], abs=0.15)


def test_what_comes_after_a_blank_decides_what_fills_it(fill):
    model, tokenizer = fill
    first = [guesses(model, tokenizer, with_blanks(tokenizer, BLANK, "___"))[0].argmax()]
    assert tokenizer.tokens(first) == [" sad"]
    decoder, words = load("stories", device="cpu")
    left = next_tokens(decoder, words.encode(BLANK.partition(" ___")[0]), 1)
    assert words.tokens(left.ids.tolist()) == [" happy"]


def test_its_heads_look_both_ways(fill):
    model, tokenizer = fill
    ids = with_blanks(tokenizer, "Once upon a time there was a little dog. " + BLANK, "___")
    names = [f"blocks.{layer}.attn.pattern" for layer in range(model.config.n_layers)]
    patterns = model(one_text(model, ids), capture=names).activations
    ahead = np.array([patterns[name][0].detach().diagonal(1, -2, -1).mean(-1).numpy() for name in names])
    behind = np.array([patterns[name][0].detach().diagonal(-1, -2, -1).mean(-1).numpy() for name in names])
    assert ahead[1, 1] == pytest.approx(0.69, abs=0.02)
    assert behind[2, 3] == pytest.approx(0.77, abs=0.02)


LINKS = read_links(PRETRAINED / "translate" / "alignment.json")


@pytest.fixture(scope="module")
def card():
    return measured("translate")


@pytest.fixture(scope="module")
def translator():
    return load("translate", device="cpu")


def test_the_translator_meets_its_goals(card):
    assert card["chrf_greedy"] >= 45
    assert card["exact_beam_4"] >= 0.25


@nightly
def test_cross_attention_finds_the_words_as_often_as_the_card_says(card, translator):
    of_heads, of_layers = alignment_accuracy(translator[0], translator[1], LINKS)
    assert sum(len(sentence.links) for sentence in LINKS) == card["words_linked"]
    assert of_layers[-1] == pytest.approx(card["aligned_by_last_layer"], abs=0.03)
    assert of_heads.max() == pytest.approx(card["aligned_by_best_head"], abs=0.03)


@nightly
@pytest.mark.usefixtures("unchecked")  # so many runs
def test_it_translates_about_as_well_as_the_card_says(card, translator):
    found = [translate(translator[0], translator[1], sentence.english) for sentence in LINKS]
    assert chrf(found, [sentence.french for sentence in LINKS]) == pytest.approx(card["chrf_greedy"], abs=12)
