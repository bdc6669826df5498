"""A pasted text as a model reads it: its first tokens, as many as a page shows and the model takes, with or without the
token that says that a text begins (BOS); and what the heads of a model do on any text."""

from pages.ui import cache, controls, text
from tfcore.analysis import one_text
from tfcore.analysis.foundations import head_ranking
from tfcore.analysis.one_text import Begin as Begin
from tfcore.analysis.one_text import FirstTokens as FirstTokens

last_tokens = cache.of_model(max_entries=64)(one_text.last_tokens)
first_tokens = cache.of_model(max_entries=256)(one_text.first_tokens)
begin_of = cache.of_model(max_entries=64)(one_text.begin_of)
kinds_of = cache.of_model(max_entries=16)(head_ranking.standard_kinds)


def choose_bos(model_name: str, key: str = "bos") -> bool | None:
    """A control for the BOS token; returns the `bos` of first_tokens: True with it, False without, None as usual.

    Shows nothing for a model without one (encoders, encoder-decoders).
    """
    begin: Begin | None = begin_of(model_name)
    if begin is None:
        return None
    other = "without" if begin.usual else "with"
    token = text.escape(text.visible(begin.token), 24)
    usually = "puts it before every text" if begin.usual else "puts none before a text"
    words = f"{token} is the token this model knows as the beginning of a text (BOS). Its tokenizer {usually}."
    said = controls.segmented("BOS token", key, ["as usual", other], "as usual", help=words)
    return None if said == "as usual" else said == "with"
