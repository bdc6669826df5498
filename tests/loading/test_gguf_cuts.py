"""How texts are cut before any merge: by the patterns of llama.cpp's names, run by another library."""

import json
import string

import pytest
import regex
from tokenizers import Tokenizer

from tfcore.loading.gguf_tokenizer import CUTS

WORD = r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
SIGNS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SHORT = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
CASED = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
)
SLASHES = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
PLAIN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
PATTERNS = {
    "gpt-2": [PLAIN],
    "smollm": [r"\p{N}", PLAIN],
    "llama-bpe": [SHORT + WORD + "{1,3}" + SIGNS],
    "qwen2": [SHORT + WORD + SIGNS],
    "qwen35": [
        SHORT + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ],
    "tekken": ["|".join(CASED) + r"|\p{N}" + SLASHES],
    "gpt-4o": [f"{CASED[0]}{SHORT}?|{CASED[1]}{SHORT}?" + r"|\p{N}{1,3}" + SLASHES],
    "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", PLAIN.removesuffix(r"|\s+"), "[0-9][0-9][0-9]"],
    "deepseek-llm": [
        "[\r\n]",
        r"\s?[\p{Lu}\p{Ll}\p{Lt}--[\u0560-\u0588\u10d0-\u10fa\u10fd-\u10ff\u2d00-\u2d2d\U0001d400-\U0001d7cb]]+",
        r"\s?[!-/:-~！-／：-～‘-‟\u3000-。]+",
        r"\s+$",
        "[一-龥ࠀ-一가-\ud7ff]+",
        r"\p{N}+",
    ],
    "deepseek-v3": [
        r"\p{N}{1,3}",
        "[一-龥\u3040-ゟ゠-ヿ]+",
        "[" + "".join(f"\\{sign}" for sign in string.punctuation) + "][A-Za-z]+|"
        r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ],
    "bloom": [r" ?[^(\s|.,!?…。，、।۔،)]+"],
    "default": [r"[\p{P}\$\+<=>\^~\|]+", PLAIN.removesuffix(r"|\s+"), r"\p{N}+", "[0-9][0-9][0-9]"],
}
SAME_AS = {
    "olmo": "gpt-2",
    "starcoder": "smollm",
    "falcon3": "llama-bpe",
    "pixtral": "llama-bpe",
    "dbrx": "llama-bpe",
    "llama4": "gpt-4o",
}
CUT_TEXTS = (
    "It's 12345 o'clock, DON'T go;  camelCase HTTPServer éÀ Ωmega x=3.14\n\n\tdef f(x):\r\n  return 'a' // 2",
    "東京タワー 한국어 שלום мир ½ ²³ ٣٤٥ naïve café\u0301 🙂👩‍👩‍👧 ……—«»",
    "a  b   c\n \n  \n",
    "(see `this|that`), 12345… $5+1=6",
)


def cut_by(patterns, text):
    """Cut by one pattern after the other: what it matches stands alone, and so does what lies between."""
    pieces = [text]
    for pattern in patterns:
        parts = []
        for piece in pieces:
            end = 0
            for match in regex.finditer(pattern, piece, regex.VERSION1):
                parts += [piece[end : match.start()], match[0]]
                end = match.end()
            parts.append(piece[end:])
        pieces = [part for part in parts if part]
    return pieces


@pytest.mark.parametrize("cut", [*PATTERNS, *SAME_AS])
def test_texts_are_cut_by_the_patterns_that_llama_cpp_names(cut):
    steps = {"type": "Sequence", "pretokenizers": CUTS[cut].steps}
    said = {"version": "1.0", "added_tokens": [], "model": {"type": "BPE", "vocab": {}, "merges": []}}
    read = Tokenizer.from_str(json.dumps(said | {"pre_tokenizer": steps})).pre_tokenizer
    for text in CUT_TEXTS:
        found = [text[first:last] for _, (first, last) in read.pre_tokenize_str(text)]
        assert found == cut_by(PATTERNS[SAME_AS.get(cut, cut)], text)
