"""Parts of a tokenizer.json of the `tokenizers` library, for a tokenizer that another file describes; each within
bounds that are checked before the work whose size they are. Errors are the ends of sentences that a file's name begins.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from tfcore.files import MAX_TOKENIZER_BYTES
from tfcore.tokenizers.worker import LONGEST_TOKEN, MOST_IDS, MOST_SPECIAL

MOST_CHARACTERS = 8_000_000  # of all tokens together; Gemma 3, the largest in use, has 2 million
MOST_TEXTS = MOST_IDS  # as many merges as tokens; Gemma's scores stand for 580,604
PIECE = 10_000  # elements that are written as JSON at a time
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)  # SentencePiece's types of tokens
SPACE = "▁"  # how SentencePiece writes a space
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}


def written(content: dict[str, Any]) -> bytes:
    """The text of a tokenizer.json with these contents."""
    return "".join(_json({"version": "1.0", "truncation": None, "padding": None, **content})).encode()


def _json(value: dict[str, Any]) -> Iterator[str]:
    """JSON of an object, in pieces: while one of them is written, no other thread of Python runs."""
    yield "{"
    for i, (key, inner) in enumerate(value.items()):
        yield f"{', ' if i else ''}{json.dumps(key)}: "
        if isinstance(inner, dict) and key != "vocab":
            yield from _json(inner)
        elif isinstance(inner, dict | list):
            empty = json.dumps(type(inner)())
            inside = ", ".join(json.dumps(piece, ensure_ascii=False)[1:-1] for piece in _pieces(inner))
            yield empty[0] + inside + empty[1]
        else:
            yield json.dumps(inner, ensure_ascii=False)
    yield "}"


def _pieces(value: dict[str, Any] | list[Any]) -> Iterator[dict[str, Any] | list[Any]]:
    if isinstance(value, list):
        yield from (value[start : start + PIECE] for start in range(0, len(value), PIECE))
        return
    entries = iter(value.items())
    while piece := dict(islice(entries, PIECE)):
        yield piece


def check_tokens(tokens: Collection[str]) -> None:
    """Refuse a vocabulary of tokens that none in use has.

    Raises:
        ValueError: too many of them, one that is too long, or all together.
    """
    if len(tokens) > MOST_IDS:
        raise ValueError(f"has {len(tokens):,} tokens, and at most {MOST_IDS:,} can be shown here")
    if (longest := max(map(len, tokens), default=0)) > LONGEST_TOKEN:
        raise ValueError(f"has a token of {longest:,} characters, and at most {LONGEST_TOKEN:,} can be shown here")
    if (total := sum(map(len, tokens))) > MOST_CHARACTERS:
        raise ValueError(f"has tokens of {total:,} characters in all, more than the {MOST_CHARACTERS:,} of any use")


def numbered(tokens: list[str]) -> dict[str, int]:
    """Token -> id.

    Raises:
        ValueError: a token that is there twice.
    """
    vocabulary = {token: i for i, token in enumerate(tokens)}
    if len(vocabulary) != len(tokens):
        raise ValueError("has the same token twice")
    return vocabulary


def bpe(vocabulary: Mapping[str, int], merges: Iterable[list[str]], **more: Any) -> dict[str, Any]:
    """A BPE model.

    Args:
        vocabulary: token -> id.
        merges: pairs of tokens, in the order in which they are tried.
        more: settings of the library's model.

    Raises:
        ValueError: more merges than any tokenizer has.
    """
    read: list[list[str]] = []
    characters = 0
    for merge in merges:
        read.append(merge)
        characters += len(merge[0]) + len(merge[1])
        if len(read) > MOST_TEXTS or characters > MAX_TOKENIZER_BYTES:
            raise ValueError(f"has more merges than the {MOST_TEXTS:,}, or longer ones, that can be read")
    return {"type": "BPE", "vocab": vocabulary, "merges": read, "dropout": None, **more}


def pairs_of(lines: Iterable[str]) -> Iterator[list[str]]:
    """The two pieces of each merge that is written as a line.

    Raises:
        ValueError: a line that is none.
    """
    for line in lines:
        if len(line) > 2 * LONGEST_TOKEN + 1 or line.count(" ") != 1:
            raise ValueError("has a merge that does not join two pieces")
        yield line.split(" ")


def merges_of_scores(
    tokens: list[str], scores: list[float], kinds: list[int], joined: Collection[int] = (NORMAL,)
) -> Iterator[list[str]]:
    """The merges of a SentencePiece BPE vocabulary: all pairs of tokens that make a third, those of the highest score
    first; of one token, pairs in the order of their own ids, as SentencePiece tries them.

    Args:
        joined: types of the tokens that are made of others.
    """
    known = {token: i for i, token in enumerate(tokens) if kinds[i] in joined}
    for token in sorted(known, key=lambda token: -scores[known[token]]):  # stable
        cuts = (cut for cut in range(1, len(token)) if token[:cut] in known and token[cut:] in known)
        pairs = sorted((known[token[:cut]], known[token[cut:]]) for cut in cuts)
        yield from ([tokens[left], tokens[right]] for left, right in pairs)  # of texts that are there: no copies


def added(tokens: list[str], kinds: list[int]) -> list[dict[str, Any]]:
    """Tokens that are found in a text before it is cut: those for control, which are special, and user-defined ones.

    Raises:
        ValueError: more than any tokenizer has.
    """
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    found = [i for i, kind in enumerate(kinds) if kind in (CONTROL, USER_DEFINED) and tokens[i]]
    if len(found) > MOST_SPECIAL:
        raise ValueError(f"has {len(found):,} special tokens, and at most {MOST_SPECIAL:,} can be shown here")
    return [{"id": i, "content": tokens[i], "special": kinds[i] == CONTROL, **plain} for i in found]


def around(first: Sequence[tuple[str, int]], last: Sequence[tuple[str, int]]) -> dict[str, Any] | None:
    """The tokens, text and id, that are put before and after every text; None where there are none."""
    if not first and not last:
        return None
    text = {"Sequence": {"id": "A", "type_id": 0}}
    special = {token: {"id": token, "ids": [i], "tokens": [token]} for token, i in (*first, *last)}
    before, after = ([{"SpecialToken": {"id": token, "type_id": 0}} for token, _ in side] for side in (first, last))
    pair = [{"Sequence": {"id": name, "type_id": kind}} for kind, name in enumerate("AB")]
    return {"type": "TemplateProcessing", "single": [*before, text, *after], "pair": pair, "special_tokens": special}


def split(*patterns: str) -> list[dict[str, Any]]:
    """Steps that cut a text by one pattern after the other, then write bytes in stand-ins."""
    cuts = [{"type": "Split", "pattern": {"Regex": one}, "behavior": "Isolated", "invert": False} for one in patterns]
    return [*cuts, {**BYTES, "use_regex": False}]


def metaspace(scheme: str, cuts: bool = True) -> dict[str, Any]:
    """The step that writes spaces as SentencePiece does.

    Args:
        scheme: before which parts of a text there is one more: "always", "first" or "never".
        cuts: whether a text is cut before each of them.
    """
    return {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": cuts}


def from_pieces(prefix: bool) -> dict[str, Any]:
    """The decoder of SentencePiece's pieces.

    Args:
        prefix: whether a text was given a space in front.
    """
    back: list[dict[str, Any]] = [replace(SPACE, " "), {"type": "ByteFallback"}, {"type": "Fuse"}]
    if prefix:
        back.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {"type": "Sequence", "decoders": back}


def replace(old: str, new: str, kind: str = "String") -> dict[str, Any]:
    """The step that replaces a text, or what a pattern finds (kind="Regex")."""
    return {"type": "Replace", "pattern": {kind: old}, "content": new}
