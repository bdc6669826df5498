"""Words of a text, how rare they are, and which mark closes which."""

import pytest

from tfcore.loading.checkpoints import described
from tfcore.measures.highlights.words import Word, partners, rarity, words_of
from tfcore.tokenizers.tokenizer import ByteTokenizer


class Pieces:
    """A tokenizer of given pieces; those that are bytes are parts of characters."""

    def __init__(self, *pieces, around=()):
        self.pieces, self.around = pieces, list(around)
        self.vocab_size = len(pieces)
        self.special_tokens = {}

    def encode(self, text):
        return self.around + (list(range(len(self.pieces))) if text else [])

    def decode(self, ids):
        return b"".join(self.token_bytes(i) for i in ids).decode("utf-8", "replace")

    def save(self, folder):
        raise NotImplementedError

    def token_bytes(self, token_id):
        piece = self.pieces[token_id]
        return piece if isinstance(piece, bytes) else piece.removeprefix("##").encode()

    def tokens(self, ids):
        return [str(self.pieces[i]) for i in ids]


def texts(*pieces, around=()):
    tokenizer = Pieces(*pieces, around=around)
    return [(word.text, word.first, word.last) for word in words_of(tokenizer, range(len(pieces)))]


def test_tokens_that_continue_a_word_are_joined():
    found = texts("The", " suit", "case", " is", " 19", "85", ".", '"', "\n")
    assert found == [
        *[("The", 0, 0), ("suitcase", 1, 2), ("is", 3, 3), ("1985", 4, 5)],
        *[(".", 6, 6), ('"', 7, 7), ("", 8, 8)],
    ]


def test_parts_of_a_character_are_joined():
    assert texts("a", b" \xc3", b"\x84", "pfel") == [("a", 0, 0), ("Äpfel", 1, 3)]
    assert texts(b"\xe4\xbb", b"\x8a", "天", " ", "b") == [("今", 0, 1), ("天", 2, 2), ("", 3, 3), ("b", 4, 4)]


def test_pieces_of_a_word_are_joined_by_their_mark():
    found = texts("[CLS]", "un", "##happi", "##ness", "is", "[SEP]", around=(0, 5))
    assert found == [("", 0, 0), ("unhappiness", 1, 3), ("is", 4, 4), ("", 5, 5)]


def test_a_common_word_is_not_rare():
    _, tokenizer = described("stories")
    ids = tokenizer.encode("the lighthouse was the")
    words = words_of(tokenizer, ids)
    the, lighthouse, was, again = rarity(tokenizer, ids, words)
    assert [word.text for word in words] == ["the", "lighthouse", "was", "the"]
    assert lighthouse == 1
    assert was < 0.2
    assert again == 0
    assert 0 <= the < 1


def test_rarity_of_bytes_is_a_number():
    tokenizer = ByteTokenizer()
    ids = tokenizer.encode("a b\n")
    found = rarity(tokenizer, ids, words_of(tokenizer, ids))
    assert len(found) == 4
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("print ( max ( [ 3 ] ) )", [("]", "["), (")", "("), (")", "(")]),
        ("He said \" no 'danger' there \" twice", [("'", "'"), ('"', '"')]),
        ("It didn't end ) here", []),
        ("„ Ja “ ( gut )", [(")", "(")]),
    ],
)
def test_a_mark_closes_the_nearest_of_its_kind(text, pairs):
    pieces = [Word(i, i + 1, sign) for i, sign in enumerate(text)]
    found = partners(pieces)
    assert [(pieces[a].text, pieces[b].text) for a, b in sorted(found.items())] == pairs
    assert all(opening < closing for closing, opening in found.items())


def test_nested_brackets_keep_their_places():
    found = partners([Word(i, i + 1, sign) for i, sign in enumerate("([]())")])
    assert found == {2: 1, 4: 3, 5: 0}
