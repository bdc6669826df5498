"""A small English text whose words have their parts of speech, and where a model's tokens of it end.

`tagged_text.txt` was written for this project and has its licence. It was tagged word by word by its author, a language
model, after the guidelines of Universal Dependencies (universaldependencies.org/u/pos), with auxiliaries among the
verbs and both kinds of conjunctions as one; no second annotator has read it. Many of its words occur as two parts of
speech ("the cook", "to cook"), so that the word alone does not tell which it is.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tfcore.measures.one_text import ends
from tfcore.tokenizers.tokenizer import Tokenizer

FILE = Path(__file__).parent / "tagged_text.txt"
SIGN = "PUNCT"
TAGS = {
    "NOUN": "noun",
    "NAME": "name",
    "VERB": "verb",
    "ADJ": "adjective",
    "ADV": "adverb",
    "PRON": "pronoun",
    "DET": "determiner",
    "ADP": "preposition",
    "CONJ": "conjunction",
    "PART": "particle",
    SIGN: "punctuation",
}


@dataclass(frozen=True, slots=True)
class TaggedWord:
    """A word or a punctuation mark.

    Args:
        text: as it is written.
        tag: its part of speech, a key of TAGS.
        passage, sentence: which ones of the text it belongs to, counted through the whole text.
    """

    text: str
    tag: str
    passage: int
    sentence: int


@lru_cache(maxsize=1)
def tagged_words() -> tuple[TaggedWord, ...]:
    """Every word of the text that ships; passages are separated by empty lines, and each line is a sentence."""
    words: list[TaggedWord] = []
    sentence = 0
    for number, passage in enumerate(FILE.read_text("utf-8").strip().split("\n\n")):
        for line in passage.split("\n"):
            pairs = (word.rsplit("/", 1) for word in line.split())
            words += [TaggedWord(text, tag, number, sentence) for text, tag in pairs]
            sentence += 1
    return tuple(words)


@dataclass(frozen=True, slots=True)
class TokenizedWords:
    """The passages as a model reads them.

    Args:
        rows: ids of each passage, as many as fit the model.
        words: the words and marks that fit, in order.
        last: for each of them, the place of its last token in the row of its passage.
        following: the piece of text of the token after that one; "" where there is none.
    """

    rows: tuple[tuple[int, ...], ...]
    words: tuple[TaggedWord, ...]
    last: tuple[int, ...]
    following: tuple[str, ...]


def tokenize_words(tokenizer: Tokenizer, longest: int) -> TokenizedWords:
    """The text word by word: a word with the space before it, between the tokens that a tokenizer puts around a text.

    Args:
        longest: tokens of a passage, at most; words that would end beyond it are left out.
    """
    before, after = ends(tokenizer)
    rows: list[list[int]] = []
    words: list[TaggedWord] = []
    last: list[int] = []
    for word in tagged_words():
        if word.passage == len(rows):
            rows.append(list(before))
        row = rows[word.passage]
        begins = len(row) == len(before)
        piece = word.text if begins or word.tag == SIGN else f" {word.text}"
        ids = tokenizer.encode(piece)
        row += ids[len(before) : len(ids) - len(after)]
        if len(row) + len(after) <= longest:
            words.append(word)
            last.append(len(row) - 1)
    cut = [(*row[: longest - len(after)], *after) for row in rows]
    pieces = [[*tokenizer.tokens(row), ""] for row in cut]
    following = tuple(pieces[word.passage][place + 1] for word, place in zip(words, last, strict=True))
    return TokenizedWords(tuple(cut), tuple(words), tuple(last), following)
