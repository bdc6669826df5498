"""The text that is looked at."""

from tfcore.measures.one_text import UsedTokens, last_tokens
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, opened

TOKENS = 128  # of it


def _read(reading: Reading) -> UsedTokens:
    model, tokenizer = opened(reading.model)
    return last_tokens(model, tokenizer, reading.text, TOKENS, reading.bos)


read_of = kept(_read, entries=64)
