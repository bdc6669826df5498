"""A pasted text as a model reads it: its first tokens, as many as a page shows and the model takes."""

from pages.ui import cache
from tfcore.analysis import one_text
from tfcore.analysis.one_text import FirstTokens as FirstTokens

first_tokens = cache.of_model(max_entries=256)(one_text.first_tokens)
