"""The tokenizer in a GGUF file, written as a tokenizer.json of the `tokenizers` library, which then runs it.

Two kinds: byte-level BPE, which lists its merges, and SentencePiece's BPE, which has a score for each token instead:
the merge that makes the token of the highest score comes first.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tfcore.loading.gguf_file import Value
from tfcore.loading.weights import CheckpointError

UNKNOWN, CONTROL, USER_DEFINED = 2, 3, 4  # types of tokens
_SPACE = "▁"
_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SIGNS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3 = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + _SIGNS
_QWEN2 = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + _SIGNS
_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}


def _split(pattern: str) -> list[dict[str, Any]]:
    """Cut by a pattern, then write bytes in stand-ins."""
    cut = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return [cut, {**_BYTES, "use_regex": False}]


# How a text is cut before any merge, by the name llama.cpp gives it.
CUTS: dict[str, list[dict[str, Any]]] = {
    "gpt-2": [{**_BYTES, "use_regex": True}],
    "smollm": [{"type": "Digits", "individual_digits": True}, {**_BYTES, "use_regex": True}],
    "llama-bpe": _split(_LLAMA3),
    "qwen2": _split(_QWEN2),
    "deepseek-r1-qwen": _split(_QWEN2),
}
_WHOLE_WORDS = {"llama-bpe"}  # a word that is a token is not merged
_BEGINS = {"llama-bpe"}  # whose texts begin with the first token unless the file says otherwise
_NFC = {"qwen2", "deepseek-r1-qwen"}
# Settings that are read here, or that change neither a text nor its tokens with the two kinds of tokenizer.
_KNOWN = re.compile(
    r"model|pre|tokens|token_type|token_type_count|scores|merges|\w+_token_ids?|add_(bos|eos)_token|add_space_prefix|"
    r"remove_extra_whitespaces"
)


def tokenizer_json(settings: Mapping[str, Value], path: Path) -> bytes:
    """The contents of a tokenizer.json that does what the file describes.

    Args:
        settings: of the file.
        path: of the file, for messages.

    Raises:
        CheckpointError: it has no tokenizer, or one of another kind.
    """
    return json.dumps(_Described(settings, path).content(), ensure_ascii=False).encode()


class _Described:
    """What the settings say of the tokenizer, checked."""

    def __init__(self, settings: Mapping[str, Value], path: Path) -> None:
        self._settings, self._path = settings, path
        self.tokens = self._texts("tokens")
        kinds = self._get("token_type")
        self.kinds = [1] * len(self.tokens) if kinds is None else np.asarray(kinds).tolist()
        if len(self.kinds) != len(self.tokens):
            raise self._error(f"has types of {len(self.kinds):,} tokens, and {len(self.tokens):,} tokens")
        for name, value in settings.items():
            key = name.removeprefix("tokenizer.ggml.")
            if key != name and not _KNOWN.fullmatch(key) and not (isinstance(value, bool) and not value):
                raise self._error(f"has {name[:80]}, which may change how texts are cut and cannot be read")

    def content(self) -> dict[str, Any]:
        kind = self._get("model")
        if kind not in ("gpt2", "llama"):
            raise self._error(
                f"has a tokenizer of the kind {str(kind)[:40]!r}; gpt2 and llama (SentencePiece) can be read"
            )
        parts = self._byte_level() if kind == "gpt2" else self._sentence_piece()
        return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": self._added(), **parts}

    def _byte_level(self) -> dict[str, Any]:
        cut = self._get("pre")
        cut = "gpt-2" if cut is None else cut  # files from before it was stated
        if cut not in CUTS:
            raise self._error(f"cuts texts by {str(cut)[:40]!r}; {', '.join(CUTS)} can be read")
        merges = [merge.split(" ") for merge in self._texts("merges")]
        if any(len(merge) != 2 for merge in merges):
            raise self._error("has a merge that does not join two pieces")
        return {
            "normalizer": {"type": "NFC"} if cut in _NFC else None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": CUTS[str(cut)]},
            "post_processor": self._around(cut in _BEGINS),
            "decoder": {**_BYTES, "use_regex": True},
            "model": self._model(merges, ignore_merges=cut in _WHOLE_WORDS),
        }

    def _sentence_piece(self) -> dict[str, Any]:
        scores = self._get("scores")
        if not isinstance(scores, np.ndarray) or len(scores) != len(self.tokens):
            raise self._error("has a SentencePiece tokenizer without a score for each token")
        prefix = bool(self._settings.get("tokenizer.ggml.add_space_prefix", True))
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
                merges_of_scores(self.tokens, scores.tolist(), self.kinds),
                unk_token=next((t for t, kind in zip(self.tokens, self.kinds, strict=True) if kind == UNKNOWN), None),
                byte_fallback=True,
                fuse_unk=True,
            ),
        }

    def _model(self, merges: list[list[str]], **more: Any) -> dict[str, Any]:
        vocabulary = {token: i for i, token in enumerate(self.tokens)}
        if len(vocabulary) != len(self.tokens):
            raise self._error("has the same token twice")
        return {"type": "BPE", "vocab": vocabulary, "merges": merges, "dropout": None, **more}

    def _added(self) -> list[dict[str, Any]]:
        """Tokens that are found in a text before it is cut."""
        plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        return [
            {"id": i, "content": token, "special": kind == CONTROL, **plain}
            for i, (token, kind) in enumerate(zip(self.tokens, self.kinds, strict=True))
            if kind in (CONTROL, USER_DEFINED) and token
        ]

    def _around(self, begins: bool) -> dict[str, Any] | None:
        """The tokens that are put around every text."""
        whole: list[dict[str, Any]] = [{"Sequence": {"id": "A", "type_id": 0}}]
        named: dict[str, Any] = {}
        for setting, place, default in (("bos", 0, begins), ("eos", 2, False)):
            if not self._settings.get(f"tokenizer.ggml.add_{setting}_token", default):
                continue
            number = self._get(f"{setting}_token_id")
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
        found = self._get(key)
        if not isinstance(found, list) or not found:
            raise self._error(f"has no tokenizer.ggml.{key}, without which no text can be given to the model")
        return found

    def _get(self, key: str) -> Value | None:
        return self._settings.get(f"tokenizer.ggml.{key}")

    def _error(self, what: str) -> CheckpointError:
        return CheckpointError(f"{self._path} {what}")


def merges_of_scores(tokens: list[str], scores: list[float], kinds: list[int]) -> list[list[str]]:
    """The merges of a SentencePiece BPE vocabulary: all pairs of tokens that make a third, those of the highest score
    first; of one token, pairs in the order of their own ids, as SentencePiece tries them."""
    known = {token: i for i, token in enumerate(tokens) if kinds[i] == 1}
    found = []
    for token, i in known.items():
        pairs = [(token[:cut], token[cut:]) for cut in range(1, len(token))]
        pairs = [(left, right) for left, right in pairs if left in known and right in known]
        pairs.sort(key=lambda pair: (known[pair[0]], known[pair[1]]))
        found += [(-scores[i], *pair) for pair in pairs]
    found.sort(key=lambda entry: entry[0])  # stable
    return [[left, right] for _, left, right in found]
