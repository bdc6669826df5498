"""The tokens of two texts, or of one text in two tokenizers, beside each other."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import accumulate

from tfcore.measures.token_text import bytes_of


def aligned(tokens: Sequence[str], others: Sequence[str]) -> list[int | None]:
    """For each token of a text the place of the token of another text that stands for it, or None.

    Tokens that both have in the same order stand for each other, and between them, where both have as many, those in
    the same order: "John gave" and "Anna sent" differ in two tokens, and yet each has its counterpart.
    """
    places: list[int | None] = [None] * len(tokens)
    for kind, i, end, j, other_end in SequenceMatcher(None, tokens, others, autojunk=False).get_opcodes():
        if kind == "equal" or end - i == other_end - j:
            places[i:end] = range(j, other_end)
    return places


def aligned_by_characters(tokens: Sequence[str], others: Sequence[str]) -> list[int | None]:
    """For each token of a text the place of the token, of the same text in another tokenizer, that holds its last
    character, or its last byte where that is but a part of one; None where the other text lacks it."""
    data, other_data = list(map(bytes_of, tokens)), list(map(bytes_of, others))
    text, other = b"".join(data), b"".join(other_data)
    match: dict[int, int] = {}
    for i, j, size in SequenceMatcher(None, text, other, autojunk=False).get_matching_blocks():
        match.update(zip(range(i, i + size), range(j, j + size), strict=True))
    holder = [place for place, one in enumerate(other_data) for _ in one]
    places: list[int | None] = []
    for end, one in zip(accumulate(map(len, data)), data, strict=True):
        at = match.get(end - 1) if one else None
        places.append(None if at is None else holder[at])
    return places
