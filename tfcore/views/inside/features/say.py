"""Findings on features: those of a text, one of them, a whole dictionary, and one in training."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.inspection.transcoders import Transcoder
from tfcore.measures.atlas.token_kinds import PARTITION
from tfcore.measures.dictionaries.feature_scan import FeatureScan
from tfcore.measures.dictionaries.growth import DictionaryMoment
from tfcore.measures.dictionaries.labels import LEAST_FIRES as LABEL_LEAST
from tfcore.measures.dictionaries.labels import NOTHING, OF_KINDS, PROPERTIES, STEP, FeatureLabels, Property
from tfcore.measures.one_text import piece_of
from tfcore.measures.statistics import wilson
from tfcore.measures.token_text import visible
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.inside.features.measure.of_text import feature_title
from tfcore.views.inside.features.measure.one_feature import NAMED, FeaturePromotion, NearestFeatures
from tfcore.views.inside.features.measure.ratings import HALF, LEAST_FIRES, RULE, Ratings, named_tokens, share_elsewhere

ONE_TOKEN = 0.9  # share of the firings of a feature that are on one token
CLOSE = 0.7  # cosine from which two features count as close


# ---- the features of a text ----


def strongest_feature(
    dictionary: Transcoder, values: Float[ndarray, "seq feature"], tokens: Sequence[str]
) -> Statement:
    """How sparse the features of a text are, and the largest activation of all."""
    position, feature = (int(place) for place in np.unravel_index(int(values.argmax()), values.shape))
    on = values > 0
    return state(
        "strongest feature",
        "Of {features:whole} features, {per_token:.1f} are active at a token on average, {active:whole} somewhere in "
        "its {tokens} tokens; the largest activation is {value:.2f}, of {title} at '{token}' ({position}).",
        features=values.shape[1],
        tokens=len(tokens),
        per_token=float(on.sum(1).mean()),
        active=int(on.any(0).sum()),
        title=feature_title(dictionary, feature),
        token=visible(tokens[position]),
        position=position,
        value=float(values[position, feature]),
    )


# ---- one feature ----


@dataclass(frozen=True, slots=True)
class FeatureFires(Finding):
    """How often a feature is active in held-out texts.

    Args:
        title: of the feature.
        fires, read: tokens at which it is above 0, of so many.
        largest: its largest activation.
        tokens, shares: those it is active on most often, and their shares of `fires`.
    """

    title: str
    fires: int
    read: int
    largest: float
    tokens: tuple[str, ...]
    shares: tuple[float, ...]

    @property
    def sentence(self) -> str:
        start = f"{self.title[0].upper()}{self.title[1:]}"
        if not self.fires:
            return f"{start} is active at none of {self.read:,} held-out tokens."
        pairs = zip(self.tokens, self.shares, strict=True)
        listed = ", ".join(f"'{visible(token)}' {share:.0%}" for token, share in pairs)
        return (
            f"{start} is active at {self.fires:,} of {self.read:,} held-out tokens ({self.fires / self.read:.1%}), at "
            f"most with {self.largest:.2f}; of these, most often at {listed}."
        )


def feature_fires(
    scan: FeatureScan, of: Transcoder, dictionary: int, feature: int, tokenizer: Tokenizer
) -> FeatureFires:
    """State what the scan says of a feature; `of` is the dictionary with the index `dictionary`."""
    shares = scan.token_share[dictionary, feature, :NAMED]
    shares = shares[shares > 0]
    ids = scan.token[dictionary, feature, : len(shares)].tolist()
    return FeatureFires(
        title=feature_title(of, feature),
        fires=int(scan.fires[dictionary, feature]),
        read=scan.read.item(),
        largest=float(scan.value[dictionary, feature, 0]),
        tokens=tuple(tokenizer.tokens(ids)),
        shares=tuple(shares.tolist()),
    )


RULES: dict[Property, str] = {
    "token": "at {values}",
    "before": "after {values}",
    "after": "before {values}",
    "kind": "at a token of the kind {values}",
    "kind before": "after a token of the kind {values}",
    "kind after": "before a token of the kind {values}",
    "position": "at positions {values} of a text",
    "promoted": "before {values}, the tokens it promotes",
}


def rule_of(labels: FeatureLabels, dictionary: int, feature: int, tokenizer: Tokenizer) -> str:
    """The rule of a feature in words, as in "at '·dog', '·cat'"; "" where there is none."""
    if (which := int(labels.rule[dictionary, feature])) == NOTHING:
        return ""
    name = PROPERTIES[which]
    values = [int(value) for value in labels.values[dictionary, feature] if value != NOTHING]
    if name in OF_KINDS:
        said = " or ".join(f"“{PARTITION[value]}”" for value in values)
    elif name == "position":
        said = " or ".join(f"{value * STEP} to {value * STEP + STEP - 1}" for value in sorted(values))
    else:
        said = ", ".join(f"'{visible(token)}'" for token in tokenizer.tokens(values))
    return RULES[name].format(values=said)


def label(labels: FeatureLabels, dictionary: int, feature: int, title: str, tokenizer: Tokenizer) -> Statement:
    """The rule of a feature and its score."""
    rule, score = rule_of(labels, dictionary, feature, tokenizer), float(labels.score[dictionary, feature])
    if not rule:
        rare = (
            "{title} fires too rarely for a label: at fewer than {least} places of the texts that labels are found in."
        )
        return state("no label", rare, title=title[:1].upper() + title[1:], least=LABEL_LEAST)
    if np.isnan(score):
        untried = (
            "Label: fires {rule}. In the texts that labels are tried on it fires {fires} times: too few for a score."
        )
        return state("untried label", untried, rule=rule, fires=int(labels.fires[dictionary, feature]))
    return state(
        "label",
        "Label: fires {rule}. Balanced accuracy on other texts {score:.2f} (chance 0.50): this holds at {found:.0%} of "
        "the {fires:whole} places where it fires, and at {marked:.1%} of all others.",
        rule=rule,
        score=score,
        found=float(labels.found[dictionary, feature]),
        fires=int(labels.fires[dictionary, feature]),
        marked=float(labels.marked[dictionary, feature]),
    )


def labels_of(labels: FeatureLabels, dictionary: int, name: str) -> Statement:
    """How good the labels of a dictionary are."""
    scores = labels.score[dictionary]
    scores = scores[np.isfinite(scores)]
    if not len(scores):
        return state("no labels", "No feature of {name} fires often enough for a label.", name=name)
    low, middle, high = np.percentile(scores, (10, 50, 90))
    return state(
        "labels",
        "A label is the rule that fits a feature best, of its token, the tokens and kinds of tokens beside it, its "
        "position, or what it promotes; nobody wrote it. On other texts the labels of {count:whole} features of {name} "
        "have a median balanced accuracy of {middle:.2f} (chance 0.50; a tenth is below {low:.2f}, a tenth above "
        "{high:.2f}).",
        count=len(scores),
        name=name,
        low=float(low),
        middle=float(middle),
        high=float(high),
    )


def promotes(promoted: FeaturePromotion) -> Statement:
    """The tokens whose logits a feature raises and lowers most, where it is strongest."""
    if not promoted.activation:
        never = "In held-out texts {title} is never active, so it raises and lowers nothing."
        return state("never active", never, title=promoted.title)
    pairs = list(zip(promoted.tokens, promoted.lifts, strict=True))
    lowered = pairs[promoted.raised :][::-1][:NAMED]
    return state(
        "promotes",
        "Where its activation is {activation:.2f}, {title} directly raises the logits of {raised}, and lowers those of "
        "{lowered}.",
        activation=promoted.activation,
        title=promoted.title,
        raised=", ".join(f"'{visible(token)}' by {lift:.2f}" for token, lift in pairs[: promoted.raised][:NAMED]),
        lowered=", ".join(f"'{visible(token)}' by {-lift:.2f}" for token, lift in lowered),
    )


def nearest(of: Transcoder, feature: int, near: NearestFeatures) -> Statement:
    """The feature that writes most nearly the same as another."""
    return state(
        "nearest",
        "Of all features of its dictionary, {nearest} writes most nearly the same as {title}: cosine {cosine:.2f}.",
        nearest=near.features[0],
        title=feature_title(of, feature),
        cosine=near.cosines[0],
    )


# ---- a dictionary ----


@dataclass(frozen=True, slots=True)
class Readability(Finding):
    """How many features of a dictionary go with a single token.

    Args:
        dictionary: what it is called.
        features: that were active at LEAST_FIRES tokens or more.
        one_token: of these, active on one and the same token in at least ONE_TOKEN of the cases.
        same_peak: of these, with one and the same token at the peaks of all their strongest texts.
        texts: strongest texts of each.
        read: tokens that were read.
    """

    dictionary: str
    features: int
    one_token: int
    same_peak: int
    texts: int
    read: int

    @property
    def sentence(self) -> str:
        if not self.features:
            return f"No feature of {self.dictionary} is active at {LEAST_FIRES} of {self.read:,} held-out tokens."
        return (
            f"Of the {self.features:,} features of {self.dictionary} that are active at {LEAST_FIRES} or more of "
            f"{self.read:,} held-out tokens, {self.one_token} ({self.one_token / self.features:.1%}) are active on one "
            f"token alone, by the rule that at least {ONE_TOKEN:.0%} of these places have the same token; "
            f"{self.same_peak} ({self.same_peak / self.features:.0%}) have the same token at the peaks of all "
            f"{self.texts} of their strongest texts."
        )


def readability(scan: FeatureScan, dictionary: int, name: str) -> Readability:
    """Count the features of a dictionary (its index in the scan) that are active on one token alone."""
    counted = scan.fires[dictionary] >= LEAST_FIRES
    share = scan.token_share[dictionary, :, 0] >= ONE_TOKEN
    peaks = scan.peaks(dictionary)
    same = (peaks == peaks[:, :1]).all(1) & (scan.value[dictionary] > 0).all(1)
    return Readability(
        dictionary=name,
        features=int(counted.sum()),
        one_token=int((counted & share).sum()),
        same_peak=int((counted & same).sum()),
        texts=peaks.shape[1],
        read=scan.read.item(),
    )


@dataclass(frozen=True, slots=True)
class TokenFeatures(Finding):
    """The features of a dictionary of which a token is the one they are active on most often.

    Args:
        token: which.
        dictionary: what it is called.
        features, shares: the features, and the shares of their firings that are on the token, the largest first.
    """

    token: str
    dictionary: str
    features: tuple[int, ...]
    shares: tuple[float, ...]

    @property
    def sentence(self) -> str:
        if not self.features:
            return f"No feature of {self.dictionary} has '{visible(self.token)}' among its most frequent tokens."
        pairs = zip(self.features, self.shares, strict=True)
        listed = ", ".join(f"{feature} ({share:.0%})" for feature, share in pairs)
        return (
            f"Features of {self.dictionary} by the share of the places where they are active that have "
            f"'{visible(self.token)}': {listed}."
        )


def features_of_token(
    scan: FeatureScan, dictionary: int, name: str, token: int, tokenizer: Tokenizer, count: int = 8
) -> TokenFeatures:
    """Search the scan for a token: features with at least LEAST_FIRES firings that have it among their most frequent
    tokens."""
    shares = np.where(scan.token[dictionary] == token, scan.token_share[dictionary], 0).max(1)
    shares = shares * (scan.fires[dictionary] >= LEAST_FIRES)
    best = np.argsort(-shares, kind="stable")[:count]
    best = best[shares[best] > 0]
    return TokenFeatures(piece_of(tokenizer, token), name, tuple(best.tolist()), tuple(shares[best].tolist()))


def rated_sample(ratings: Ratings, writes: str, name: str) -> Statement | None:
    """How the features that were drawn of the dictionary that predicts `writes`, called `name`, were rated; None where
    there are no ratings."""
    if writes not in ratings:
        return None
    every = [rating.score for each in ratings.values() for rating in each.values()]
    own = [rating.score for rating in ratings[writes].values()]
    low, high = wilson(every.count(2), len(every))
    return state(
        "rated sample",
        "A language model read and rated {own} features of {name}, drawn at random, and gave 2 points to {two}, 1 to "
        "{one} and 0 to {none} ({rule}). Of all five dictionaries, {of_all} of {rated} have 2 points ({share:.0%}, "
        "95 % interval {low:.0%} to {high:.0%}).",
        own=len(own),
        name=name,
        two=own.count(2),
        one=own.count(1),
        none=own.count(0),
        rule=RULE,
        of_all=every.count(2),
        rated=len(every),
        share=every.count(2) / len(every),
        low=low,
        high=high,
    )


def phrases_elsewhere(
    ratings: Ratings, scan: FeatureScan, writes: Sequence[str], tokenizer: Tokenizer
) -> Statement | None:
    """Whether phrases that were found at the strongest places hold at all other places too, over all dictionaries,
    whose names in the ratings are `writes`, in the scan's order; None without ratings."""
    if not ratings:
        return None
    pieces = tokenizer.tokens(list(range(tokenizer.vocab_size)))
    named = [
        (dictionary, feature, tokens)
        for dictionary, name in enumerate(writes)
        for feature, rating in ratings[name].items()
        if (tokens := named_tokens(rating.phrase, pieces))
    ]
    return state(
        "phrases elsewhere",
        "These phrases are of the strongest places. {named} of {rated} name a token: {half} of these {named} features "
        "are active on it at half or more of all other held-out places, and for {first} it is the token on which they "
        "are active most often.",
        rated=sum(map(len, ratings.values())),
        named=len(named),
        half=sum(share_elsewhere(scan, *one) >= HALF for one in named),
        first=sum(int(scan.token[dictionary, feature, 0]) in tokens for dictionary, feature, tokens in named),
    )


# ---- a dictionary in training ----


def grown_quality(moments: Sequence[DictionaryMoment]) -> Statement:
    """How good a dictionary is at the last moment, beside the one that ships."""
    last = moments[-1]
    return state(
        "grown quality",
        "Step {step}, on {own.tokens:whole} held-out tokens: loss recovered {own.loss_recovered:.1%} (shipped "
        "{shipped.loss_recovered:.1%}), explained variance {own.explained_variance:.1%} (shipped "
        "{shipped.explained_variance:.1%}), {own.l0:.1f} features a token (shipped {shipped.l0:.1f}); {own.dead} of "
        "{features:whole} features fire at none of these tokens.",
        step=last.step,
        features=len(last.cosine),
        own=last.quality,
        shipped=last.shipped,
    )


def shared_features(moments: Sequence[DictionaryMoment]) -> Statement:
    """How like the shipped features those of a training are at the last moment, and were at the first."""
    first, last = moments[0], moments[-1]
    return state(
        "shared features",
        "Each feature beside the shipped one that writes most nearly the same: the median of the cosines is "
        "{median:.2f} at step {step} ({start:.2f} at step 0, {by_chance:.2f} for random directions). {close} of "
        "{features:whole} have {least:g} or more.",
        step=last.step,
        features=len(last.cosine),
        median=float(np.median(last.cosine)),
        start=float(np.median(first.cosine)),
        by_chance=last.by_chance,
        close=int((last.cosine >= CLOSE).sum()),
        least=CLOSE,
    )
