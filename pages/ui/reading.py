"""A pasted text as a model reads it: its first tokens, as many as a page shows and the model takes."""

from typing import NamedTuple

from pages.ui import cache


class FirstTokens(NamedTuple):
    """The beginning of a text.

    Args:
        ids: of the tokens that are used.
        tokens: the same as pieces of text.
        total: how many tokens the whole text has.
    """

    ids: list[int]
    tokens: list[str]
    total: int


@cache.data(max_entries=256)
def first_tokens(model_name: str, pasted: str, most: int) -> FirstTokens:
    """At most `most` tokens of a text, and never more than the context of the model."""
    model, tokenizer = cache.model(model_name)
    ids = tokenizer.encode(pasted)
    kept = ids[: min(most, model.config.max_seq_len)]
    return FirstTokens(kept, tokenizer.tokens(kept), len(ids))
