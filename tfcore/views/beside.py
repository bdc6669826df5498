"""Two readings beside each other: what they are called, and where the tokens of one stand in the other."""

from collections.abc import Sequence

from tfcore.measures.alignment import aligned, aligned_by_characters
from tfcore.measures.token_text import plotly_escape, shorten
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, name_of

LONGEST = 40  # letters of a name in a legend


def names_of(first: Reading, second: Reading) -> tuple[str, str]:
    """Both in words: by their models where those differ, else as this text and the other."""
    if first.model == second.model:
        return "this text", "the other text"
    return name_of(first.model), name_of(second.model)


def legend_of(first: Reading, second: Reading) -> tuple[str, str]:
    """The same, safe for plotly."""
    here, there = (plotly_escape(shorten(name, LONGEST)) for name in names_of(first, second))
    return here, there


def counterpart(first: Reading, second: Reading, tokens: Sequence[str], others: Sequence[str], place: int) -> int:
    """The place in the second reading of the token at a place of the first; its last token where it has none such.

    Args:
        tokens, others: of both readings.
    """
    align = aligned if first.model == second.model else aligned_by_characters
    found = None if place == len(tokens) - 1 else align(tokens, others)[place]
    return len(others) - 1 if found is None else found


def ids_by_text(model: Transformer, tokenizer: Tokenizer) -> dict[str, int]:
    """Each token of a vocabulary as a piece of text, and its id; the first id of those that look alike."""
    pieces = tokenizer.tokens(list(range(min(model.config.vocab_size, tokenizer.vocab_size))))
    return {piece: id_ for id_, piece in reversed(list(enumerate(pieces)))}


ids_of = kept(ids_by_text, entries=4)
