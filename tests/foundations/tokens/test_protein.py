"""A protein as the letters and ids of ESM-2."""

import pytest

from tfcore.views.foundations.tokens.measure.protein import (
    GROUPS,
    LETTERS,
    SPECIAL,
    ResidueCounts,
    composition,
    read_protein,
)
from tfcore.views.foundations.tokens.say.signals import protein_tokens, residue_counts


def test_a_protein_as_esm_numbers_it():
    found = read_protein("> test\nla gv\nC*")
    assert found.name == "test"
    assert found.residues == "LAGVC"
    assert found.ids == (0, 4, 5, 6, 7, 23, 2)


def test_every_letter_has_an_id_and_a_group():
    assert sorted("".join(GROUPS.values())) == sorted(LETTERS)
    found = read_protein(LETTERS)
    assert found.ids[1:-1] == tuple(range(len(SPECIAL), len(SPECIAL) + len(LETTERS)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no residues"),
        (">only a name", "no residues"),
        ("MQ1F", "letter 3 is '1'"),
        ("MQJ", "letter 3 is 'J', which is no amino acid; use ACDEFGHIKLMNPQRSTVWY$"),
        (">a\nMQ\n>b\nMQ", "two proteins"),
        ("猫", "letter 1"),
    ],
)
def test_what_is_no_protein_is_said(text, words):
    with pytest.raises(ValueError, match=words):
        read_protein(text)


def test_residues_are_counted_by_group():
    found = composition(read_protein("KDDLSKAAKL"))
    assert dict(zip(found.letters, found.counts, strict=True)) == {c: "KDDLSKAAKL".count(c) for c in "AKDLS"}
    assert found == ResidueCounts(("L", "A", "S", "K", "D"), (2, 2, 1, 3, 2), (0, 0, 1, 2, 3), "K")
    for letter, group in zip(found.letters, found.groups, strict=True):
        assert letter in list(GROUPS.values())[group]
    assert str(residue_counts(found)) == "5 kinds of residue; most often K, 3 of 10."
    assert composition(read_protein("DKKD")).most == "D", "the one that comes first"


def test_the_length_of_a_protein_in_words():
    assert str(protein_tokens(1_076, 1_060)) == (
        "1,076 residues, with a token before and one after; ids as in ESM-2, whose vocabulary has 33. The tokenizer of "
        "stories would make 1,060 meaningless pieces of it."
    )
