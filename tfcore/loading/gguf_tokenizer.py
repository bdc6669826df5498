"""The tokenizer in a GGUF file, written as a tokenizer.json of the `tokenizers` library, which then runs it.

Two kinds: byte-level BPE, which lists its merges, and SentencePiece's BPE, which has a score for each token instead:
the merge that makes the token of the highest score comes first.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from tfcore.files import MAX_TOKENIZER_BYTES, CheckpointError
from tfcore.loading.gguf_file import GGUFMetadata
from tfcore.tokenizers.worker import LONGEST_TOKEN, MOST_IDS, MOST_SPECIAL

MOST_CHARACTERS = 8_000_000  # of all tokens together; Gemma 3, the largest in use, has 2 million
MOST_TEXTS = MOST_IDS  # as many merges as tokens; Gemma's scores stand for 580,604
PIECE = 10_000  # elements that are written as JSON at a time
UNKNOWN, CONTROL, USER_DEFINED = 2, 3, 4  # types of tokens
_SPACE = "▁"
_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SIGNS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_WORD = r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
_LLAMA3 = _CONTRACTIONS + _WORD + "{1,3}" + _SIGNS
_QWEN2 = _CONTRACTIONS + _WORD + _SIGNS
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_BEFORE = r"[^\r\n\p{L}\p{N}]?"
_SIGNS_OR_SLASHES = _SIGNS.replace(r"[\r\n]*", r"[\r\n/]*", 1)
_TEKKEN = f"{_BEFORE}{_UPPER}*{_LOWER}+|{_BEFORE}{_UPPER}+{_LOWER}*|" + r"\p{N}" + _SIGNS_OR_SLASHES
_GPT4O = (
    f"{_BEFORE}{_UPPER}*{_LOWER}+{_CONTRACTIONS}?|{_BEFORE}{_UPPER}+{_LOWER}*{_CONTRACTIONS}?|"
    + r"\p{N}{1,3}"
    + _SIGNS_OR_SLASHES
)
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"
_UNSTATED = (r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]")
_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}


@dataclass(frozen=True, slots=True)
class _Cut:
    """How a text is cut before any merge.

    Args:
        steps: one after the other, as in tokenizer.json.
        whole_words: whether a word that is a token is not merged.
        begins: whether texts begin with the first token, unless the file says otherwise.
        nfc: whether a text is brought into Unicode's form C first.
    """

    steps: list[dict[str, Any]]
    whole_words: bool = False
    begins: bool = False
    nfc: bool = False


def _split(*patterns: str) -> list[dict[str, Any]]:
    """Cut by one pattern after the other, then write bytes in stand-ins."""
    cuts = [{"type": "Split", "pattern": {"Regex": one}, "behavior": "Isolated", "invert": False} for one in patterns]
    return [*cuts, {**_BYTES, "use_regex": False}]


_AS_GPT2 = _Cut([{**_BYTES, "use_regex": True}])
_DIGIT_BY_DIGIT = _Cut([{"type": "Digits", "individual_digits": True}, {**_BYTES, "use_regex": True}])
# By the name that llama.cpp gives it.
CUTS: dict[str, _Cut] = {
    **dict.fromkeys(("gpt-2", "olmo", "phi-2", "mpt", "jais", "exaone4", "modern-bert"), _AS_GPT2),
    **dict.fromkeys(("smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b"), _DIGIT_BY_DIGIT),
    **dict.fromkeys(
        ("llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "lfm2"),
        _Cut(_split(_LLAMA3), whole_words=True, begins=True),
    ),
    **dict.fromkeys(("dbrx", "smaug-bpe", "glm4", "chatglm-bpe"), _Cut(_split(_LLAMA3))),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen", "megrez"), _Cut(_split(_QWEN2), nfc=True)),
    "tekken": _Cut(_split(_TEKKEN), whole_words=True, begins=True),
    **dict.fromkeys(("gpt-4o", "llama4"), _Cut(_split(_GPT4O))),
    "default": _Cut(_split(*_UNSTATED)),
}
# Settings that are read here, or that change neither a text nor its tokens with the two kinds of tokenizer.
_KNOWN = re.compile(
    r"model|pre|tokens|token_type|token_type_count|scores|merges|\w+_token_ids?|add_(bos|eos)_token|add_space_prefix|"
    r"remove_extra_whitespaces"
)


def tokenizer_json(settings: GGUFMetadata, path: Path) -> bytes:
    """The contents of a tokenizer.json that does what the file describes.

    Args:
        settings: of the file.
        path: of the file, for messages.

    Raises:
        CheckpointError: it has no tokenizer, or one of another kind.
    """
    return "".join(_json(_Described(settings, path).content())).encode()


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


class _Described:
    """The tokenizer as the settings describe it, checked."""

    def __init__(self, settings: GGUFMetadata, path: Path) -> None:
        self._settings, self._path = settings, path
        self.tokens = self._texts("tokens")
        self._check_sizes()
        kinds = settings.listed("tokenizer.ggml.token_type")
        self.kinds = [1] * len(self.tokens) if kinds is None else np.asarray(kinds).tolist()
        if len(self.kinds) != len(self.tokens):
            raise self._error(f"has types of {len(self.kinds):,} tokens, and {len(self.tokens):,} tokens")
        for name, value in settings.items():
            key = name.removeprefix("tokenizer.ggml.")
            if key != name and not _KNOWN.fullmatch(key) and not (isinstance(value, bool) and not value):
                raise self._error(f"has {name[:80]}, which may change how texts are cut and cannot be read")

    def _check_sizes(self) -> None:
        """Before any work is done whose size they are."""
        if (longest := max(map(len, self.tokens))) > LONGEST_TOKEN:
            raise self._error(f"has a token of {longest:,} characters, and at most {LONGEST_TOKEN:,} can be shown here")
        if (total := sum(map(len, self.tokens))) > MOST_CHARACTERS:
            raise self._error(
                f"has tokens of {total:,} characters in all, more than the {MOST_CHARACTERS:,} of any use"
            )

    def content(self) -> dict[str, Any]:
        kind = self._settings.text("tokenizer.ggml.model")
        if kind not in ("gpt2", "llama"):
            raise self._error(
                f"has a tokenizer of the kind {str(kind)[:40]!r}; gpt2 and llama (SentencePiece) can be read"
            )
        added = self._added()
        parts = self._byte_level() if kind == "gpt2" else self._sentence_piece()
        return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, **parts}

    def _byte_level(self) -> dict[str, Any]:
        cut = self._settings.text("tokenizer.ggml.pre")
        cut = "gpt-2" if cut is None else cut  # files from before it was stated
        if cut not in CUTS:
            raise self._error(f"cuts texts by {str(cut)[:40]!r}; {', '.join(CUTS)} can be read")
        how = CUTS[str(cut)]
        stated = self._texts("merges")
        if any(len(merge) > 2 * LONGEST_TOKEN + 1 or merge.count(" ") != 1 for merge in stated):
            raise self._error("has a merge that does not join two pieces")
        merges = self._checked(merge.split(" ") for merge in stated)
        return {
            "normalizer": {"type": "NFC"} if how.nfc else None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": how.steps},
            "post_processor": self._around(how.begins),
            "decoder": {**_BYTES, "use_regex": True},
            "model": self._model(merges, ignore_merges=how.whole_words),
        }

    def _sentence_piece(self) -> dict[str, Any]:
        scores = self._settings.listed("tokenizer.ggml.scores")
        if not isinstance(scores, np.ndarray) or len(scores) != len(self.tokens):
            raise self._error("has a SentencePiece tokenizer without a score for each token")
        prefix = self._settings.flag("tokenizer.ggml.add_space_prefix", True)
        replace = {"type": "Replace", "pattern": {"String": " "}, "content": _SPACE}
        steps = [{"type": "Prepend", "prepend": _SPACE}, replace] if prefix else [replace]
        back: list[dict[str, Any]] = [
            {"type": "Replace", "pattern": {"String": _SPACE}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
        ]
        if prefix:
            back.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
        return {
            "normalizer": {"type": "Sequence", "normalizers": steps},
            "pre_tokenizer": None,
            "post_processor": self._around(True),
            "decoder": {"type": "Sequence", "decoders": back},
            "model": self._model(
                self._checked(merges_of_scores(self.tokens, scores.tolist(), self.kinds)),
                unk_token=next((t for t, kind in zip(self.tokens, self.kinds, strict=True) if kind == UNKNOWN), None),
                byte_fallback=True,
                fuse_unk=True,
            ),
        }

    def _checked(self, merges: Iterable[list[str]]) -> list[list[str]]:
        """The merges, unless they are more than any tokenizer has."""
        read, characters = [], 0
        for merge in merges:
            read.append(merge)
            characters += len(merge[0]) + len(merge[1])
            if len(read) > MOST_TEXTS or characters > MAX_TOKENIZER_BYTES:
                raise self._error(f"has more merges than the {MOST_TEXTS:,}, or longer ones, that can be read")
        return read

    def _model(self, merges: list[list[str]], **more: Any) -> dict[str, Any]:
        vocabulary = {token: i for i, token in enumerate(self.tokens)}
        if len(vocabulary) != len(self.tokens):
            raise self._error("has the same token twice")
        return {"type": "BPE", "vocab": vocabulary, "merges": merges, "dropout": None, **more}

    def _added(self) -> list[dict[str, Any]]:
        """Tokens that are found in a text before it is cut."""
        plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        added = [i for i, kind in enumerate(self.kinds) if kind in (CONTROL, USER_DEFINED) and self.tokens[i]]
        if len(added) > MOST_SPECIAL:
            raise self._error(f"has {len(added):,} special tokens, and at most {MOST_SPECIAL:,} can be shown here")
        return [{"id": i, "content": self.tokens[i], "special": self.kinds[i] == CONTROL, **plain} for i in added]

    def _around(self, begins: bool) -> dict[str, Any] | None:
        """The tokens that are put around every text."""
        whole: list[dict[str, Any]] = [{"Sequence": {"id": "A", "type_id": 0}}]
        named: dict[str, Any] = {}
        for setting, place, default in (("bos", 0, begins), ("eos", 2, False)):
            if not self._settings.flag(f"tokenizer.ggml.add_{setting}_token", default):
                continue
            number = self._settings.number(f"tokenizer.ggml.{setting}_token_id")
            if not isinstance(number, int) or not 0 <= number < len(self.tokens):
                raise self._error(f"puts its {setting} token around texts and does not say which that is")
            token = self.tokens[number]
            named[token] = {"id": token, "ids": [number], "tokens": [token]}
            whole.insert(place, {"SpecialToken": {"id": token, "type_id": 0}})
        if not named:
            return None
        pair = [{"Sequence": {"id": name, "type_id": kind}} for kind, name in enumerate("AB")]
        return {"type": "TemplateProcessing", "single": whole, "pair": pair, "special_tokens": named}

    def _texts(self, key: str) -> list[str]:
        texts = self._settings.listed(f"tokenizer.ggml.{key}")
        if not isinstance(texts, list) or not texts:
            raise self._error(f"has no tokenizer.ggml.{key}, without which no text can be given to the model")
        if len(texts) > MOST_TEXTS:
            raise self._error(f"has {len(texts):,} texts in tokenizer.ggml.{key}; at most {MOST_TEXTS:,} can be read")
        return texts

    def _error(self, what: str) -> CheckpointError:
        return CheckpointError(f"{self._path} {what}")


def merges_of_scores(tokens: list[str], scores: list[float], kinds: list[int]) -> Iterator[list[str]]:
    """The merges of a SentencePiece BPE vocabulary: all pairs of tokens that make a third, those of the highest score
    first; of one token, pairs in the order of their own ids, as SentencePiece tries them."""
    known = {token: i for i, token in enumerate(tokens) if kinds[i] == 1}
    for token in sorted(known, key=lambda token: -scores[known[token]]):  # stable
        cuts = (cut for cut in range(1, len(token)) if token[:cut] in known and token[cut:] in known)
        pairs = sorted((known[token[:cut]], known[token[cut:]]) for cut in cuts)
        yield from ([tokens[left], tokens[right]] for left, right in pairs)  # of texts that are there: no copies
