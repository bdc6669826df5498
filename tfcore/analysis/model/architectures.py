"""Encoder, decoder, encoder-decoder: who sees whom in the whole model, and each kind at the task it is trained for."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.config import Architecture
from tfcore.generation.generate import generate
from tfcore.masks import bidirectional, causal
from tfcore.measures.masked_tokens import guesses, mask_id, with_blanks
from tfcore.measures.one_text import piece_of
from tfcore.measures.text_loss import Likeliest, next_tokens, top
from tfcore.measures.token_text import visible
from tfcore.measures.translation import Writing, source_ids, writing, written
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import BPETokenizer, Tokenizer

END = "<end>"  # the separator, as it is shown
NAMED = 4  # tokens of a prediction that its sentence names


@dataclass(frozen=True, slots=True)
class AllowedPairs(Finding):
    """How many (query, key) pairs a mask allows.

    Args:
        read, written: tokens of the source and of the target.
    """

    architecture: Architecture
    read: int
    written: int
    allowed: int

    @property
    def sentence(self) -> str:
        kind = self.architecture if self.architecture == "encoder-decoder" else f"{self.architecture} only"
        return (
            f"Attention mask, {kind}, {self.read} source and {self.written} target tokens: {self.allowed} of "
            f"{(self.read + self.written) ** 2} pairs allowed."
        )


def seen(architecture: Architecture, read: int, written: int) -> Bool[ndarray, "query key"]:
    """Which token may look at which, of a text that is read and one that is written after it.

    An encoder sees all, in both directions; a decoder looks back only, at what it read and what it wrote alike. An
    encoder-decoder does both: what is read sees itself whole, what is written looks back at itself and, by
    cross-attention, at all that was read (arXiv:1706.03762, section 3.2.3).

    Args:
        read, written: how many tokens.
    """
    n = read + written
    if architecture == "encoder":
        return bidirectional(n).numpy()
    mask = causal(n)
    if architecture == "encoder-decoder":
        mask[:read, :read] = torch.ones(read, read, dtype=torch.bool)
    return mask.numpy()


def allowed_pairs(architecture: Architecture, read: int, written: int) -> AllowedPairs:
    """Count the pairs of a mask."""
    return AllowedPairs(architecture, read, written, int(seen(architecture, read, written).sum()))


@dataclass(frozen=True, slots=True)
class Prediction(Finding):
    """The most probable tokens at one place, the first first.

    Args:
        what: is predicted, and from what, as the sentence begins.
        tokens, probabilities: at least one.
    """

    what: str
    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]

    @property
    def sentence(self) -> str:
        first, *others = (
            f"“{visible(token)}” with {p:.1%}" for token, p in zip(self.tokens, self.probabilities, strict=True)
        )
        then = f", then {', '.join(others[: NAMED - 1])}" if others else ""
        return f"{self.what}: {first}{then}."


def prediction(what: str, found: Likeliest, tokenizer: Tokenizer) -> Prediction:
    """Ids with their probabilities as tokens."""
    end = getattr(tokenizer, "separator_id", None)
    tokens = (END if i == end else piece_of(tokenizer, i) for i in found.ids.tolist())
    return Prediction(what, tuple(tokens), tuple(found.probabilities.tolist()))


@dataclass(frozen=True, slots=True)
class Translated:
    """A sentence as an encoder-decoder translates it greedily.

    Args:
        source, target: tokens read and written, END the last of both.
        predictions: of each target token.
    """

    writing: Writing
    source: tuple[str, ...]
    target: tuple[str, ...]
    predictions: tuple[Prediction, ...]

    def weights(self, layer: int, head: int | None) -> Float[ndarray, "written read"]:
        """Cross-attention of a head, or the mean over the heads of its layer."""
        heads = self.writing.patterns[layer]
        return heads.mean(0) if head is None else heads[head]


def translated(model: Transformer, tokenizer: BPETokenizer, sentence: str, limit: int, count: int) -> Translated:
    """Translate the first `limit` tokens of a sentence, with the `count` most probable tokens at each step."""
    *ids, end = source_ids(tokenizer, sentence)
    ids = [*ids[:limit], end]
    found = writing(model, ids, written(model, tokenizer, ids))
    vocab = found.probabilities.shape[1]
    return Translated(
        found,
        (*tokenizer.tokens(ids[:-1]), END),
        (*tokenizer.tokens(found.written[:-1]), END),
        tuple(
            prediction(f"Token {step} of the translation, of {vocab:,} possible", top(row, count), tokenizer)
            for step, row in enumerate(found.probabilities)
        ),
    )


@dataclass(frozen=True, slots=True)
class StrongestSource(Finding):
    """The source token that a target token attends to most, the end of the sentence left out.

    Args:
        head: None where it is the mean over the heads of the layer.
        target, source: tokens.
        weight: of attention from one to the other.
        end: weight of the end of the sentence.
        shape: (target, source) tokens.
    """

    layer: int
    head: int | None
    target: str
    source: str
    weight: float
    end: float
    shape: tuple[int, int]

    @property
    def sentence(self) -> str:
        whose = "the mean of its heads" if self.head is None else f"head {self.head}"
        rest = f"; {END} has {self.end:.2f}" if self.end > self.weight else ""
        return (
            f"Cross-attention, (target, source) = ({self.shape[0]}, {self.shape[1]}), layer {self.layer}, {whose}: "
            f"“{visible(self.target)}” attends most to “{visible(self.source)}”, {self.weight:.2f}{rest}."
        )


def strongest_source(found: Translated, layer: int, head: int | None, step: int) -> StrongestSource:
    """What target token `step` attends to most; the end where nothing else was read."""
    weights = found.weights(layer, head)
    row = weights[step]
    best, end = (int(row[:-1].argmax()), float(row[-1])) if len(row) > 1 else (0, 0.0)
    n, across = weights.shape
    return StrongestSource(layer, head, found.target[step], found.source[best], float(row[best]), end, (n, across))


@dataclass(frozen=True, slots=True)
class LargestWeights(Finding):
    """How sharp the cross-attention of each layer is.

    Args:
        heads: of a layer.
        shape: (target, source) tokens.
        largest: see Writing.largest.
    """

    heads: int
    shape: tuple[int, int]
    largest: tuple[float, ...]

    @property
    def sentence(self) -> str:
        largest = ", ".join(f"{weight:.2f}" for weight in self.largest)
        return (
            f"The cross-attention of every head: {len(self.largest)} layers of {self.heads} heads, ({self.shape[0]}, "
            f"{self.shape[1]}) each. Mean largest weight of a token, layer by layer: {largest}."
        )


def largest_weights(found: Translated) -> LargestWeights:
    """The mean largest weights of a translation."""
    _, heads, n, across = found.writing.patterns.shape
    return LargestWeights(heads, (n, across), tuple(found.writing.largest.tolist()))


@dataclass(frozen=True, slots=True)
class Masked:
    """A text with masked tokens, as an encoder reads it.

    Args:
        tokens: without the separator before them; a masked one is the sign that stands for it.
        places: of the masked ones among them.
        predictions: of each.
    """

    tokens: tuple[str, ...]
    places: tuple[int, ...]
    predictions: tuple[Prediction, ...]


def masked(model: Transformer, tokenizer: BPETokenizer, text: str, sign: str, count: int) -> Masked:
    """Predict each masked token of a text, `sign` in the place of one, from both sides."""
    ids, blank = with_blanks(tokenizer, text, sign)[: model.config.max_seq_len], mask_id(tokenizer)
    places = [place for place, token in enumerate(ids) if token == blank]
    rows = guesses(model, tokenizer, ids) if places else np.empty((0, 0))
    what = f"The encoder's prediction, from all {len(ids) - 1} tokens"
    return Masked(
        tuple(sign if token == blank else piece_of(tokenizer, token) for token in ids[1:]),
        tuple(place - 1 for place in places),
        tuple(prediction(what, top(row, count), tokenizer) for row in rows),
    )


@dataclass(frozen=True, slots=True)
class Continued:
    """A text as a decoder goes on with it greedily.

    Args:
        tokens: written.
        prediction: of the first of them; None where there is no text.
    """

    tokens: tuple[str, ...]
    prediction: Prediction | None


def continued(
    model: Transformer, tokenizer: BPETokenizer, text: str, new: int, room: int, count: int, what: str
) -> Continued:
    """Go on with a text by `new` tokens, and say what was the most probable first.

    Args:
        room: tokens of the context that stay free; of a longer text the beginning is cut.
        what: see Prediction.
    """
    ids: Sequence[int] = tokenizer.encode(text)[-(model.config.max_seq_len - room) :]
    if not ids:
        return Continued((), None)
    found = generate(model, ids, max_new_tokens=new, temperature=0) if new else []
    return Continued(tuple(tokenizer.tokens(found)), prediction(what, next_tokens(model, ids, count), tokenizer))
