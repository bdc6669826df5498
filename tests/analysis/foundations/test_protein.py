"""A protein as the letters and ids of ESM-2."""

import pytest

from tfcore.analysis.foundations.protein import GROUPS, LETTERS, SPECIAL, read_protein


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
        ("MQJ", "letter 3 is 'J'"),
        (">a\nMQ\n>b\nMQ", "two proteins"),
        ("猫", "letter 1"),
    ],
)
def test_what_is_no_protein_is_said(text, words):
    with pytest.raises(ValueError, match=words):
        read_protein(text)
