"""How many pairs of query and key a mask leaves to compute."""

from dataclasses import dataclass

from tfcore.measures.mask_patterns import MaskConfig, build


@dataclass(frozen=True, slots=True)
class MaskCost:
    """How many (query, key) pairs a mask leaves to compute.

    Args:
        n: tokens.
        pairs: allowed pairs.
        ahead: allowed pairs whose key comes after the query: where a later token can be seen.
    """

    n: int
    pairs: int
    ahead: int

    @property
    def share(self) -> float:
        """The share of all n * n pairs."""
        return self.pairs / self.n**2


def mask_cost(config: MaskConfig, n: int, layer: int = 0) -> MaskCost:
    """Count the pairs of a mask for n tokens, in a layer."""
    mask = build(config, n, layer)
    return MaskCost(n, int(mask.sum()), int(mask.triu(1).sum()))
