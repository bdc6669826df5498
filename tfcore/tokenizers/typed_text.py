"""Special tokens in a typed text, such as <|im_start|>: text like any other, or, where somebody asks for it, the tokens
themselves.

The wish stands in the text, as a sign before each of them, so that it goes wherever the text goes and two readings of
a text are two texts. Nobody can type the sign where a text is not to be trusted: `unmarked` takes it out.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from tfcore.tokenizers.declared import BLANK
from tfcore.tokenizers.tokenizer import MARK, Tokenizer, unmarked


class Spelt(NamedTuple):
    """The special tokens of a tokenizer that a text spells out.

    Args:
        text: those that are read as text, unless they are marked.
        always: those that the tokenizer finds in any case, as its vocabulary has them among its pieces.
    """

    text: tuple[str, ...] = ()
    always: tuple[str, ...] = ()


def marked(text: str, tokens: Iterable[str]) -> str:
    """A text in which these special tokens are the tokens themselves to `encode`."""
    text = unmarked(text)
    for token in tokens:
        text = text.replace(token, MARK + token)
    return text


def spelt(tokenizer: Tokenizer, text: str) -> Spelt:
    """The special tokens that a text spells out, blanks such as [MASK] aside, which are read in any text."""
    text = unmarked(text)
    found = {token: i for token, i in tokenizer.special_tokens.items() if token in text and not BLANK.fullmatch(token)}
    if not found:
        return Spelt()
    around = Counter(tokenizer.encode(""))
    plain, read = (Counter(tokenizer.encode(said)) - around for said in (text, marked(text, found)))
    always = tuple(token for token, i in found.items() if plain[i])
    return Spelt(tuple(token for token, i in found.items() if read[i] and token not in always), always)
