"""A text as the models read it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfcore.measures.token_text import character_parts, may_have_parts
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import BPETokenizer, Tokenizer

End = Literal["first", "last"]  # of the tokens of a text, which are kept where it is too long
IDS = "token ids:"  # what a text begins with that gives ids, not words: "token ids: 5 17 5 17"
_GIVEN = re.compile(rf"{IDS}((?: [0-9]{{1,7}})+)")


class UsedTokens(NamedTuple):
    """The tokens of a text that are used, where it is too long for all: its beginning, or its end.

    Args:
        ids: of the tokens that are used.
        tokens: the same as pieces of text.
        total: how many tokens the whole text has.
    """

    ids: list[int]
    tokens: list[str]
    total: int


@dataclass(frozen=True, slots=True)
class Begin:
    """The token that a decoder knows as the beginning of a text (beginning of sequence, BOS).

    Args:
        id, token: of the vocabulary.
        usual: the tokenizer puts it before every text.
    """

    id: int
    token: str
    usual: bool


def begin_of(model: Transformer, tokenizer: Tokenizer) -> Begin | None:
    """The BOS token of a decoder: what its tokenizer puts before a text, else what its checkpoint names, else what
    stood between the documents it was trained on; None where there is none of these."""
    if model.config.architecture != "decoder":
        return None
    before = tokenizer.encode("")[:1]
    before = before if tokenizer.encode("a")[:1] == before else []  # else it stands behind every text
    separator = tokenizer.separator_id if isinstance(tokenizer, BPETokenizer) else None
    named = [one for one in (*before, model.config.bos_id, separator) if one is not None]
    if not named:
        return None
    return Begin(named[0], piece_of(tokenizer, named[0]), bool(before))


def encoded(model: Transformer, tokenizer: Tokenizer, text: str, bos: bool | None = None) -> list[int]:
    """The ids of a text.

    Args:
        bos: with or without the BOS token before it; None leaves that to the tokenizer, and so does a text or a model
            without tokens.
    """
    ids, begin = tokenizer.encode(text), begin_of(model, tokenizer) if bos is not None else None
    if begin is None or bos == begin.usual or not ids:
        return ids
    return [begin.id, *ids] if bos else ids[1:]


def ends(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """The tokens that a tokenizer puts before and after every text."""
    empty, one = tokenizer.encode(""), tokenizer.encode("a")
    split = next((i for i, (a, b) in enumerate(zip(empty, one, strict=False)) if a != b), len(empty))
    return empty[:split], empty[split:]


def shortened(tokenizer: Tokenizer, ids: list[int], most: int, end: End = "first", before: int = 0) -> list[int]:
    """At most so many ids of a text; what the tokenizer puts behind every text ([SEP]) stays.

    Args:
        end: which ones.
        before: how many at the beginning stay, too, where the last ones are kept.
    """
    if len(ids) <= most:
        return ids
    behind = min(len(ends(tokenizer)[1]), most)
    room, stop = most - behind, len(ids) - behind
    if end == "first":
        return [*ids[:room], *ids[stop:]]
    before = min(before, room)
    return [*ids[:before], *ids[stop - (room - before) :]]


def _used(tokenizer: Tokenizer, ids: list[int], most: int, end: End, before: int = 0) -> UsedTokens:
    """At most so many tokens of a text, see `shortened`; a part of a character that was cut is named by it still."""
    places, pieces = shortened(tokenizer, list(range(len(ids))), most, end, before), pieces_of(tokenizer, ids)
    return UsedTokens([ids[i] for i in places], [pieces[i] for i in places], len(ids))


def first_tokens(
    model: Transformer, tokenizer: Tokenizer, text: str, limit: int, bos: bool | None = None
) -> UsedTokens:
    """At most `limit` tokens of a text, and never more than the context of the model; what the tokenizer puts behind
    every text is kept. `bos` as in encoded."""
    ids = encoded(model, tokenizer, text, bos)
    return _used(tokenizer, ids, min(limit, model.config.max_seq_len), "first")


def last_tokens(model: Transformer, tokenizer: Tokenizer, text: str, limit: int, bos: bool | None = None) -> UsedTokens:
    """At most `limit` tokens of a text, the last ones, and never more than the context of the model: they are what the
    next token is predicted from. What stands before every text (BOS, [CLS]) and behind it ([SEP]) is kept. `bos` as in
    encoded."""
    ids = encoded(model, tokenizer, text, bos)
    return _used(tokenizer, ids, min(limit, model.config.max_seq_len), "last", _before(model, tokenizer, bos))


def _before(model: Transformer, tokenizer: Tokenizer, bos: bool | None) -> int:
    """How many tokens stand before every text; `bos` as in encoded."""
    begin, usual = begin_of(model, tokenizer), len(ends(tokenizer)[0])
    if begin is None or bos is None or bos == begin.usual:
        return usual
    return usual + 1 if bos else usual - 1


def given_ids(model: Transformer, tokenizer: Tokenizer, text: str) -> list[int] | None:
    """The ids that a text gives as numbers after IDS; None where it gives none, or one beyond the vocabulary."""
    match = _GIVEN.fullmatch(text.strip())
    ids = [int(number) for number in match[1].split()] if match else []
    return ids if ids and max(ids) < min(model.config.vocab_size, tokenizer.vocab_size) else None


class TextOfIds(NamedTuple):
    """A text that gives some ids, as words or as numbers (given_ids); `bos` as in encoded."""

    text: str
    bos: bool | None


def text_of(model: Transformer, tokenizer: Tokenizer, ids: Sequence[int], likely: str = "") -> TextOfIds:
    """The text whose tokens are exactly these ids; where there is none, as of most random ids, one that gives their
    numbers (given_ids).

    Args:
        likely: tried first; several texts may give the same ids.
    """
    wanted = list(ids)
    inside = (wanted, wanted[1:], wanted[1:-1])  # without what the tokenizer puts before a text, and behind it
    for text in (likely, *(tokenizer.decode(kept) for kept in inside)):
        for bos in (None, True, False):
            if text and encoded(model, tokenizer, text, bos) == wanted:
                return TextOfIds(text, bos)
    return TextOfIds(" ".join([IDS, *map(str, wanted)]), None)


def one_text(model: Transformer, ids: Sequence[int]) -> Int[Tensor, "1 seq"]:
    """The ids of a text as a batch of one, on the model's device."""
    return torch.tensor([list(ids)], dtype=torch.int64, device=model.device)


def next_logits(model: Transformer, ids: Sequence[int]) -> Float[Tensor, " vocab"]:
    """The logits of the token that follows a text; of a head that tells classes apart, the scores of the classes."""
    if model.config.read_at == -1:
        return model(one_text(model, ids), logits_to_keep=1).logits.flatten()
    return model(one_text(model, ids)).logits[0, model.config.read_at]


@torch.no_grad()
def is_finite(model: Transformer, ids: Sequence[int]) -> bool:
    """Whether a model answers a text with numbers."""
    read = one_text(model, ids)
    more = {"decoder_ids": read[:, :1]} if model.config.architecture == "encoder-decoder" else {}
    output = model(read, **more)
    return bool(torch.isfinite(output.logits if hasattr(output, "logits") else output.hidden).all())


@torch.no_grad()
def is_finite_of_nothing(model: Transformer) -> bool:
    """Whether a model of pictures or of sound answers a grey picture, or silence, with numbers."""
    shape = model.config.input_shape
    assert shape is not None
    start = torch.tensor([[model.config.start_id]], device=model.device)
    more = {"decoder_ids": start} if model.config.reads == "sound" else {}
    output = model(torch.zeros(1, *shape, dtype=model.dtype, device=model.device), **more)
    return bool(torch.isfinite(output.logits if hasattr(output, "logits") else output.hidden).all())


def pieces_of(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """The tokens of a text as readable pieces of it, those that are parts of a character as CharacterPart."""
    names = list(tokenizer.tokens(ids))
    if not may_have_parts(names):
        return names
    return character_parts(names, [tokenizer.token_bytes(one) for one in ids])


def piece_of(tokenizer: Tokenizer, token: int) -> str:
    """A token as a readable piece of text."""
    (piece,) = tokenizer.tokens([token])
    return piece
