"""What goes into a walk and what comes out: characters, tokens and ids, logits, probabilities, the next token."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfcore.analysis.finding import Finding
from tfcore.analysis.start.walkthrough import Walk, WalkedText
from tfcore.measures.token_text import visible


@dataclass(frozen=True, slots=True)
class TextCounts(Finding):
    """A text in characters, tokens and ids.

    Args:
        stage: at which of "characters", "tokens" and "ids" it is.
        characters, tokens: how many.
        different: number of different ids.
        vocab: ids there are.
    """

    stage: str
    characters: int
    tokens: int
    different: int
    vocab: int

    @property
    def sentence(self) -> str:
        return {
            "characters": f"{self.characters} characters go in; under each is its number in Unicode.",
            "tokens": f"{self.characters} characters became {self.tokens} tokens, "
            f"{self.characters / self.tokens:.1f} characters each on average.",
            "ids": f"{self.tokens} tokens, {self.different} different ids of {self.vocab:,}.",
        }[self.stage]


def text_counts(walked: WalkedText, stage: str) -> TextCounts:
    """The counts for one of the stages of text."""
    return TextCounts(
        stage=stage,
        characters=sum(map(len, walked.tokens)),
        tokens=len(walked.tokens),
        different=len(set(walked.walk.ids)),
        vocab=walked.walk.config.vocab_size,
    )


@dataclass(frozen=True, slots=True)
class LogitRange(Finding):
    """The largest logits at one position.

    Args:
        vocab: logits per token.
        shown: how many are shown.
        token, position: the token whose row it is.
        highest, lowest: of those shown.
    """

    vocab: int
    shown: int
    token: str
    position: int
    highest: float
    lowest: float

    @property
    def sentence(self) -> str:
        return (
            f"{self.vocab:,} logits per token; shown are the {self.shown} ids that '{visible(self.token)}' "
            f"({self.position}) rates highest, from {self.highest:.1f} down to {self.lowest:.1f}."
        )


def logit_range(walk: Walk, tokens: Sequence[str]) -> LogitRange:
    """The logits of the candidates at the position looked at."""
    row = walk.logits[walk.position]
    token = tokens[walk.position]
    return LogitRange(walk.config.vocab_size, len(row), token, walk.position, float(row[0]), float(row[-1]))


@dataclass(frozen=True, slots=True)
class ProbabilityMass(Finding):
    """The largest probability at one position, and the sum of those shown."""

    token: str
    position: int
    largest: float
    shown: int
    together: float

    @property
    def sentence(self) -> str:
        return (
            f"For '{visible(self.token)}' ({self.position}) the highest score has the probability {self.largest:.2f}; "
            f"the {self.shown} ids shown have {self.together:.2f} together."
        )


def probability_mass(walk: Walk, tokens: Sequence[str]) -> ProbabilityMass:
    """The probabilities of the candidates at the position looked at."""
    row = walk.probabilities[walk.position]
    return ProbabilityMass(tokens[walk.position], walk.position, float(row[0]), len(row), float(row.sum()))


@dataclass(frozen=True, slots=True)
class LikelyTokens(Finding):
    """The most likely tokens.

    Args:
        tokens, probabilities: the most likely first.
        vocab: of how many tokens.
    """

    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]
    vocab: int

    @property
    def sentence(self) -> str:
        pairs = zip(self.tokens, self.probabilities, strict=True)
        listed = ", ".join(f"'{visible(token)}' {probability:.1%}" for token, probability in pairs)
        return f"The {len(self.tokens)} most likely tokens: {listed}; of {self.vocab:,} tokens."


def likely_tokens(walked: WalkedText, top: int) -> LikelyTokens:
    """The `top` most likely tokens at the position looked at."""
    walk = walked.walk
    probabilities = walk.probabilities[walk.position, :top].tolist()
    return LikelyTokens(walked.candidates[:top], tuple(probabilities), walk.config.vocab_size)


@dataclass(frozen=True, slots=True)
class LikeliestToken(Finding):
    """The most likely token and its probability; `filled` where it takes the place of a masked token."""

    token: str
    probability: float
    filled: bool

    @property
    def sentence(self) -> str:
        token = f"the most likely token, '{visible(self.token)}' ({self.probability:.1%})"
        return f"The masked token is replaced by {token}." if self.filled else f"The text goes on with {token}."


def likeliest_token(walked: WalkedText) -> LikeliestToken:
    """The most likely token at the position looked at."""
    probability = float(walked.walk.probabilities[walked.walk.position, 0])
    return LikeliestToken(walked.candidates[0], probability, walked.walk.config.architecture == "encoder")


def with_next_token(walked: WalkedText) -> tuple[list[str], int]:
    """The text with the most likely token in its place, and which of its tokens that is: of an encoder the masked
    one, of a decoder the one after the last."""
    tokens, at = list(walked.tokens), len(walked.tokens)
    if walked.walk.config.architecture == "encoder":
        at = walked.walk.position
        del tokens[at]
    tokens.insert(at, walked.candidates[0])
    return tokens, at
