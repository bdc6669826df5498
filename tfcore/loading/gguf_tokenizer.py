"""The tokenizer in a GGUF file, written as a tokenizer.json of the `tokenizers` library, which then runs it.

Two kinds: byte-level BPE, which lists its merges, and SentencePiece's BPE, which has a score for each token instead:
the merge that makes the token of the highest score comes first.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tfcore.files import CheckpointError
from tfcore.loading import tokenizer_json as parts
from tfcore.loading.gguf_file import GGUFMetadata
from tfcore.loading.tokenizer_json import BYTES, SPACE, UNKNOWN

_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SIGNS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_WORD = r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
_LLAMA3 = _CONTRACTIONS + _WORD + "{1,3}" + _SIGNS
_QWEN2 = _CONTRACTIONS + _WORD + _SIGNS
_QWEN35 = _QWEN2.replace(r"\p{L}+", r"[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")
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
_FALCON = (r"[\p{P}\$\+<=>\^~\|`]+", _GPT2, "[0-9][0-9][0-9]")
_BLOOM = r" ?[^(\s|.,!?…。，、।۔،)]+"
_CASED = (  # letters of DeepSeek's first pattern, as code points
    "41-5A 61-7A B5 C0-D6 D8-F6 F8-1BA 1BC-1BF 1C4-293 295-2AF 370-373 376 377 37B-37D 37F 386 388-38A 38C 38E-3A1 "
    "3A3-3F5 3F7-481 48A-52F 531-556 10A0-10C5 13A0-13F5 13F8-13FD 1C90-1CBA 1CBD-1CBF 1D00-1D2B 1D6B-1D77 1D79-1D9A "
    "1E00-1F15 1F18-1F1D 1F20-1F45 1F48-1F4D 1F50-1F57 1F59 1F5B 1F5D 1F5F-1F7D 1F80-1FB4 1FB6-1FBC 1FBE 1FC2-1FC4 "
    "1FC6-1FCC 1FD0-1FD3 1FD6-1FDB 1FE0-1FEC 1FF2-1FF4 1FF6-1FFC 2102 2107 210A-2113 2115 2119-211D 2124 2126 2128 "
    "212A-212D 212F-2134 2139 213C-213F 2145-2149 214E 2183 2184 2C00-2C7B 2C7E-2CE4 2CEB-2CEE 2CF2 2CF3 A640-A66D "
    "A680-A69B A722-A76F A771-A787 A78B-A78E AB70-ABBF FB00-FB06 FB13-FB17 FF21-FF3A FF41-FF5A 10400-1044F 104B0-104D3 "
    "104D8-104FB 10C80-10CB2 10CC0-10CF2 118A0-118DF 1E900-1E943"
)
_DEEPSEEK = (
    "[\r\n]",
    rf"\s?[{''.join('-'.join(chr(int(end, 16)) for end in one.split('-')) for one in _CASED.split())}]+",
    "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
    r"\s+$",
    "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+",
    r"\p{N}+",
)
_DEEPSEEK3 = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+",
)
_UNSTATED = (r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]")


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


_AS_GPT2 = _Cut([{**BYTES, "use_regex": True}])
_DIGIT_BY_DIGIT = _Cut([{"type": "Digits", "individual_digits": True}, {**BYTES, "use_regex": True}])
# By the name that llama.cpp gives it.
CUTS: dict[str, _Cut] = {
    **dict.fromkeys(("gpt-2", "olmo", "phi-2", "mpt", "jais", "exaone4", "modern-bert"), _AS_GPT2),
    **dict.fromkeys(("smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b"), _DIGIT_BY_DIGIT),
    **dict.fromkeys(
        ("llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "lfm2", "pixtral"),
        _Cut(parts.split(_LLAMA3), whole_words=True, begins=True),
    ),
    **dict.fromkeys(("dbrx", "smaug-bpe", "glm4", "chatglm-bpe"), _Cut(parts.split(_LLAMA3))),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen", "megrez"), _Cut(parts.split(_QWEN2), nfc=True)),
    "qwen35": _Cut(parts.split(_QWEN35), nfc=True),
    "tekken": _Cut(parts.split(_TEKKEN), whole_words=True, begins=True),
    **dict.fromkeys(("gpt-4o", "llama4"), _Cut(parts.split(_GPT4O))),
    "falcon": _Cut(parts.split(*_FALCON)),
    "deepseek-llm": _Cut(parts.split(*_DEEPSEEK)),
    "deepseek-v3": _Cut(parts.split(*_DEEPSEEK3)),
    "bloom": _Cut(parts.split(_BLOOM)),
    "default": _Cut(parts.split(*_UNSTATED)),
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
    try:
        return parts.written(_Described(settings, path).content())
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"{path} {error}") from error


class _Described:
    """The tokenizer as the settings describe it, checked."""

    def __init__(self, settings: GGUFMetadata, path: Path) -> None:
        self._settings, self._path = settings, path
        self.tokens = self._texts("tokens")
        parts.check_tokens(self.tokens)
        kinds = settings.listed("tokenizer.ggml.token_type")
        self.kinds = [1] * len(self.tokens) if kinds is None else np.asarray(kinds).tolist()
        if len(self.kinds) != len(self.tokens):
            raise self._error(f"has types of {len(self.kinds):,} tokens, and {len(self.tokens):,} tokens")
        for name, value in settings.items():
            key = name.removeprefix("tokenizer.ggml.")
            if key != name and not _KNOWN.fullmatch(key) and not (isinstance(value, bool) and not value):
                raise self._error(f"has {name[:80]}, which may change how texts are cut and cannot be read")

    def content(self) -> dict[str, Any]:
        kind = self._settings.text("tokenizer.ggml.model")
        if kind not in ("gpt2", "llama"):
            raise self._error(
                f"has a tokenizer of the kind {str(kind)[:40]!r}; gpt2 and llama (SentencePiece) can be read"
            )
        added = parts.added(self.tokens, self.kinds)
        return {"added_tokens": added, **(self._byte_level() if kind == "gpt2" else self._sentence_piece())}

    def _byte_level(self) -> dict[str, Any]:
        cut = self._settings.text("tokenizer.ggml.pre")
        cut = "gpt-2" if cut is None else cut  # files from before it was stated
        if cut not in CUTS:
            raise self._error(f"cuts texts by {str(cut)[:40]!r}; {', '.join(CUTS)} can be read")
        how = CUTS[str(cut)]
        return {
            "normalizer": {"type": "NFC"} if how.nfc else None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": how.steps},
            "post_processor": self._around(how.begins),
            "decoder": {**BYTES, "use_regex": True},
            "model": parts.bpe(
                parts.numbered(self.tokens), parts.pairs_of(self._texts("merges")), ignore_merges=how.whole_words
            ),
        }

    def _sentence_piece(self) -> dict[str, Any]:
        scores = self._settings.listed("tokenizer.ggml.scores")
        if not isinstance(scores, np.ndarray) or len(scores) != len(self.tokens):
            raise self._error("has a SentencePiece tokenizer without a score for each token")
        prefix = self._settings.flag("tokenizer.ggml.add_space_prefix", True)
        space = parts.replace(" ", SPACE)
        steps = [{"type": "Prepend", "prepend": SPACE}, space] if prefix else [space]
        return {
            "normalizer": {"type": "Sequence", "normalizers": steps},
            "pre_tokenizer": None,
            "post_processor": self._around(True),
            "decoder": parts.from_pieces(prefix),
            "model": parts.bpe(
                parts.numbered(self.tokens),
                parts.merges_of_scores(self.tokens, scores.tolist(), self.kinds),
                unk_token=next((t for t, kind in zip(self.tokens, self.kinds, strict=True) if kind == UNKNOWN), None),
                byte_fallback=True,
                fuse_unk=True,
            ),
        }

    def _around(self, begins: bool) -> dict[str, Any] | None:
        """The tokens that are put around every text."""
        put: list[list[tuple[str, int]]] = []
        for setting, default in (("bos", begins), ("eos", False)):
            if not self._settings.flag(f"tokenizer.ggml.add_{setting}_token", default):
                put.append([])
                continue
            number = self._settings.number(f"tokenizer.ggml.{setting}_token_id")
            if not isinstance(number, int) or not 0 <= number < len(self.tokens):
                raise self._error(f"puts its {setting} token around texts and does not say which that is")
            put.append([(self.tokens[number], number)])
        return parts.around(*put)

    def _texts(self, key: str) -> list[str]:
        texts = self._settings.listed(f"tokenizer.ggml.{key}")
        if not isinstance(texts, list) or not texts:
            raise self._error(f"has no tokenizer.ggml.{key}, without which no text can be given to the model")
        if len(texts) > parts.MOST_TEXTS:
            raise self._error(
                f"has {len(texts):,} texts in tokenizer.ggml.{key}; at most {parts.MOST_TEXTS:,} can be read"
            )
        return texts

    def _error(self, what: str) -> CheckpointError:
        return CheckpointError(f"{self._path} {what}")
