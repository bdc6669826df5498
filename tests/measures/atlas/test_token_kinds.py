"""Kinds of tokens, against what a reader says of them."""

import pytest

from tests.nightly import often
from tests.real import real
from tfcore.loading.checkpoints import load
from tfcore.measures.atlas.token_kinds import KINDS, PARTITION, PARTS_OF_SPEECH, ambiguous, parts_of_speech, token_kinds

TEXT = '"Where did (the old) DOG go?" asked Sorbonia. She saw 12 cats in London; très bon, Москва\n\nx = y[3]'
SAID = {
    "closing bracket": [")", "]"],
    "opening bracket": ["(", "["],
    "number": ["12", "3"],
    "full stop": ['?"', "."],
    "comma": [";", ","],
    "name": ["Sorbonia", "London", "Москва"],
    "noun": ["DOG", "cats"],
    "verb": ["did", "go", "asked", "saw"],
    "determiner": ["the"],
    "pronoun": ["She"],
    "adjective": ["old"],
    "preposition": ["in"],
    "all capitals": ["DOG"],
    "capitalised": ["Where", "Sorbonia", "She", "London", "Москва"],
    "other letters": ["Москва"],
    "other sign": ["="],
    "line break": [""],
}


def spelled(tokenizer, ids, chosen):
    """The stretches of tokens that are chosen, as text."""
    found, last = [], None
    for i in (int(i) for i in chosen.nonzero()[0]):
        if last is None or i != last + 1:
            found.append([])
        found[-1].append(ids[i])
        last = i
    return [tokenizer.decode(part).strip() for part in found]


@pytest.mark.parametrize("kind", SAID)
def test_every_kind_is_what_a_reader_says(kind):
    _, tokenizer = load("stories", device="cpu")
    ids = tokenizer.encode(TEXT)
    found = token_kinds(tokenizer, ids)
    assert spelled(tokenizer, ids, found[:, KINDS.index(kind)]) == SAID[kind]


@pytest.mark.parametrize("name", often(["stories", "minilm"], ["stories"]))
def test_every_token_is_of_one_kind(name, request):
    if name == "minilm":
        request.getfixturevalue("real_models")
        _, tokenizer = real(name)
    else:
        _, tokenizer = load(name, device="cpu")
    found = token_kinds(tokenizer, tokenizer.encode(f"{TEXT} 漢字 🙂 don't\t<|endoftext|>"))
    assert (found[:, [KINDS.index(kind) for kind in PARTITION]].sum(1) == 1).all()
    assert found[:, 0].all()
    if name == "minilm":
        assert found[[0, -1], KINDS.index("special token")].all()


def test_the_list_has_each_word_once():
    words = parts_of_speech()
    assert set(words.values()) == set(PARTS_OF_SPEECH)
    assert not words.keys() & ambiguous()
    assert all(word == word.lower() and word.isalpha() for word in {*words, *ambiguous()})
    assert 4_000 < len(words) < 6_000
