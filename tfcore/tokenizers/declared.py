"""The statements of tokenizer_config.json on a tokenizer beside its tokenizer.json: further tokens, and their names
in templates. As `transformers` reads it, which leaves it to tokenizer.json what is put around a text (add_bos_token
counts only where there is none).

Without torch: it runs in the process of a tokenizer, too (see worker.py).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tokenizers import AddedToken
from tokenizers import Tokenizer as HFTokenizer

NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
MOST_TOKENS = 10_000  # Gemma 3 has 6,415
LONGEST_TOKEN = 1_024  # characters
BLANK = re.compile(
    r"\[MASK\]|<mask>|<extra_id_\d{1,3}>"
)  # special tokens that a text may have: BERT's, RoBERTa's, T5's
FLAGS = ("special", "normalized", "lstrip", "rstrip", "single_word")
SPECIAL = (True, False, False, False, False)
PLAIN = (False, True, False, False, False)


@dataclass(frozen=True, slots=True)
class Declared:
    """The declarations of a file.

    Args:
        tokens: those to be found whole in a text, in the order in which they are added: text, id (-1 where none is
            stated), and the values of FLAGS.
        names: "bos_token", "eos_token" and so on -> text.
        ends: texts of the tokens that end a text: eos_token may list several.
    """

    tokens: tuple[tuple[str, int, tuple[bool, ...]], ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    ends: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The declarations as JSON-ready values."""
        return asdict(self)

    def to_config(self) -> dict[str, Any]:
        """The contents of a tokenizer_config.json that declares the same."""
        numbered = {str(i): {"content": t, **dict(zip(FLAGS, f, strict=True))} for t, i, f in self.tokens if i >= 0}
        others = [text for text, i, _ in self.tokens if i < 0]
        more = {"eos_token": list(self.ends)} if len(self.ends) > 1 else {}
        return {"added_tokens_decoder": numbered, "additional_special_tokens": others, **dict(self.names), **more}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Declared":
        """The inverse of to_dict."""
        tokens = tuple((text, number, tuple(flags)) for text, number, flags in values["tokens"])
        names = tuple((name, text) for name, text in values["names"])
        return cls(tokens, names, tuple(values["ends"]))


def declared(said: Mapping[str, Any]) -> Declared:
    """The declarations in a tokenizer_config.json.

    Raises:
        ValueError: a field that is not what it should be.
    """
    names, ends = {}, []
    settings: dict[str, tuple[bool, ...]] = {}
    for key, value in said.items():
        if key in NAMED or (key.endswith("_token") and isinstance(value, str)):
            listed = value if isinstance(value, list) else [value]
            texts = [_text(key, one) for one in listed if one is not None]
            names[key] = texts[0] if texts else ""
            ends += texts if key == "eos_token" else []
            settings |= _settings(key, listed)
    tokens = [*_decoder(said.get("added_tokens_decoder") or {})]
    known = {text for text, _, _ in tokens}
    extra = said.get("extra_special_tokens") or said.get("additional_special_tokens") or []
    if not isinstance(extra, list | dict):
        raise ValueError("additional_special_tokens must be a list")
    more = list(extra.values()) if isinstance(extra, dict) else extra
    settings |= _settings("additional_special_tokens", more)
    ordered = [*(names[key] for key in NAMED if key in names), *(names[key] for key in names if key not in NAMED)]
    for text in [*ordered, *ends, *(_text("additional_special_tokens", one) for one in more)]:
        if text and text not in known:
            tokens.append((text, -1, settings.get(text, SPECIAL)))
            known.add(text)
    if len(tokens) > MOST_TOKENS:
        raise ValueError(f"it declares {len(tokens):,} tokens, and at most {MOST_TOKENS:,} can be read")
    return Declared(tuple(tokens), tuple((n, t) for n, t in names.items() if t), tuple(filter(None, ends)))


def _decoder(said: Any) -> Iterator[tuple[str, int, tuple[bool, ...]]]:
    """The tokens of added_tokens_decoder, by their ids."""
    if not isinstance(said, dict) or not all(i.isdecimal() and len(i) < 10 for i in said):
        raise ValueError("added_tokens_decoder must have an id for each token")
    for number in sorted(said, key=int):
        one = said[number]
        if not isinstance(one, dict):
            raise ValueError(f"added_tokens_decoder has no token under {number} with settings that are true or false")
        yield _text("added_tokens_decoder", one), int(number), _flags(f"added_tokens_decoder {number}", one, PLAIN)


def _settings(key: str, listed: list[Any]) -> dict[str, tuple[bool, ...]]:
    """Text -> settings of the special tokens that are objects."""
    return {_text(key, one): (True, *_flags(key, one, SPECIAL)[1:]) for one in listed if isinstance(one, dict)}


def _flags(key: str, one: dict[str, Any], unsaid: tuple[bool, ...]) -> tuple[bool, ...]:
    """The settings of a token that is an object."""
    flags = tuple(one.get(flag, default) for flag, default in zip(FLAGS, unsaid, strict=True))
    if not all(isinstance(flag, bool) for flag in flags):
        raise ValueError(f"{key} has a setting that is neither true nor false")
    return flags


def _text(key: str, value: Any) -> str:
    """The text of a token, which may stand in an object."""
    text = value.get("content") if isinstance(value, dict) else value
    if not isinstance(text, str) or len(text) > LONGEST_TOKEN:
        raise ValueError(f"{key} must be a text of at most {LONGEST_TOKEN:,} characters, or an object with one")
    return text


def add(inner: HFTokenizer, said: Declared, rows: int) -> None:
    """Give a tokenizer what is declared beside it.

    Args:
        rows: of the model's table; a token that would come after them is left out, as no text can hold it.

    Raises:
        ValueError: a token that is new gets another id than the file states.
    """
    known = {token.content for token in inner.get_added_tokens_decoder().values()}
    if all(text in known for text, _, _ in said.tokens):  # as in most files
        return
    vocabulary = inner.get_vocab(with_added_tokens=True)
    room = rows - 1 - max(vocabulary.values(), default=-1)
    for text, number, flags in said.tokens:
        if not text or text in known:
            continue
        if text not in vocabulary:
            if room <= 0:
                continue
            room -= 1
        named = dict(zip(FLAGS, flags, strict=True))
        inner.add_tokens([AddedToken(text, **(named | {"special": named["special"] and not BLANK.fullmatch(text)}))])
        if number not in (-1, got := inner.token_to_id(text)):
            raise ValueError(f"tokenizer_config.json gives {text[:40]!r} the id {number}, and it would be {got}")
