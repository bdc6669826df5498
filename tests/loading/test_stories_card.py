"""The shipped story models do what their cards say, measured again."""

import pytest

from tests.cards import STORIES, measured
from tfcore.loading.checkpoints import PRETRAINED, load
from tfcore.measures.expert_scan import load_over_texts
from tfcore.measures.heads.kinds import repeated_tokens_measure
from tfcore.measures.text_loss import bits_per_byte


@pytest.fixture(scope="module", params=["stories", "stories-moe", "stories-learned", "stories-shared"])
def shipped(request):
    """Name, card, model and tokenizer."""
    return request.param, measured(request.param), *load(request.param, device="cpu")


def test_it_predicts_stories_about_as_well_as_the_card_says(shipped):
    _, card, model, tokenizer = shipped
    assert bits_per_byte(model, tokenizer, STORIES) == pytest.approx(card["bits_per_byte"], abs=0.35)


def test_its_heads_score_what_the_card_says(shipped):
    _, card, model, _ = shipped
    for measure, value in repeated_tokens_measure(model, seed=1).items():
        assert value == pytest.approx(card[measure], abs=0.02)


def test_it_is_as_small_as_promised(shipped):
    name, _, model, _ = shipped
    assert sum(parameter.numel() for parameter in model.parameters()) <= 6_000_000
    assert sum(file.stat().st_size for file in (PRETRAINED / name).iterdir()) <= 12_000_000
    assert model.config.max_seq_len >= {"stories-learned": 64, "stories-shared": 128}.get(name, 256)


@pytest.mark.parametrize(("name", "most"), [("stories-moe", 0.30), ("stories-shared", 0.38)])
def test_no_expert_idles_and_none_does_it_all(name, most):
    card, (model, tokenizer) = measured(name), load(name, device="cpu")
    for of in ("choices", "tokens"):
        assert card[f"min_share_of_{of}"] >= 0.05
        assert card[f"max_share_of_{of}"] <= most
    now = load_over_texts(model, map(tokenizer.encode, STORIES)).tokens
    assert now.sum(-1) == pytest.approx(2)
    assert now.min() > 0.08
    assert now.max() < 0.5


def test_experts_predict_stories_better_than_none_do():
    card = measured("stories-moe")
    assert card["bits_per_byte"] <= card["bits_per_byte_dense_twin"]
