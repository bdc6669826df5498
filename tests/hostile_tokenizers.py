"""Contents of tokenizer.json: one with every component that there is, and those made to end the process."""

import json
from typing import Any

LETTERS = "abcdefghijklmnopqrstuvwxyz '▁"
Content = dict[str, Any]


def content(model: Content | None = None, **more: Any) -> Content:
    """A tokenizer of letters; a space and an apostrophe are letters."""
    vocab = {letter: i for i, letter in enumerate(LETTERS)}
    made = model or {"type": "BPE", "vocab": vocab, "merges": []}
    parts = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder"))
    return {"version": "1.0", "added_tokens": [], **parts, "model": made, **more}


def replace(old: str, new: str) -> Content:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def regex(pattern: str) -> Content:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": "a"}


def split(pattern: str) -> Content:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def normalizers(*steps: Content) -> Content:
    return {"type": "Sequence", "normalizers": list(steps)}


def decoders(*steps: Content) -> Content:
    return {"type": "Sequence", "decoders": list(steps)}


def added(*tokens: str, first: int = len(LETTERS), normalized: bool = True) -> list[Content]:
    marks = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": normalized, "special": False}
    return [{"id": first + i, "content": token, **marks} for i, token in enumerate(tokens)]


def template(single: list[Content], ids: tuple[int, ...] = (0,)) -> Content:
    special = {"<s>": {"id": "<s>", "ids": list(ids), "tokens": ["<s>"] * len(ids)}}
    return {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": special}


SPECIAL = {"SpecialToken": {"id": "<s>", "type_id": 0}}
TEXT = {"Sequence": {"id": "A", "type_id": 0}}
CATASTROPHE = "(x+x+)+y"
CHAIN = [replace("q", "q" * 10)] * 10  # ten thousand million letters
PIECES = [["<unk>", 0.0], *([letter, -2.0] for letter in LETTERS), ["he", -1.5]]


def many(n: int, times: int) -> Content:
    """A vocabulary of n long pieces, over which the library sits for seconds."""
    return content({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], *_long(n, times)]})


def _long(n: int, times: int) -> list[list[Any]]:
    return [[f"{i:07d}" * times, -1.0] for i in range(n)]


def nested(kind: str, inside: str, depth: int) -> str:
    opening = json.dumps({"type": kind, inside: []})[:-2]
    return opening * depth + "]}" * depth


# One file with each component of the library, and what its parts are.
GOOD: dict[str, Content] = {
    **{
        kind: content(normalizer={"type": kind, **more})
        for kind, more in {
            "NFC": {},
            "NFD": {},
            "NFKC": {},
            "NFKD": {},
            "Lowercase": {},
            "StripAccents": {},
            "Nmt": {},
            "ByteLevel": {},
            "Strip": {"strip_left": True, "strip_right": True},
            "Prepend": {"prepend": "▁"},
            "BertNormalizer": {
                "clean_text": True,
                "handle_chinese_chars": True,
                "strip_accents": None,
                "lowercase": True,
            },
        }.items()
    },
    "Replace": content(normalizer=normalizers(replace(" ", "▁"), regex("[0-9]+"))),
    **{
        f"{kind}, before": content(pre_tokenizer={"type": kind, **more})
        for kind, more in {
            "BertPreTokenizer": {},
            "Whitespace": {},
            "WhitespaceSplit": {},
            "UnicodeScripts": {},
            "ByteLevel": {"add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "CharDelimiterSplit": {"delimiter": "e"},
            "Digits": {"individual_digits": True},
            "Metaspace": {"replacement": "▁", "prepend_scheme": "always", "split": True},
            "Punctuation": {"behavior": "Isolated"},
            "FixedLength": {"length": 3},
        }.items()
    },
    "Split": content(
        pre_tokenizer={
            "type": "Sequence",
            "pretokenizers": [
                split(
                    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
                    r"|\s+(?!\S)|\s+"
                ),
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
            ],
        }
    ),
    "TemplateProcessing": content(post_processor=template([SPECIAL, TEXT, SPECIAL])),
    "RobertaProcessing": content(
        post_processor={
            "type": "RobertaProcessing",
            "sep": ["a", 0],
            "cls": ["b", 1],
            "trim_offsets": True,
            "add_prefix_space": False,
        }
    ),
    "BertProcessing": content(post_processor={"type": "BertProcessing", "sep": ["a", 0], "cls": ["b", 1]}),
    "ByteLevel, after": content(
        post_processor={"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
    ),
    "decoders": content(
        decoder=decoders(
            replace("▁", " "),
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        )
    ),
    "Metaspace, decoder": content(
        decoder={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
    ),
    "BPEDecoder": content(decoder={"type": "BPEDecoder", "suffix": "</w>"}),
    "CTC": content(decoder={"type": "CTC", "pad_token": "a", "word_delimiter_token": " ", "cleanup": True}),
    "Unigram": content({"type": "Unigram", "unk_id": 0, "vocab": PIECES, "byte_fallback": False}),
    "WordPiece": content(
        {
            "type": "WordPiece",
            "unk_token": "a",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {"a": 0, "the": 1, "##y": 2, "cat": 3},
        },
        pre_tokenizer={"type": "Whitespace"},
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
    ),
    "added": content(added_tokens=added("[MASK]", "QU", normalized=False)),
}

# Refused when they are read.
NEVER: dict[str, str] = {
    "an added token that explodes": json.dumps(content(normalizer=normalizers(*CHAIN), added_tokens=added("q"))),
    "an id beyond all": json.dumps(content({"type": "BPE", "vocab": {"a": 2**31}, "merges": []})),
    "an id below zero": json.dumps(content({"type": "BPE", "vocab": {"a": -1}, "merges": []})),
    "a token of 2 MB": json.dumps(content({"type": "BPE", "vocab": {"a": 0, "b" * 2_000_000: 1}, "merges": []})),
    "a WordPiece of 2 MB": json.dumps(
        content(
            {
                "type": "WordPiece",
                "unk_token": "a",
                "continuing_subword_prefix": "#" * 2_000_000,
                "max_input_chars_per_word": 100,
                "vocab": {"a": 0, "#" * 2_000_000 + "b": 1},
            }
        )
    ),
    "a template of a million tokens": json.dumps(content(post_processor=template([SPECIAL] * 20, (0,) * 100_000))),
    "a pattern that does not compile": json.dumps(content(pre_tokenizer=split("((a{1,99999}){1,99999}"))),
    "normalizers that nest": '{"normalizer": ' + nested("Sequence", "normalizers", 20_000) + "}",
    "decoders that nest": '{"decoder": ' + nested("Sequence", "decoders", 20_000) + "}",
    "no bytes for a charsmap": json.dumps(content(normalizer={"type": "Precompiled", "precompiled_charsmap": "/w=="})),
    "a score that is none": json.dumps(content({"type": "Unigram", "unk_id": 9, "vocab": [["a", "x"]]})),
    "an unknown id out of reach": json.dumps(content({"type": "Unigram", "unk_id": 9, "vocab": [["a", -1.0]]})),
    "WordLevel": json.dumps(content({"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0}})),
    "not UTF-8": "\udcff",
    "nothing": "",
}

SEARCHED = ("x" * 20 + " ") * 1_000  # half a minute for a pattern that searches, which no limit of the library ends

# Read, and refused at a text with a q, at one that is long, or where ids become a text.
LATER: dict[str, tuple[Content, str]] = {
    "a chain": (content(normalizer=normalizers(*CHAIN)), "a q"),
    "a chain that starts itself": (content(normalizer=normalizers({"type": "Prepend", "prepend": "q"}, *CHAIN)), "a"),
    "a chain in steps": (content(normalizer=normalizers(*[normalizers(*CHAIN[:2])] * 5)), "a q"),
    "a long replacement": (content(normalizer=normalizers(replace("a", "b" * 100_000))), "a" * 20_000),
    "a chain of decoders": (content(decoder=decoders(*CHAIN)), "a q"),
    "a pattern that searches": (content(pre_tokenizer=split(CATASTROPHE)), "x" * 2_000),
    "a pattern that replaces": (content(normalizer=regex(CATASTROPHE)), "x" * 2_000),
    "a pattern of a decoder": (content(decoder=decoders({"type": "Fuse"}, regex(CATASTROPHE))), "x" * 2_000),
    "an id without a token": (content(post_processor=template([TEXT, SPECIAL], (4_000_000_000,))), "a"),
    "a template of the text": (content(post_processor=template([TEXT] * 100_000)), "x" * 2_000),
}
