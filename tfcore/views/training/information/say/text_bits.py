"""The words for what a text costs, token by token and beside other coders."""

from dataclasses import dataclass

import numpy as np

from tfcore.measures.information import entropy, perplexity
from tfcore.measures.quantities import in_ten, power
from tfcore.measures.statistics import ratio
from tfcore.measures.text_loss import TextBits
from tfcore.measures.token_text import visible
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.training.information.measure.compression import PerByte
from tfcore.views.training.information.measure.text_bits import RankedPrediction, half_of_bits


@dataclass(frozen=True, slots=True)
class TextCost(Finding):
    """The cost of a text for a model.

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
        metrics = self.metrics
        return (
            f"{metrics['bits in all']} bits in all for {metrics['tokens']} tokens of {metrics['bytes']} bytes: "
            f"{metrics['bits per token']} bits per token (perplexity {metrics['perplexity']}), "
            f"{metrics['bits per byte']} per byte."
        )


def text_cost(text_bits: TextBits) -> TextCost:
    """The sums and means of a text's bits."""
    return TextCost(text_bits.per_token, text_bits.per_byte, text_bits.total, len(text_bits.bits), text_bits.n_bytes)


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
        shown, own = (f"{value:,.1f}" if value < 1_000 else f"{value:,.0f}" for value in (self.perplexity, self.own))
        return (
            f"A perplexity of {shown} is the uncertainty of {shown} tokens that are equally likely each time. For "
            f"comparison: 1 is certainty, 2 a fair coin, 6 a die; {own}, guessing each token as often as it occurs in "
            f"this text; {self.vocabulary:,}, guessing all tokens of the vocabulary alike."
        )


def perplexity_landmarks(text_bits: TextBits, vocabulary: int) -> PerplexityLandmarks:
    """The perplexity of a text beside those of guesses that read nothing."""
    counts = np.unique(text_bits.ids, return_counts=True)[1]
    own = entropy(counts / counts.sum())
    return PerplexityLandmarks(perplexity(text_bits.per_token), perplexity(own), vocabulary)


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
            said = (
                f"The first token has no text before it: it is counted as read after {self.sign}, the sign that a text "
                "begins."
            )
        else:
            said = (
                "Nothing stands before the first token, so it is counted as if all tokens of the vocabulary were "
                f"equally likely: {self.bits:.1f} bits."
            )
        if self.whole:
            return said
        return (
            f"{said} This tokenizer does not give the text back to the letter, so bits per byte are not quite of this "
            "text."
        )


def first_token(text_bits: TextBits) -> FirstToken:
    """How a text's first token is counted."""
    return FirstToken(visible(text_bits.start) if text_bits.start else "", float(text_bits.bits[0]), text_bits.whole)


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


def token_surprisal(text_bits: TextBits, at: int, rank: int) -> TokenSurprisal:
    """The surprisal of token `at`, which has this rank in the prediction."""
    bits = float(text_bits.bits[at])
    return TokenSurprisal(at, visible(text_bits.tokens[at]), bits, rank, ratio(bits, text_bits.total))


def first_guess(ranked: RankedPrediction) -> Statement:
    """The most probable token in one place of a text, and the rank of the token that stands there."""
    return state(
        "first guess",
        "Predicted there: first '{token}' with {probability:.1%}. The token of the text has rank {rank:whole}.",
        token=visible(ranked.tokens[0]),
        probability=float(ranked.probabilities[0]),
        rank=ranked.rank,
    )


def concentration(text_bits: TextBits) -> Statement:
    """How few tokens make half of the bits of a text, and which has the most."""
    at = int(text_bits.bits.argmax())
    return state(
        "concentration",
        "{half} of {tokens} tokens make half of the {total:.1f} bits; the largest step is '{largest}' with "
        "{largest_bits:.1f}.",
        half=half_of_bits(text_bits),
        tokens=len(text_bits.bits),
        total=text_bits.total,
        largest=visible(text_bits.tokens[at]),
        largest_bits=float(text_bits.bits[at]),
    )


def few_tokens(text_bits: TextBits) -> Statement:
    """The first part of `concentration`, without the sum."""
    return state(
        "few tokens",
        "{half} of the {tokens} tokens make half of all bits.",
        half=half_of_bits(text_bits),
        tokens=len(text_bits.bits),
    )


# ---- beside others ----


def every_coder(coders: PerByte) -> Statement:
    """The bits that each model and each other coder needs, the fewest first."""
    each = ", ".join(f"{coder.name} {coder.per_byte:.3f}" for coder in coders.coders)
    return state("every coder", "Bits per byte: {each}.", each=each)


def least_bits(coders: PerByte) -> Statement:
    """The coder that needs the fewest bits per byte, and the models whose tokenizer changes the text."""
    left_out = " Not compared, as the tokenizer changes the text: {changed}." if coders.changed else ""
    return state(
        "least bits",
        "Least: {name} with {per_byte:.3f} bits per byte." + left_out,
        name=coders.coders[0].name,
        per_byte=coders.coders[0].per_byte,
        changed=", ".join(coders.changed),
    )
