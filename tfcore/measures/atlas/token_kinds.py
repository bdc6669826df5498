"""Kinds of tokens: part of speech or sign, place in the word, case, script.

Parts of speech are a list, no tagger: a word has the part of speech that it mostly has in stories, books, sentences and
articles in English, as wink-nlp 2 (MIT) tagged them; a word that is less than 75 % of one kind, such as "that" and
"work", is another word, and so is one that the list lacks. A capitalised word that the list lacks is a name, unless a
sentence begins with it. Of 85,000 words that the list was not made from (TinyStories, children's books, StoryWeaver)
84 % have a part of speech, and 97 % of these the one that wink-nlp gives them in their sentence (nouns 91 %). In other
languages and in code what is spelled like an English word counts as one.
"""

import functools
import json
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Bool
from numpy import ndarray

from tfcore.measures.highlights.words import Word, words_of
from tfcore.tokenizers.tokenizer import Tokenizer

LISTED = Path(__file__).with_name("parts_of_speech.json")
PARTS_OF_SPEECH = (
    *("noun", "name", "verb", "adjective", "adverb"),
    *("pronoun", "determiner", "preposition", "conjunction"),
)
OTHER_WORD = "other word"
SIGNS = {  # the first that a token has a sign of counts: a full stop before a quotation mark is a full stop
    "closing bracket": ")]}",
    "opening bracket": "([{",
    "full stop": ".!?…",
    "quotation mark": '"“”„«»',
    "comma": ",;:",
}
SORTS = {  # of which a token has one kind each, or none
    "what it is": (
        *PARTS_OF_SPEECH,
        OTHER_WORD,
        "number",
        *SIGNS,
        "other sign",
        "line break",
        "space",
        "special token",
    ),
    "place in its word": ("word start", "word continued"),
    "case": ("lower case", "capitalised", "all capitals"),
    "letters": ("Latin letters", "other letters"),
}
PARTITION = SORTS["what it is"]  # every token has one of these
KINDS = ("any", *(kind for kinds in SORTS.values() for kind in kinds))
_INDEX = {kind: i for i, kind in enumerate(KINDS)}


def token_kinds(tokenizer: Tokenizer, ids: Sequence[int]) -> Bool[ndarray, "token kind"]:
    """Which of KINDS each token of a text is; all are "any"."""
    found = np.zeros((len(ids), len(KINDS)), dtype=bool)
    special = {*tokenizer.encode(""), *tokenizer.special_tokens.values()}
    begins = True
    for word in words_of(tokenizer, ids):
        for place in range(word.first, word.stop):
            if ids[place] in special:
                kinds: tuple[str, ...] = ("special token",)
            elif word.is_real:
                kinds = _of_word(word.text, begins, place == word.first)
            else:
                kinds = (_sign(_shown(tokenizer, ids[place], word)),)
            found[place, [0, *(_INDEX[kind] for kind in kinds)]] = True
        if not word.raw or word.raw.strip(" "):  # spaces begin no sentence, and end none
            begins = not (word.is_real or (word.text and word.text in SIGNS["comma"]))
    return found


def _shown(tokenizer: Tokenizer, token: int, word: Word) -> str:
    """A token as text; one that is a part of a character as its word, which is that character."""
    text = tokenizer.token_bytes(token).decode("utf-8", "replace")
    return word.raw if "\ufffd" in text else text


def _sign(text: str) -> str:
    """What a token without letters and digits is."""
    for kind, signs in SIGNS.items():
        if any(sign in signs for sign in text):
            return kind
    if text.strip():
        return "other sign"
    return "line break" if "\n" in text else "space"


@functools.lru_cache(maxsize=65_536)
def _of_word(text: str, begins: bool, first: bool) -> tuple[str, ...]:
    """The kinds of a token of a word.

    Args:
        begins: a sentence may begin with the word.
        first: it is the first of the word's tokens.
    """
    letters = [sign for sign in text if sign.isalpha()]
    if not letters:
        return ("number",)
    case = _case(text)
    latin = all(unicodedata.name(sign, "").startswith("LATIN") for sign in letters)
    kinds = (
        _part_of_speech(text, begins, case),
        SORTS["place in its word"][not first],
        case,
        SORTS["letters"][not latin],
    )
    return tuple(kind for kind in kinds if kind)


def _case(text: str) -> str:
    if text.islower():
        return "lower case"
    if text.isupper() and len(text) > 1:
        return "all capitals"
    return "capitalised" if text[0].isupper() and not any(sign.isupper() for sign in text[1:]) else ""


def _part_of_speech(text: str, begins: bool, case: str) -> str:
    part = parts_of_speech().get(text.lower(), OTHER_WORD)
    if part == "name" and case == "lower case":
        return OTHER_WORD
    unknown = part == OTHER_WORD and text.isalpha() and text.lower() not in ambiguous()
    return "name" if unknown and case == "capitalised" and not begins else part


@functools.cache
def parts_of_speech() -> dict[str, str]:
    """Word -> its part of speech."""
    listed = json.loads(LISTED.read_text("utf-8"))
    return {word: part for part in PARTS_OF_SPEECH for word in listed[part].split()}


@functools.cache
def ambiguous() -> frozenset[str]:
    """Words that are of no one part of speech, so that a capital does not make them names."""
    return frozenset(json.loads(LISTED.read_text("utf-8"))["several"].split())
