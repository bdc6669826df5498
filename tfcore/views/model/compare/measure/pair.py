"""One text in two models, token by token where both cut it into the same tokens: what each computes of it."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.loading.special_tokens import special_tokens
from tfcore.measures.one_text import last_tokens, one_text
from tfcore.model import NO_LOGITS
from tfcore.tokenizers.chat import ChatError, Message, conversation
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, Source, opened, title_of
from tfcore.views.versions import CHAT, version_of

TOKENS = 128  # of a text, its last


@dataclass(frozen=True, slots=True)
class PairedText:
    """A text as one of two models reads it.

    Args:
        ids: all that it reads.
        start: where in them the text begins; before it stands what a chat template says.
        tokens: of the text.
        total: tokens of the whole text, of which these are the last.
    """

    ids: tuple[int, ...]
    start: int
    tokens: tuple[str, ...]
    total: int

    @property
    def span(self) -> slice:
        """The places of the text."""
        return slice(self.start, self.start + len(self.tokens))


def _read(reading: Reading, most: int) -> PairedText:
    model, tokenizer = opened(reading.model)
    used = last_tokens(model, tokenizer, reading.text, most, reading.bos)
    version = version_of(reading.model) if isinstance(reading.model, str) else None
    if version is None or version.change != CHAT:
        return PairedText(tuple(used.ids), 0, tuple(used.tokens), used.total)
    special = special_tokens(version.base, tokenizer)
    if not special.template:
        raise ValueError(f"{version.base} comes without a chat template; compare an instruct model, such as smollm2")
    messages = [Message("user", tokenizer.decode(used.ids))]
    ids = tuple(one.id for one in conversation(tokenizer, special.template, messages, dict(special.names)))
    size = len(used.ids)
    start = next((i for i in range(len(ids) - size + 1) if ids[i : i + size] == tuple(used.ids)), None)
    if start is None or len(ids) > model.config.max_seq_len:
        raise ChatError(
            "within the chat template this text has other tokens; leave out blanks at its beginning and at its end"
        )
    return PairedText(ids, start, tuple(used.tokens), used.total)


_read_text = kept(_read, entries=64)


def read_text(reading: Reading, other: Source) -> PairedText:
    """The text as the model of the reading reads it: as many of its last tokens as both models take.

    Raises:
        ValueError: a chat template that is missing, or that changes the text.
    """
    most = min(TOKENS, *(opened(one)[0].config.max_seq_len for one in (reading.model, other)))
    plain = replace(reading, hide_sink=False, part=None)
    return _read_text(plain, most)


def both_texts(reading: Reading, other: Source) -> tuple[PairedText, PairedText]:
    """The text as both models read it."""
    return read_text(reading, other), read_text(replace(reading, model=other), reading.model)


def begin(reading: Reading, other: Source) -> PairedText:
    """The text as the first model reads it, once both models are there.

    Raises:
        ValueError: a version that cannot be made, or a chat template that changes the text.
    """
    first, _ = both_texts(reading, other)
    return first


def _same_tokens(first: Source, second: Source) -> bool:
    tokenizers = opened(first)[1], opened(second)[1]
    if tokenizers[0] is tokenizers[1]:
        return True
    return tokenizers[0].vocab_size == tokenizers[1].vocab_size and _pieces(tokenizers[0]) == _pieces(tokenizers[1])


def _pieces(tokenizer: Tokenizer) -> list[str]:
    return list(tokenizer.tokens(list(range(tokenizer.vocab_size))))


_have_same_tokens = kept(_same_tokens, entries=64)


def why_not_by_token(first: Source, second: Source) -> str | None:
    """Why predictions of two models cannot be compared token by token, or None."""
    sizes = [opened(one)[0].config.vocab_size for one in (first, second)]
    if sizes[0] == sizes[1] and _have_same_tokens(first, second):
        return None
    here, there = (f"{size:,}" for size in sizes)
    names = title_of(first), title_of(second)
    return (
        f"{names[0]} and {names[1]} have different vocabularies ({here} and {there} tokens): KL divergence compares "
        "probabilities of the same tokens, so it is not defined here, and surprise is compared by characters."
    )


def check_by_token(first: Source, second: Source) -> None:
    """Refuse two models of different vocabularies.

    Raises:
        ValueError: see why_not_by_token.
    """
    if (why := why_not_by_token(first, second)) is not None:
        raise ValueError(why)


@dataclass(frozen=True, slots=True)
class PairedRun:
    """One pass of a model over a text.

    Args:
        streams: the residual stream before each block, and after the last, of all that is read.
        hidden: the states that the unembedding reads, of the text alone.
    """

    streams: Float[Tensor, "place seq d_model"]
    hidden: Float[Tensor, "token d_model"]


@torch.no_grad()
def _run(reading: Reading, ids: tuple[int, ...], start: int, end: int) -> PairedRun:
    model, _ = opened(reading.model)
    last = model.config.n_layers - 1
    names = [*(f"blocks.{layer}.resid_pre" for layer in range(last + 1)), f"blocks.{last}.resid_post"]
    output = model(one_text(model, ids), capture=names, logits_to_keep=NO_LOGITS)
    streams = torch.cat([output.activations[name] for name in names])
    return PairedRun(streams, output.hidden[0, start:end])


_run_of = kept(_run, entries=8)


def run_of(reading: Reading, other: Source) -> PairedRun:
    """The pass of the reading's model over the text that both read."""
    read = read_text(reading, other)
    return _run_of(replace(reading, hide_sink=False, part=None), read.ids, read.span.start, read.span.stop)
