"""How well a person can read the features of a dictionary, and which of them go with a token; from a scan."""

from dataclasses import dataclass

import numpy as np

from tfcore.analysis.finding import Finding
from tfcore.measures.dictionaries.feature_scan import FeatureScan
from tfcore.measures.one_text import piece_of
from tfcore.measures.token_text import visible
from tfcore.tokenizers.tokenizer import Tokenizer

ONE_TOKEN = 0.9  # share of the firings of a feature that are on one token
LEAST_FIRES = 10  # firings of a feature of which shares are taken


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
    peaks = scan.windows[scan.window[dictionary].astype(np.int64), scan.position[dictionary].astype(np.int64)]
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
