"""Scaling laws with the constants their papers print: what size, data and compute are said to do to the loss.

N are parameters, D tokens, C = 6 N D operations of training. Losses are in nats a token, and each paper's own: another
tokenizer and another text give another loss, so that only the shapes of two papers' laws can be compared.
"""

from dataclasses import dataclass
from typing import Literal

from tfcore.analysis.training.scaling_law import Law, Number

PF_DAY = 1e15 * 24 * 3600  # operations: the unit of compute of arXiv:2001.08361
LawName = Literal["refit", "printed", "unrounded"]


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """L(x) = (scale / x)^exponent, where nothing but x is short (arXiv:2001.08361, equations 1.1 to 1.3)."""

    scale: float
    exponent: float

    def loss(self, x: Number) -> Number:
        """At x parameters, tokens or operations."""
        return (self.scale / x) ** self.exponent


@dataclass(frozen=True, slots=True)
class KaplanLaw:
    """L(N, D) = ((n_c / N)^(alpha_n / alpha_d) + d_c / D)^alpha_d (arXiv:2001.08361, equation 1.5).

    N leaves out the embeddings; D is the size of a data set on which training stops before it overfits.
    """

    n_c: float
    alpha_n: float
    d_c: float
    alpha_d: float

    def loss(self, n: Number, d: Number) -> Number:
        """Of a model with n parameters on a data set of d tokens, or of many such."""
        return ((self.n_c / n) ** (self.alpha_n / self.alpha_d) + self.d_c / d) ** self.alpha_d


@dataclass(frozen=True, slots=True)
class Split:
    """A budget split by a power law: N = n (C / flops)^exponent, and D = C / 6N.

    Args:
        n: parameters at the budget `flops`.
        exponent: of the parameters; 1 - exponent is that of the tokens.
    """

    n: float
    flops: float
    exponent: float

    def size(self, flops: Number) -> Number:
        """Parameters for a budget of so many operations, or for many such."""
        return self.n * (flops / self.flops) ** self.exponent


# arXiv:2203.15556, equation 10 as printed (approach 3); with more digits, from the paper's TeX source as
# arXiv:2404.10102 gives them; and the fit of arXiv:2404.10102 to the points read off the paper's figure 4.
LAWS: dict[LawName, Law] = {
    "refit": Law(floor=1.8172, a=482.01, alpha=0.3478, b=2085.43, beta=0.3658),
    "printed": Law(floor=1.69, a=406.4, alpha=0.34, b=410.7, beta=0.28),
    "unrounded": Law(floor=1.6934, a=406.4, alpha=0.3392, b=410.7, beta=0.2849),
}
# arXiv:2001.08361: table 2 for both together, equations 1.1, 1.2 and 1.3 for each alone.
KAPLAN = KaplanLaw(n_c=6.4e13, alpha_n=0.076, d_c=1.8e13, alpha_d=0.103)
KAPLAN_SIZE = PowerLaw(8.8e13, 0.076)
KAPLAN_DATA = PowerLaw(5.4e13, 0.095)
KAPLAN_COMPUTE = PowerLaw(3.1e8 * PF_DAY, 0.050)
# Table 6: N = 1.3e9 C_min^0.73 in PF-days. A training at the critical batch size takes C = 2 C_min (section 5.1).
KAPLAN_SPLIT = Split(1.3e9, 2 * PF_DAY, 0.73)
# arXiv:2203.15556: exponents of table 2, each through the row for 67 billion parameters of table 3 or A3.
APPROACH_1 = Split(67e9, 5.76e23, 0.50)
APPROACH_2 = Split(67e9, 6.88e23, 0.49)
