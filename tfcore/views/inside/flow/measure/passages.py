"""A text as a model of any wiring reads it, the token whose state is explained, and the attention layers it passes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from tfcore.block import Block
from tfcore.config import ModelConfig
from tfcore.inspection.capture import of_mixer
from tfcore.inspection.edits import Edit
from tfcore.measures.masked_tokens import mask_of, with_blanks
from tfcore.measures.one_text import first_tokens, last_tokens, one_text, piece_of, pieces_of, shortened
from tfcore.measures.translation import end_id, source_ids, written
from tfcore.model import Output, Transformer
from tfcore.tokenizers.tokenizer import BPETokenizer, Tokenizer

BLANK = "___"  # stands for a masked token in a text
START = "<start>"  # what a decoder reads first


@dataclass(frozen=True, slots=True)
class AttentionLayer:
    """One attention layer, and the feed-forward layer behind it where there is one.

    Args:
        name: its number; in an encoder-decoder also where it is, as in "encoder 2", "decoder 0", "cross 0".
        prefix: of the names of its block's activations.
        block: number of the block in its stack.
        is_cross: whether its keys are the encoder's tokens.
        is_last: of the attention layers of its block; the feed-forward layer comes after that one.
    """

    name: str
    prefix: str
    block: int
    is_cross: bool
    is_last: bool

    @property
    def is_encoder(self) -> bool:
        """Whether it is in the encoder of an encoder-decoder."""
        return self.prefix.startswith("encoder.")

    def activation(self, name: str) -> str:
        """The full name of an activation of its attention, as in "blocks.2.attn.z"."""
        return f"{self.prefix}{'cross_attn' if self.is_cross else 'attn'}.{name}"

    def of(self, model: Transformer) -> Block:
        """The block that the layer stands in."""
        stack = model.encoder if self.is_encoder else model.stack
        return cast("Block", stack.blocks[self.block])


@lru_cache(maxsize=64)
def attention_layers(config: ModelConfig) -> tuple[AttentionLayer, ...]:
    """The attention layers in the order of computation; each block of a decoder with an encoder has two."""
    if config.architecture != "encoder-decoder":
        return tuple(AttentionLayer(str(i), f"blocks.{i}.", i, False, True) for i in range(config.n_layers))
    encoder = (
        AttentionLayer(f"encoder {i}", f"encoder.blocks.{i}.", i, False, True) for i in range(config.encoder_layers)
    )
    decoder = (
        AttentionLayer(f"{'cross' if cross else 'decoder'} {i}", f"decoder.blocks.{i}.", i, cross, cross)
        for i in range(config.decoder_layers)
        for cross in (False, True)
    )
    return (*encoder, *decoder)


def columns_of_heads(config: ModelConfig) -> int:
    """How many places for heads a layer has: those of attention and, in a hybrid, behind them one for its mixer, all
    that is there in the place of attention or beside it."""
    return config.attention.n_heads + (config.mixer is not None)


@lru_cache(maxsize=64)
def heads_there(config: ModelConfig) -> tuple[tuple[bool, ...], ...]:
    """Which of these places are taken, by attention layer."""
    if config.mixer is None:
        every = (True,) * config.attention.n_heads
        return (every,) * len(attention_layers(config))
    return tuple(
        (*(config.attends(i),) * config.attention.n_heads, config.carried_by(i) is not None)
        for i in range(config.n_layers)
    )


def is_mixer(config: ModelConfig, head: int) -> bool:
    """Whether a place for a head is that of a mixer."""
    return head == config.attention.n_heads


def edit_of(config: ModelConfig, layer: int, head: int, by: float) -> Edit:
    """The edit that multiplies what a head, or a mixer, of an attention layer writes."""
    there = attention_layers(config)[layer]
    if is_mixer(config, head):
        return Edit.scale(f"{there.prefix}{of_mixer(config, layer)}", by)
    return Edit.scale(there.activation("z"), by, heads=[head])


@dataclass(frozen=True, slots=True)
class Passage:
    """A text as a model reads it.

    Args:
        ids: of its tokens; in an encoder-decoder those that the encoder reads.
        written: those that the decoder of an encoder-decoder has before it, START first; else none.
        tokens: all of them as pieces of text, `ids` first.
        target: place among them of the token whose last state is explained.
        total: how many tokens the whole text has.
        choices: what may be explained instead, as pieces of text.
        choice: place of the target among them.
        blank: id that no prediction may be, as it stands for a masked token.
    """

    ids: tuple[int, ...]
    written: tuple[int, ...]
    tokens: tuple[str, ...]
    target: int
    total: int
    choices: tuple[str, ...] = ()
    choice: int = 0
    blank: int | None = None

    @property
    def until(self) -> tuple[int, ...]:
        """The ids up to the target: a decoder reads no others for what it predicts there."""
        return self.ids[: self.target + 1]

    @property
    def row(self) -> int:
        """Place of the target in the stack that it is in."""
        return self.target - (len(self.ids) if self.written else 0)

    def places(self, layer: AttentionLayer) -> tuple[range, range]:
        """Places of the tokens whose streams a layer changes, and of those it reads."""
        n, every = len(self.ids), len(self.tokens)
        if not self.written:
            return range(n), range(n)
        rows = range(n) if layer.is_encoder else range(n, every)
        return rows, range(n) if layer.is_cross else rows

    def run(self, model: Transformer, capture: Sequence[str] = (), edits: Sequence[Edit] = ()) -> Output:
        """One pass of the model over it."""
        read = one_text(model, self.written) if self.written else None
        return model(one_text(model, self.ids), decoder_ids=read, capture=capture, edits=edits)


def of_ids(ids: Sequence[int], target: int, written: Sequence[int] = ()) -> Passage:
    """A passage of ids without a text, such as random ones."""
    return Passage(tuple(ids), tuple(written), tuple(map(str, (*ids, *written))), target, len(ids))


def read_passage(model: Transformer, tokenizer: Tokenizer, text: str, limit: int, choice: int | None = None) -> Passage:
    """The last tokens of a text, and the token to explain: of a decoder any, at first the last, which predicts the next
    one; of an encoder any, at first a masked one; of an encoder-decoder, which reads the first tokens, the one that
    predicts a token of its translation; of a model that tells classes of texts apart the one at which it reads them.

    Args:
        limit: tokens in all.
        choice: of those that can be explained; None, or one that is not there, means the usual one.

    Raises:
        ValueError: a model whose classes are read from the mean of all tokens' states.
    """
    classes = model.config.classes
    if classes is not None and classes.place == "mean":
        raise ValueError("place='mean': the classes are read from all tokens' states together, and a flow ends at one")
    if model.config.reads_twice:
        return _twice_read_passage(model, tokenizer, text, limit)
    if classes is not None and classes.place != "each":
        read = last_tokens(model, tokenizer, text, limit)
        target = model.config.read_at % max(1, len(read.ids))
        at = tuple(read.tokens[target : target + 1])
        return Passage(tuple(read.ids), (), tuple(read.tokens), target, read.total, at)
    match model.config.architecture:
        case "decoder":
            read = last_tokens(model, tokenizer, text, limit)
            tokens = tuple(read.tokens)
            last = max(len(tokens) - 1, 0)
            target = choice if choice is not None and 0 <= choice < len(tokens) else last
            return Passage(tuple(read.ids), (), tokens, target, read.total, tokens, target)
        case "encoder":
            return _encoder_passage(model, tokenizer, text, limit, choice)
    return _translated_passage(model, tokenizer, text, limit, choice)


def _twice_read_passage(model: Transformer, tokenizer: Tokenizer, text: str, limit: int) -> Passage:
    """A text that both stacks read, and the last token of the decoder, at which its class is read."""
    read = first_tokens(model, tokenizer, text, limit // 2)
    again = (START, *read.tokens[:-1]) if read.ids else ()
    before = (model.config.start_id, *read.ids[:-1]) if read.ids else ()
    tokens = (*read.tokens, *again)
    return Passage(tuple(read.ids), before, tokens, max(len(tokens) - 1, 0), read.total, again[-1:])


def _encoder_passage(model: Transformer, tokenizer: Tokenizer, text: str, limit: int, choice: int | None) -> Passage:
    blank = mask_of(tokenizer, model.config.vocab_size) if model.config.classes is None else None
    if isinstance(tokenizer, BPETokenizer):
        ids, begins = with_blanks(tokenizer, text, BLANK) if blank is not None else tokenizer.encode(text), 1
        ends = 0
    else:
        mark = "" if blank is None else piece_of(tokenizer, blank)
        ids, around = tokenizer.encode(text.replace(BLANK, mark)), len(tokenizer.encode(""))
        begins, ends = around // 2, around - around // 2
    kept = shortened(tokenizer, ids, min(limit, model.config.max_seq_len), "last", begins)
    pieces = pieces_of(tokenizer, kept)
    tokens = tuple(BLANK if one == blank else piece for one, piece in zip(kept, pieces, strict=True))
    hidden = [place for place, one in enumerate(kept) if one == blank]
    words = [place for place in range(begins, len(kept) - ends) if any(map(str.isalpha, tokens[place]))]
    usual = [*hidden, *reversed(words), 0][0]
    target = choice if choice is not None and 0 <= choice < len(kept) else usual
    return Passage(tuple(kept), (), tokens, target, len(ids), tokens, target, blank)


def _translated_passage(model: Transformer, tokenizer: Tokenizer, text: str, limit: int, choice: int | None) -> Passage:
    every = source_ids(tokenizer, text)
    ids = every if len(every) <= limit // 2 else [*every[: limit // 2 - 1], end_id(tokenizer)]
    target = written(model, cast("BPETokenizer", tokenizer), ids)[: limit - len(ids)]
    choices = tuple(piece_of(tokenizer, one) for one in target)
    step = choice if choice is not None and 0 <= choice < len(target) else len(target) // 2
    before = target[:step]
    tokens = (*(piece_of(tokenizer, one) for one in ids), START, *choices[:step])
    start = model.config.start_id
    return Passage(tuple(ids), (start, *before), tokens, len(tokens) - 1, len(every), choices, step)
