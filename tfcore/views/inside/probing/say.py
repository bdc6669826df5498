"""Sentences about probes, about directions and what adding them does, and about two sentences."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.measures.largest import first_largest
from tfcore.measures.statistics import wilson
from tfcore.measures.token_text import visible
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.finding import Statement, state
from tfcore.views.inside.probing.measure.by_layer import ClassCounts, Probed, layer_name
from tfcore.views.inside.probing.measure.sentence_pairs import SentencePair
from tfcore.views.inside.probing.measure.steering import FACTORS, MOST_NATS, MOST_REPEATED, RUN, Steered, collapsed
from tfcore.views.inside.probing.measure.two_classes import METHODS, Method, PointsAt

NAMED = 4  # tokens on either side of a direction

# ---- what a probe reads ----


def readable(probed: Probed) -> Statement:
    """How well a property is read at the layer where it is read best, the first of them where several are."""
    accuracy, total = probed.accuracy(), len(probed.words)
    best = int(accuracy.argmax())
    low, high = wilson(probed.right(best), total)
    control = float(probed.control()[best])
    return state(
        "readable",
        "{target} ({classes} classes) of {words} held-out words: read best at {best}, {accuracy:.1%} correct (95 % "
        "interval {low:.1%} to {high:.1%}), against {embedding:.1%} at the embedding and {majority:.1%} by the most "
        "frequent class. The control task reaches {control:.1%} there: selectivity {selectivity:+.1f} percentage "
        "points.",
        target=probed.target.capitalize(),
        classes=len(probed.classes),
        words=total,
        best=layer_name(best),
        accuracy=float(accuracy[best]),
        low=low,
        high=high,
        embedding=float(accuracy[0]),
        majority=probed.majority / total,
        control=control,
        selectivity=100 * (float(accuracy[best]) - control),
    )


def class_read(counts: ClassCounts) -> Statement:
    """How many words are read correctly at one layer, and the most frequent mistake."""
    name = layer_name(counts.layer)
    values = {"layer": f"{name[0].upper()}{name[1:]}", "right": sum(counts.right), "words": sum(counts.counts)}
    words = "{layer}: {right} of {words} words are read correctly"
    if counts.confused is None:
        return state("classes", f"{words}.", **values)
    true, taken, times = counts.confused
    return state(
        "classes",
        f"{words}; the most frequent mistake: '{{true}}' read as '{{taken}}', {{times}} of {{count}} times.",
        **values,
        true=true,
        taken=taken,
        times=times,
        count=counts.counts[counts.classes.index(true)],
    )


# ---- two classes ----


def told_apart(right: Bool[ndarray, "layer sentence"], layer: int, method: Method) -> Statement:
    """How many held-out sentences fall on the right side at one layer, and where the most do."""
    counts, total = right.sum(1), right.shape[1]
    best = int(counts.argmax())
    low, high = wilson(int(counts[layer]), total)
    return state(
        "told apart",
        "Each line held out in turn, {method}: {right} of {total} sentences fall on the right side at {layer} (95 % "
        "interval {low:.0%} to {high:.0%}; a guess is right in half of them). The most are {most}, first at {best}.",
        method=METHODS[method],
        right=int(counts[layer]),
        total=total,
        layer=layer_name(layer),
        low=low,
        high=high,
        most=int(counts[best]),
        best=layer_name(best),
    )


def points_at(pointed: PointsAt) -> Statement:
    """The tokens whose unembedding vectors a direction is most nearly parallel to, and most nearly opposite."""
    return state(
        "points at",
        "Read by the unembedding, the {title} points at {towards} (cosine up to {most:.2f}) and away from {away} "
        "({least:.2f}).",
        title=pointed.title,
        towards=_quoted(pointed.tokens[: pointed.along][:NAMED]),
        most=pointed.cosines[0],
        away=_quoted(pointed.tokens[pointed.along :][::-1][:NAMED]),
        least=pointed.cosines[-1],
    )


def _quoted(tokens: Sequence[str]) -> str:
    return ", ".join(f"'{visible(token)}'" for token in tokens)


def projected(scores: Float[ndarray, " seq"], tokens: Sequence[str], title: str) -> Statement:
    """The tokens of a text that lie farthest along a direction, on either side."""
    high, low = int(np.nanargmax(scores)), int(np.nanargmin(scores))
    return state(
        "projected",
        "Along the {title}, '{high}' lies farthest on the side of the first class ({high_score:+.2f}) and '{low}' on "
        "that of the second ({low_score:+.2f}).",
        title=title,
        high=visible(tokens[high]),
        high_score=float(scores[high]),
        low=visible(tokens[low]),
        low_score=float(scores[low]),
    )


# ---- steering ----


def steered_next(steered: Steered, factor: float, tokenizer: Tokenizer) -> Statement:
    """The most probable next token at one of FACTORS, beside the one without steering."""
    before, after = (steered.probabilities[FACTORS.index(one)] for one in (0.0, factor))
    usual, token = int(before.argmax()), int(after.argmax())
    names = [visible(name) for name in tokenizer.tokens([token, usual])]
    values = {"token": names[0], "probability": float(after[token]), "before": float(before[token])}
    if not factor:
        words = "Without steering, the most probable next token is '{token}' ({probability:.1%})."
    elif token == usual:
        words = (
            "{title}, added with factor {factor:+g}: the most probable next token is still '{token}', "
            "{probability:.1%} instead of {before:.1%}."
        )
    else:
        words = (
            "{title}, added with factor {factor:+g}: the most probable next token is '{token}', {probability:.1%} "
            "instead of {before:.1%}; '{usual}' goes from {usual_before:.1%} to {usual_after:.1%}."
        )
    return state(
        "steered next",
        words,
        **values,
        title=f"{steered.title[0].upper()}{steered.title[1:]}",
        factor=factor,
        usual=names[1],
        usual_before=float(before[usual]),
        usual_after=float(after[usual]),
    )


def collapse(steered: Steered) -> Statement:
    """The factors nearest to 0 at which a finished text has collapsed, on either side."""
    bad = [factor for factor, one in zip(FACTORS, collapsed(steered), strict=True) if one]
    sides = [max((one for one in bad if one < 0), default=None), min((one for one in bad if one > 0), default=None)]
    at = " and ".join(f"{one:+g}" for one in sides if one is not None)
    where = "first collapses at factor {at}" if at else "collapses at none of the factors from {first:g} to {last:g}"
    middle = FACTORS.index(0.0)
    return state(
        "collapse",
        f"The text {where}: more than {{most_repeated:.0%}} of its runs of {{run}} tokens stood in it before, or its "
        "cross-entropy by the model as it is exceeds {most_nats:g} nats per token. Without steering: {repeated:.0%} "
        "and {nats:.2f} nats.",
        at=at,
        first=FACTORS[0],
        last=FACTORS[-1],
        most_repeated=MOST_REPEATED,
        run=RUN,
        most_nats=MOST_NATS,
        repeated=float(steered.repeated()[middle]),
        nats=0.0 if steered.nats is None else float(steered.nats[middle]),
    )


# ---- two sentences ----


def similarity(pair: SentencePair) -> Statement:
    """How similar two sentences are, and the pair of ordinary tokens that adds most (any pair where there are none)."""
    if pair.pooling != "mean":
        place = 0 if pair.pooling == "first" else -1
        return state(
            "similarity of one token each",
            "Cosine similarity {cosine:.3f}, of the states of the {which} tokens alone, '{one}' and '{two}': this is "
            "where the model was trained to gather a sentence.",
            cosine=pair.cosine,
            which=pair.pooling,
            one=visible(pair.one[place]),
            two=visible(pair.two[place]),
        )
    one, two = (np.array(own) for own in pair.special)
    ordinary = ~one[:, None] & ~two[None]
    parts = np.where(ordinary, pair.parts, -np.inf) if ordinary.any() else pair.parts
    i, j = np.unravel_index(first_largest(parts), parts.shape)
    special = "" if ordinary.all() else " Pairs with a special token add {special:+.3f}."
    return state(
        "similarity",
        "Cosine similarity {cosine:.3f}, the sum of {n} x {m} pairs of tokens. '{one}' with '{two}' adds most: "
        f"{{part:+.4f}}; a pair adds {{mean:+.4f}} on average.{special}",
        cosine=pair.cosine,
        n=len(pair.one),
        m=len(pair.two),
        one=visible(pair.one[int(i)]),
        two=visible(pair.two[int(j)]),
        part=float(pair.parts[i, j]),
        mean=pair.cosine / pair.parts.size,
        special=float(pair.parts[~ordinary].sum()),
    )


def token_share(pair: SentencePair, which: int) -> Statement:
    """The tokens of the first sentence (0), or of the second (1), that add most and least, all their pairs together."""
    sums, tokens = pair.parts.sum(1 - which), (pair.one, pair.two)[which]
    most, least = int(sums.argmax()), int(sums.argmin())
    return state(
        "token share",
        "Of the {which} sentence '{token}' adds most, {part:+.3f}, and '{least}' least, {least_part:+.3f}.",
        which=("first", "second")[which],
        token=visible(tokens[most]),
        part=float(sums[most]),
        least=visible(tokens[least]),
        least_part=float(sums[least]),
    )
