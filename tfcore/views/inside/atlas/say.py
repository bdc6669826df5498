"""Findings on heads over a distribution."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.measures.atlas.atlas import MEASURES, Atlas
from tfcore.measures.atlas.search import LEAST, Match, Near
from tfcore.measures.atlas.token_kinds import PARTITION
from tfcore.measures.heads.kinds import Place
from tfcore.measures.token_text import shorten, visible
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.inside.atlas.measure import RESTS, KindPair, Role, Standing, ordinal, standing

LETTERS = 16  # of a token in a sentence
BARELY = 0.02  # weight beyond distance below which a pair of kinds says nothing


def named(place: Place) -> str:
    """A head in a sentence."""
    return "head {}.{}".format(*place)


def measured(atlas: Atlas) -> Statement:
    """What the numbers rest on."""
    words = "Measured over {tokens:whole} tokens: {sources}."
    sources = ", ".join(f"{name} {count / sum(atlas.sources.values()):.0%}" for name, count in atlas.sources.items())
    return state("measured", words, tokens=atlas.tokens, sources=sources or "your text")


def together(x: ndarray, y: ndarray, names: tuple[str, str]) -> Statement:
    """How two measures go together over all heads, and which head has the most of the second.

    Args:
        names: of the measures.
    """
    there = np.isfinite(x) & np.isfinite(y)
    if there.sum() < 3:
        return state("few heads", "Fewer than three heads have both numbers.")
    best = np.unravel_index(int(np.where(there, y, -np.inf).argmax()), y.shape)
    words = (
        "Of {heads:whole} heads, {head} has the largest {second}, {value:.3g}; the ranks of {first} and {second} "
        "correlate with {correlation:+.2f}."
    )
    return state(
        "together",
        words,
        heads=int(there.sum()),
        head=named((int(best[0]), int(best[1]))),
        second=titled(names[1]),
        first=titled(names[0]),
        value=float(y[best]),
        correlation=rank_correlation(x[there], y[there]),
    )


def rank_correlation(x: Float[ndarray, " n"], y: Float[ndarray, " n"]) -> float:
    """Spearman's correlation: of the ranks, equal values sharing theirs; 0 where one of the two is always the same."""
    one, other = (_ranks(values) for values in (x, y))
    if one.std() == 0 or other.std() == 0:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])


def _ranks(values: ndarray) -> ndarray:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[place]


# ---- the sheet ----


def distances(place: Place, weights: ndarray, median: ndarray, labels: Sequence[str]) -> Statement:
    """Where most of the weight of a head lies, beside the median of all heads at that distance.

    Args:
        weights: both ways together.
    """
    if not weights.sum() > 0:
        return state("no distance", "All weight of {head} is on the sink.", head=named(place))
    most = int(weights.argmax())
    words = (
        "{head} puts {weight:.2f} of its weight on tokens at a distance of {distance}, the most at any; the median "
        "of all heads there is {median:.2f}."
    )
    name = named(place)
    return state(
        "distances",
        words,
        head=name[0].upper() + name[1:],
        weight=float(weights[most]),
        distance=labels[most],
        median=float(median[most]),
    )


@dataclass(frozen=True, slots=True)
class StandsOut(Finding):
    """The measures by which a head stands out most among all heads.

    Args:
        place: the head.
        most, least: name of the measure by which it is nearest to the top, and nearest to the bottom, and where it
            stands.
    """

    place: Place
    most: tuple[str, Standing]
    least: tuple[str, Standing]

    @property
    def sentence(self) -> str:
        (high, one), (low, other) = self.most, self.least
        return (
            f"Of {one.heads} heads, {named(self.place)} is {ordinal(one.rank)} by {high} ({one.value:.3g}) and "
            f"{ordinal(other.rank)} by {low} ({other.value:.3g})."
        )


def stands_out(place: Place, stands: Mapping[str, Standing]) -> Finding:
    """By which measures a head is nearest to the top and to the bottom.

    Args:
        stands: of each measure, where it stands.
    """
    if not stands:
        return state("no measure", "Nothing was measured of {head}.", head=named(place))
    most = min(stands, key=lambda name: stands[name].rank)
    least = max(stands, key=lambda name: stands[name].rank / stands[name].heads)
    return StandsOut(place, (titled(most), stands[most]), (titled(least), stands[least]))


def titled(measure: str) -> str:
    """A measure within a sentence."""
    title = MEASURES[measure].title
    return title[0].lower() + title[1:]


@dataclass(frozen=True, slots=True)
class Pairs(Finding):
    """The pair of kinds between which a head puts the most weight beyond what its distances alone give.

    Args:
        pair: None where no kind has enough queries.
    """

    place: Place
    pair: KindPair | None

    @property
    def sentence(self) -> str:
        if self.pair is None:
            return f"No kind of token has {LEAST} queries here, so nothing is said of the kinds of {named(self.place)}."
        if self.pair.beyond < BARELY:
            return (
                f"What kind a token is makes little difference to {named(self.place)}: nowhere more than "
                f"{max(self.pair.beyond, 0):.3f} beyond what its distances alone give."
            )
        return (
            f"From {_one(self.pair.query)} on {_one(self.pair.key)} {named(self.place)} puts {self.pair.weight:.2f} of "
            f"its weight, where its distances alone would give {self.pair.by_position:.2f}."
        )


def _one(kind: str) -> str:
    """ "a noun", "an opening bracket"."""
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


@dataclass(frozen=True, slots=True)
class AblationEffect(Finding):
    """The change of the loss where a head always writes its mean.

    Args:
        mean, low, high: of the change, with its 95 % interval.
        worse, texts: in how many texts the loss rises, of how many.
        unit: of the change.
        rank, heads: 1 for the head with the largest change, of how many.
    """

    place: Place
    mean: float
    low: float
    high: float
    worse: int
    texts: int
    unit: str
    rank: int
    heads: int

    @property
    def sentence(self) -> str:
        verdict = (
            "the model needs it"
            if self.low > 0
            else "the model does better without it"
            if self.high < 0
            else "the interval holds 0"
        )
        return (
            f"Where {named(self.place)} always writes its mean, the loss changes by {self.mean:+.4f} {self.unit} (95 % "
            f"interval {self.low:+.4f} to {self.high:+.4f}), and {verdict}; it rises in {self.worse} of {self.texts} "
            f"texts. By this it is {ordinal(self.rank)} of {self.heads} heads."
        )


def effect_found(atlas: Atlas, place: Place) -> AblationEffect:
    """What mean ablation of a head does.

    Raises:
        ValueError: it was not measured.
    """
    if "effect" not in atlas.measures:
        raise ValueError("what heads add to the loss was not measured here")
    mean, low, high = (float(atlas.measures[name][place]) for name in ("effect", "effect_low", "effect_high"))
    by_text, stands = atlas.by_text[place], standing(atlas.measures["effect"], place)
    worse = int((by_text > 0).sum())
    unit = MEASURES["effect"].unit if atlas.architecture == "decoder" else "(1 - cosine)"
    return AblationEffect(place, mean, low, high, worse, len(by_text), unit, stands.rank, stands.heads)


def tenths(place: Place, deciles: Float[ndarray, " tenth"]) -> Statement:
    """How much a head does in its most and its least active places."""
    words = (
        "In its most active tenth of places {head} puts {most:.2f} of its weight off the sink and itself, in "
        "the middle {middle:.2f}, in its least active tenth {least:.2f}."
    )
    if not np.isfinite(deciles).all():
        return state(
            "few places", "Too few places were read to tell tenths of the activity of {head}.", head=named(place)
        )
    middle = float(deciles[4:6].mean())
    return state("tenths", words, head=named(place), most=float(deciles[9]), middle=middle, least=float(deciles[0]))


def nearest(place: Place, found: Sequence[Near]) -> Statement:
    """The head that behaves most alike."""
    if not found:
        return state("alone", "There is no other head.")
    first = found[0]
    words = "{near} behaves most like {head}, at a distance of {distance:.3f} (0: alike, 1: nothing in common)."
    return state("nearest", words, head=named(place), near=f"Head {first.layer}.{first.head}", distance=first.distance)


# ---- search ----


@dataclass(frozen=True, slots=True)
class Searched(Finding):
    """The head that goes most from one kind of token to another, beyond what its distances alone give.

    Args:
        query, key: kinds.
        best: None where there are too few tokens of one of the kinds.
        clear: how many heads put at least twice as much there as by distance alone, and CLEAR of their weight.
    """

    query: str
    key: str
    best: Match | None
    clear: int

    @property
    def sentence(self) -> str:
        if self.best is None:
            few = f"Fewer than {LEAST} tokens of the kind “{self.query}”, or of “{self.key}”, were read"
            return f"{few}: too few to search, choose other kinds."
        more = f"{self.clear} heads put" if self.clear != 1 else "one head puts"
        return (
            f"From “{self.query}” to “{self.key}” goes {named((self.best.layer, self.best.head))} most, with "
            f"{self.best.weight:.2f} of its weight where its distances alone would give {self.best.by_position:.2f}; "
            f"{more} at least {CLEAR:.0%} there, and twice what distance gives."
        )


CLEAR = 0.1


def searched(query: str, key: str, found: Sequence[Match]) -> Searched:
    """What a search has found."""
    clear = sum(one.weight >= max(CLEAR, 2 * one.by_position) for one in found)
    return Searched(query, key, found[0] if found else None, clear)


# ---- a text beside the distribution ----


@dataclass(frozen=True, slots=True)
class RoleCompared(Finding):
    """Whether what a head does on a text is what it usually does.

    Args:
        query, key: the token it looks from and the one it looks at most, if one was chosen and there is such.
        weight: from the one on the other.
        kind: of the token looked at.
        here, here_usually: the kind that gets most of its weight off the first token here, with that share, and the
            share that kind usually gets.
        usual, usual_share: the kind that usually gets most, and its share.
        common: how much of the shares here is as usual, 0 to 1.
        rests_here, rests_usually: weight on the first token.
        tokens: of the distribution.
    """

    place: Place
    query: str | None
    key: str | None
    weight: float
    kind: str
    here: str
    here_share: float
    here_usually: float
    usual: str
    usual_share: float
    rests_here: float
    rests_usually: float
    tokens: int

    @property
    def is_usual(self) -> bool:
        """Whether the kind that gets most here is the one that usually does."""
        return self.here == self.usual

    @property
    def is_part(self) -> bool:
        """Whether that kind usually gets at least half as much as the one that gets most."""
        return self.here_usually >= 0.5 * self.usual_share

    @property
    def sentence(self) -> str:
        return " ".join(filter(None, (self._look, self._verdict)))

    @property
    def _look(self) -> str:
        if self.query is None:
            return ""
        if self.key is None:
            return f"From “{self.query}” {named(self.place)} looks at no other token."
        kind = f", a token of the kind “{self.kind}”" if self.kind else ""
        looks = f"From “{self.query}” {named(self.place)} looks at “{self.key}”{kind}"
        return f"{looks}, with {self.weight:.2f} of its weight."

    @property
    def _verdict(self) -> str:
        over = f"over {self.tokens:,} tokens"
        if 1 - self.rests_here < RESTS:
            usually = f"{self.rests_usually:.0%} {over}"
            return f"It rests here, with {self.rests_here:.0%} of its weight on the sink ({usually})."
        if not self.here:
            return "Nothing that it looks at here is of a kind that is told apart."
        if self.is_usual:
            return (
                f"That is its usual role: the largest share of what it does goes to the kind “{self.usual}”, "
                f"{self.here_share:.0%} here and {self.usual_share:.0%} {over}."
            )
        part = "That is a part of what it usually does" if self.is_part else "That is not its usual role"
        return (
            f"{part}: {over} the largest share of what it does, {self.usual_share:.0%}, goes to "
            f"the kind “{self.usual}”, and {self.here_usually:.0%} to the kind “{self.here}”, which gets "
            f"{self.here_share:.0%} here."
        )


def role_compared(place: Place, role: Role) -> RoleCompared:
    """Compare a head on a text with what it usually does."""
    here, usual = int(role.here.argmax()), int(role.usual.argmax())

    def word(token: int | None) -> str | None:
        return None if token is None else shorten(visible(role.tokens[token]), LETTERS)

    return RoleCompared(
        place=place,
        query=word(role.query),
        key=word(role.key),
        weight=role.weight,
        kind=role.kind,
        here=PARTITION[here] if role.here[here] > 0 else "",
        here_share=float(role.here[here]),
        here_usually=float(role.usual[here]),
        usual=PARTITION[usual],
        usual_share=float(role.usual[usual]),
        rests_here=role.rests_here,
        rests_usually=role.rests_usually,
        tokens=role.measured,
    )
