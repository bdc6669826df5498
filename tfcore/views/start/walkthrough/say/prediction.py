"""Sentences on what goes into a walk and what comes out: characters, tokens and ids, logits, probabilities, tokens."""

from collections.abc import Sequence

from tfcore.measures.token_text import characters_of, visible
from tfcore.views.finding import Statement, state
from tfcore.views.start.walkthrough.measure.walk import Walk, WalkedText

_COUNTS = {
    "characters": "{characters} characters go in; under each is its number in Unicode.",
    "tokens": "{characters} characters became {tokens} tokens, {each:.1f} characters each on average.",
    "ids": "{tokens} tokens, {different} different ids of {vocab:,}.",
}


def text_counts(walked: WalkedText, stage: str) -> Statement:
    """A text in characters, tokens and ids, at the stage of that name."""
    characters = len(characters_of(walked.tokens))
    return state(
        "text counts",
        _COUNTS[stage],
        characters=characters,
        tokens=len(walked.tokens),
        each=characters / len(walked.tokens),
        different=len(set(walked.walk.ids)),
        vocab=walked.walk.config.vocab_size,
    )


def logit_range(walk: Walk, tokens: Sequence[str]) -> Statement:
    """The logits of the candidates at the position looked at."""
    row = walk.logits[walk.position]
    return state(
        "logit range",
        "{vocab:,} logits per token; shown are the {shown} ids that '{token}' ({position}) rates highest, from "
        "{highest:.1f} down to {lowest:.1f}.",
        vocab=walk.config.vocab_size,
        shown=len(row),
        token=visible(tokens[walk.position]),
        position=walk.position,
        highest=float(row[0]),
        lowest=float(row[-1]),
    )


def probability_mass(walk: Walk, tokens: Sequence[str]) -> Statement:
    """The probabilities of the candidates at the position looked at: the largest, and their sum."""
    row = walk.probabilities[walk.position]
    return state(
        "probability mass",
        "For '{token}' ({position}) the highest score has the probability {largest:.2f}; the {shown} ids shown have "
        "{together:.2f} together.",
        token=visible(tokens[walk.position]),
        position=walk.position,
        largest=float(row[0]),
        shown=len(row),
        together=float(row.sum()),
    )


def likely_tokens(walked: WalkedText, top: int) -> Statement:
    """The `top` most likely tokens at the position looked at."""
    tokens = walked.candidates[:top]
    probabilities = walked.walk.probabilities[walked.walk.position, :top].tolist()
    pairs = zip(tokens, probabilities, strict=True)
    return state(
        "likely tokens",
        "The {count} most likely tokens: {listed}; of {vocab:,} tokens.",
        count=len(tokens),
        listed=", ".join(f"'{visible(token)}' {probability:.1%}" for token, probability in pairs),
        vocab=walked.walk.config.vocab_size,
    )


def likeliest_token(walked: WalkedText) -> Statement:
    """The most likely token at the position looked at: of an encoder it replaces the masked one."""
    fills = walked.walk.config.architecture == "encoder"
    return state(
        "likeliest token",
        ("The masked token is replaced by" if fills else "The text goes on with")
        + " the most likely token, '{token}' ({probability:.1%}).",
        token=visible(walked.candidates[0]),
        probability=float(walked.walk.probabilities[walked.walk.position, 0]),
    )
