"""The experiment of the page on the flow of information."""

from tfcore.analysis.inside.information_flow import Flow, LayerGuesses, factors_of, story
from tfcore.analysis.one_text import first_tokens
from tfcore.analysis.token_text import tick_labels
from tfcore.figures.inside.information_flow import shares, shares_height
from tfcore.figures.shown import Shown
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def routes(
    model: Transformer, tokenizer: Tokenizer, text: str, limit: int, flow: Flow, guesses: LayerGuesses, heads: str
) -> Shown:
    """Where the state at the end of a text came from: its shares in the streams of all tokens, layer by layer."""
    read = first_tokens(model, tokenizer, text, limit)
    token = tokenizer.tokens([int(guesses.final.argmax())])[0]
    told = story(flow, read.tokens, token, float(guesses.final.max()), factors_of(model, heads))
    return Shown(shares(flow, tick_labels(read.tokens, 10), shares_height(len(read.tokens))), (told,))
