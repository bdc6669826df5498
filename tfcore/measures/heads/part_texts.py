"""A text as one part of a model reads it: a stack of it, or what goes from one stack to the other."""

import math
from dataclasses import dataclass

from tfcore.config import ModelConfig
from tfcore.measures.one_text import UsedTokens, given_ids, last_tokens, pieces_of
from tfcore.measures.parameter_count import parameters
from tfcore.measures.translation import ends_with_separator, source_ids, written
from tfcore.model import Transformer
from tfcore.part_configs import Part as Part
from tfcore.tokenizers.tokenizer import Tokenizer

MOST_WEIGHTS = 71_000_000  # of all maps of a part together: 284 MB, for 512 tokens in 270 heads
LONG = 512  # tokens that a model with more heads reads, where all maps have at most a third as many numbers as itself


def parts(config: ModelConfig) -> tuple[Part, ...]:
    """The parts of a model that have attention: one stack of it, or an encoder, a decoder and what goes from one to the
    other."""
    if config.architecture == "encoder-decoder":
        return ("encoder", "decoder", "cross")
    return (config.architecture,)


def longest_text(config: ModelConfig) -> int:
    """How many tokens of a text can be read with every map kept: the model's context, or what MOST_WEIGHTS and LONG
    allow."""
    heads = max(config.encoder_layers, config.decoder_layers) * config.attention.n_heads
    fits = math.isqrt(parameters(config).total // 3 // heads)
    return min(config.max_seq_len, max(math.isqrt(MOST_WEIGHTS // heads), min(LONG, fits)))


@dataclass(frozen=True, slots=True)
class TextIds:
    """A text as one part of a model reads it.

    Args:
        ids: the token ids; the encoder's, in an encoder-decoder.
        decoder_ids: what an encoder-decoder's decoder reads; None in other models.
        queries, keys: the tokens of that part.
        read: the tokens of `ids`.
        dropped: how many tokens of the text did not fit.
    """

    ids: list[int]
    decoder_ids: list[int] | None
    queries: list[str]
    keys: list[str]
    read: list[str]
    dropped: int


def text_ids(
    model: Transformer, tokenizer: Tokenizer, text: str, part: Part, *, bos: bool | None = None, most: int | None = None
) -> TextIds | None:
    """The tokens of a text and, of an encoder-decoder, of its translation; see read_attention.

    Returns:
        None where the tokenizer makes no token of the text.
    """
    most = min(most or MOST_WEIGHTS, longest_text(model.config))
    if model.config.architecture != "encoder-decoder":
        if given := given_ids(model, tokenizer, text):
            read = UsedTokens(given[-most:], pieces_of(tokenizer, given[-most:]), len(given))
        else:
            read = last_tokens(model, tokenizer, text, most, bos)
        if not read.ids:
            return None
        return TextIds(read.ids, None, read.tokens, read.tokens, read.tokens, read.total - len(read.ids))
    if not (ids := source_ids(tokenizer, text)):
        return None
    dropped = max(0, len(ids) - most)
    ids = [*ids[: len(ids) - 1 - dropped], ids[-1]]  # the last one says that the text ends
    # The decoder reads what it has written so far, or the same text, one position further on.
    decoder_ids = [model.config.start_id, *_target(model, tokenizer, ids)[:-1]][:most]
    source = [*tokenizer.tokens(ids[:-1]), "<end>"] if ends_with_separator(tokenizer) else tokenizer.tokens(ids)
    target = ["<start>", *tokenizer.tokens(decoder_ids[1:])]
    queries, keys = source if part == "encoder" else target, target if part == "decoder" else source
    return TextIds(ids, decoder_ids, queries, keys, source, dropped)


def _target(model: Transformer, tokenizer: Tokenizer, ids: list[int]) -> list[int]:
    """The ids of what an encoder-decoder writes after it has read these; of a head that tells classes apart, which
    reads the text twice, the same ids."""
    if model.config.head == "none":
        return []
    return ids if model.config.reads_twice else written(model, tokenizer, ids)
