"""The text that is looked at."""

from collections.abc import Sequence

from tfcore.measures.answers import answers_of
from tfcore.measures.one_text import UsedTokens, last_tokens
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, opened

TOKENS = 128  # of it


def _read(reading: Reading) -> UsedTokens:
    model, tokenizer = opened(reading.model)
    return last_tokens(model, tokenizer, reading.text, TOKENS, reading.bos)


read_of = kept(_read, entries=64)


def answers(reading: Reading, ids: Sequence[int]) -> list[str]:
    """The tokens that the model of a reading predicts, or its classes, as pieces of text."""
    return answers_of(*opened(reading.model)).tokens(ids)
