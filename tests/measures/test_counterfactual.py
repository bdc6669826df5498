"""A text with one word replaced, compared with a search written apart."""

import pytest
import torch
from torch.nn.functional import cosine_similarity

import tfcore
from tfcore.measures import counterfactual as module
from tfcore.measures.counterfactual import counterfactual

TEXT = "Once there was a dog who went to the park with Sam. He saw a big"


def by_hand(model, tokenizer, text):
    """Each replacement in a pass of its own, and sums over its tokens one by one."""
    ids = tokenizer.encode(text)
    plain = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    table, found = model.embed.weight, []
    for place in range(1, len(ids)):
        own = tokenizer.tokens([ids[place]])[0]
        if own[0] != " " or not own[1:].isalpha() or len(own) < 4:
            continue
        near = cosine_similarity(table[ids[place]], table).argsort(descending=True)[: module.ALIKE + 1].tolist()
        for token in near:
            other = tokenizer.tokens([token])[0]
            if other[0] != " " or not other[1:].isalpha() or len(other) < 4:
                continue
            if own[1:4].lower() != other[1:4].lower() and own[1].isupper() == other[1].isupper():
                changed = [*ids]
                changed[place] = token
                found.append((float(plain[place - 1, token]), changed))
    scored = []
    for _, changed in sorted(found, reverse=True)[: module.TRIED]:
        log_p = model(torch.tensor([changed])).logits[0].log_softmax(-1)
        likely = sum(float(log_p[i - 1, changed[i]]) for i in range(1, len(changed)))
        far = float((plain[-1].exp() * (plain[-1] - log_p[-1])).sum())
        scored.append((likely, far, changed))
    half = sorted(scored, reverse=True)[: max(1, len(scored) // 2)]
    return tokenizer.decode(max(half, key=lambda one: one[1])[2])


def test_the_likely_replacement_that_changes_the_prediction_most():
    model, tokenizer = tfcore.load("stories")
    found = counterfactual(model, tokenizer, TEXT, 64)
    assert found == by_hand(model, tokenizer, TEXT)
    one, other = tokenizer.encode(TEXT), tokenizer.encode(found)
    assert [a == b for a, b in zip(one, other, strict=True)].count(False) == 1


def test_the_first_token_which_nothing_predicts_stays():
    model, tokenizer = tfcore.load("stories")
    text = " Sam saw a dog"
    found = counterfactual(model, tokenizer, text, 64)
    assert found == by_hand(model, tokenizer, text)
    assert found.startswith(" Sam")


def test_only_the_tokens_that_are_read_stay():
    model, tokenizer = tfcore.load("stories")
    found = counterfactual(model, tokenizer, TEXT, 9)
    assert found == by_hand(model, tokenizer, tokenizer.decode(tokenizer.encode(TEXT)[-9:]))


def test_another_word_has_a_capital_where_that_has_one():
    pairs = ((" Sam", " Tom"), (" Sam", " dog"), (" dog", " Tom"), (" dog", " cat"), (" dog", " dogs"), (" dog", "cat"))
    assert [module._can_replace(own, other) for own, other in pairs] == [True, False, False, True, False, False]


@pytest.mark.parametrize("tried", [1, 3])
def test_of_few_replacements_the_likelier_half_is_one(monkeypatch, tried):
    monkeypatch.setattr(module, "TRIED", tried)
    model, tokenizer = tfcore.load("stories")
    assert counterfactual(model, tokenizer, TEXT, 64) == by_hand(model, tokenizer, TEXT)


@pytest.mark.parametrize("text", ["", "Hi", "1 + 1 =", "a b c"])
def test_none_without_a_word_to_replace(text):
    assert counterfactual(*tfcore.load("stories"), text, 64) is None
