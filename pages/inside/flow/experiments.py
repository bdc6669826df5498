"""The experiment of the page on the flow of information."""

from tfcore.analysis.inside.information_flow import Flow, LayerGuesses, factors_of, story
from tfcore.analysis.inside.passages import read_passage
from tfcore.figures.inside.information_flow import shares, shares_height
from tfcore.figures.shown import Shown
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def routes(
    model: Transformer,
    tokenizer: Tokenizer,
    text: str,
    limit: int,
    choice: int | None,
    flow: Flow,
    guesses: LayerGuesses,
    heads: str,
) -> Shown:
    """Where the state at a token, or a logit, came from: its shares in the streams of all tokens, layer by layer."""
    tokens = read_passage(model, tokenizer, text, limit, choice).tokens
    first = guesses.ranked(1)
    guess = tokenizer.tokens(first)[0] if first else None
    probability = float(guesses.final.max()) if first else 0.0
    told = story(flow, tokens, guess, probability, factors_of(model, heads), tokenizer.tokens(flow.toward))
    return Shown(shares(flow, tick_labels(tokens, 10), shares_height(len(tokens))), (told,))
