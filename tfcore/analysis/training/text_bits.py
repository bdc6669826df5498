"""The surprisal of a text, token by token, in bits."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.measures.information import entropy, perplexity
from tfcore.measures.one_text import one_text
from tfcore.measures.quantities import in_ten, power
from tfcore.measures.statistics import ratio
from tfcore.measures.text_loss import WINDOW, TextBits, framed, likeliest, text_bits
from tfcore.measures.token_text import visible
from tfcore.model import NO_LOGITS, Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

UNIFORM = 8.0  # bits per byte of a uniform guess
SENTENCE = "The little girl went to the park with her mother, and there she saw a big dog."
ROWS = 64  # places whose logits are there at a time


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model predicted in one place of a text.

    Args:
        tokens, probabilities: the most probable tokens, the first of them the best.
        rank: of the token that stands there in the text; 1 is the best.
    """

    tokens: tuple[str, ...]
    probabilities: Float[ndarray, " guess"]
    rank: int


def predict_token(model: Transformer, tokenizer: Tokenizer, text: str, at: int, count: int) -> Prediction:
    """What a model predicts in the place of token `at`, from the tokens before it.

    Of these it reads the last ones, half a context or more, as `text_bits` does.

    Raises:
        ValueError: there is no such token, or nothing before it.
    """
    return predict_window(model, tokenizer, text, window_of(model, tokenizer, text, at), count)[at]


def window_of(model: Transformer, tokenizer: Tokenizer, text: str, at: int) -> int:
    """Where the window begins from which token `at` is predicted.

    Raises:
        ValueError: there is no such token, or nothing before it.
    """
    read = framed(tokenizer, text)
    place = at + len(read.before)
    if not (0 <= at < len(read.ids) and place):
        raise ValueError(f"token {at} has nothing before it, or is none of the {len(read.ids)} tokens")
    return window_start(place, min(model.config.max_seq_len, WINDOW))


@torch.no_grad()
def predict_window(
    model: Transformer, tokenizer: Tokenizer, text: str, start: int, count: int
) -> dict[int, Prediction]:
    """What a model predicts in the place of every token of a window that begins at `start`, in one pass: token ->
    prediction."""
    read, context = framed(tokenizer, text), min(model.config.max_seq_len, WINDOW)
    ids = [*read.before, *read.ids][start : start + context + 1]
    (hidden,) = model(one_text(model, ids[:-1]), logits_to_keep=NO_LOGITS).hidden
    actual = torch.tensor(ids[1:], device=hidden.device)
    found: list[Prediction] = []
    for some, tokens in zip(hidden.split(ROWS), actual.split(ROWS), strict=True):  # all logits would take 200 MB
        logits = model.to_logits(some)
        assert logits is not None
        ranks = (logits > logits.gather(1, tokens[:, None])).sum(1) + 1
        for row, rank in zip(logits, ranks.tolist(), strict=True):
            best = likeliest(row, count)
            found.append(Prediction(tuple(tokenizer.tokens(best.ids.tolist())), best.probabilities, rank))
    return dict(enumerate(found, start + 1 - len(read.before)))


def window_start(place: int, context: int) -> int:
    """Where the window begins in which `surprisal` predicts the token at `place`: they begin every half context."""
    step = max(1, context // 2)
    return max(0, -(-(place - context) // step)) * step


def knows_text(model: Transformer, tokenizer: Tokenizer) -> bool:
    """Whether a model needs fewer bits for a plain English sentence than a uniform guess of its bytes."""
    return text_bits(model, tokenizer, SENTENCE).per_byte < UNIFORM


def cut_bytes(text: str, most: int) -> str:
    """The beginning of a text that takes at most so many bytes, in whole characters."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= most:
        return text
    while data[most] & 0xC0 == 0x80:  # inside of a character
        most -= 1
    return data[:most].decode("utf-8", "surrogatepass")


# ---- findings ----


@dataclass(frozen=True, slots=True)
class TextCost(Finding):
    """What a text costs a model.

    Args:
        per_token, per_byte, total: bits.
        tokens, n_bytes: size of the text.
    """

    per_token: float
    per_byte: float
    total: float
    tokens: int
    n_bytes: int

    @property
    def metrics(self) -> dict[str, str]:
        """Name -> value of each number."""
        return {
            "bits per token": f"{self.per_token:.3f}",
            "perplexity": in_ten(perplexity(self.per_token)),
            "bits per byte": f"{self.per_byte:.3f}",
            "bits in all": f"{self.total:,.1f}",
            "tokens": f"{self.tokens:,}",
            "bytes": f"{self.n_bytes:,}",
        }

    @property
    def sentence(self) -> str:
        found = self.metrics
        return (
            f"{found['bits in all']} bits in all for {found['tokens']} tokens of {found['bytes']} bytes: "
            f"{found['bits per token']} bits per token (perplexity {found['perplexity']}), {found['bits per byte']} "
            "per byte."
        )


def text_cost(found: TextBits) -> TextCost:
    """The sums and means of a text's bits."""
    return TextCost(found.per_token, found.per_byte, found.total, len(found.bits), found.n_bytes)


@dataclass(frozen=True, slots=True)
class PerplexityLandmarks(Finding):
    """A perplexity among some that everybody can picture.

    Args:
        perplexity: of the text: 2 to the power of its bits a token.
        own: of guessing each token as often as it occurs in this very text, whatever stands before it.
        vocabulary: tokens, which is the perplexity of guessing all alike.
    """

    perplexity: float
    own: float
    vocabulary: int

    @property
    def sentence(self) -> str:
        found, own = (f"{value:,.1f}" if value < 1_000 else f"{value:,.0f}" for value in (self.perplexity, self.own))
        return (
            f"A perplexity of {found} is the uncertainty of {found} tokens that are equally likely each time. For "
            f"comparison: 1 is certainty, 2 a fair coin, 6 a die; {own}, guessing each token as often as it occurs in "
            f"this text; {self.vocabulary:,}, guessing all tokens of the vocabulary alike."
        )


def perplexity_landmarks(found: TextBits, vocabulary: int) -> PerplexityLandmarks:
    """The perplexity of a text beside those of guesses that read nothing."""
    counts = np.unique(found.ids, return_counts=True)[1]
    own = entropy(counts / counts.sum())
    return PerplexityLandmarks(perplexity(found.per_token), perplexity(own), vocabulary)


@dataclass(frozen=True, slots=True)
class FirstToken(Finding):
    """How the first token of a text is counted.

    Args:
        sign: what stands before it and says that a text begins, or "" where there is nothing.
        bits: of the first token.
        whole: the tokens give back the very text.
    """

    sign: str
    bits: float
    whole: bool

    @property
    def sentence(self) -> str:
        if self.sign:
            found = (
                f"The first token has no text before it: it is counted as read after {self.sign}, the sign that a text "
                "begins."
            )
        else:
            found = (
                "Nothing stands before the first token, so it is counted as if all tokens of the vocabulary were "
                f"equally likely: {self.bits:.1f} bits."
            )
        if self.whole:
            return found
        return (
            f"{found} This tokenizer does not give the text back to the letter, so bits per byte are not quite of this "
            "text."
        )


def first_token(found: TextBits) -> FirstToken:
    """How a text's first token is counted."""
    return FirstToken(visible(found.start) if found.start else "", float(found.bits[0]), found.whole)


@dataclass(frozen=True, slots=True)
class TokenSurprisal(Finding):
    """The surprisal of one token of a text.

    Args:
        at, token: which one.
        bits: its surprisal.
        rank: among the model's predictions; 1 is the best.
        share: of the bits of the whole text, from 0 to 1.
    """

    at: int
    token: str
    bits: float
    rank: int
    share: float

    @property
    def sentence(self) -> str:
        probability = 2.0**-self.bits
        shown = f"{probability:.2g}" if probability >= 1e-3 else power(probability)
        choices = float(f"{2**self.bits:.3g}")  # the bits are known no better
        like = f"{choices:,.{0 if self.bits > 6 else 1}f}" if self.bits < 30 else f"2^{self.bits:.0f}"
        return (
            f"Token {self.at}, “{self.token}”, came with probability {shown}: {self.bits:.2f} bits, as surprising as "
            f"one of {like} equally likely tokens. Its rank in the model's prediction is {self.rank:,}, and it is "
            f"{self.share:.1%} of the cost of the text."
        )


def token_surprisal(found: TextBits, at: int, rank: int) -> TokenSurprisal:
    """The surprisal of token `at`, which has this rank in the prediction."""
    bits = float(found.bits[at])
    return TokenSurprisal(at, visible(found.tokens[at]), bits, rank, ratio(bits, found.total))


@dataclass(frozen=True, slots=True)
class FirstGuess(Finding):
    """The most probable token in one place of a text, and the rank of the token that stands there."""

    token: str
    probability: float
    rank: int

    @property
    def sentence(self) -> str:
        return (
            f"Predicted there: first '{self.token}' with {self.probability:.1%}. The token of the text has rank "
            f"{self.rank:,}."
        )


def first_guess(found: Prediction) -> FirstGuess:
    """The first of a prediction's tokens."""
    return FirstGuess(visible(found.tokens[0]), float(found.probabilities[0]), found.rank)


@dataclass(frozen=True, slots=True)
class Concentration(Finding):
    """How few tokens make half of the bits of a text.

    Args:
        half: the fewest tokens with half of the bits.
        tokens, total: of the whole text, total in bits.
        largest, largest_bits: the token with the most bits.
    """

    half: int
    tokens: int
    total: float
    largest: str
    largest_bits: float

    @property
    def half_of_bits(self) -> str:
        """The first part of the sentence, without the sum."""
        return f"{self.half} of the {self.tokens} tokens make half of all bits."

    @property
    def sentence(self) -> str:
        return (
            f"{self.half} of {self.tokens} tokens make half of the {self.total:.1f} bits; the largest step is "
            f"'{self.largest}' with {self.largest_bits:.1f}."
        )


def concentration(found: TextBits) -> Concentration:
    """How the bits of a text are spread over its tokens."""
    largest_first = np.sort(found.bits)[::-1].cumsum()
    half = int(np.searchsorted(largest_first, found.total / 2)) + 1
    at = int(found.bits.argmax())
    return Concentration(half, len(found.bits), found.total, visible(found.tokens[at]), float(found.bits[at]))
