"""Networks of equal size, in words."""

from dataclasses import dataclass

from tfcore.analysis.finding import Finding
from tfcore.training.recurrent.networks import IN_SENTENCE, KINDS, NetworkConfig, sizes


@dataclass(frozen=True, slots=True)
class EqualSizes(Finding):
    """How large the networks are.

    Args:
        parameters, widths: of each, in the order of KINDS.
    """

    parameters: tuple[int, ...]
    widths: tuple[int, ...]

    @property
    def spread(self) -> float:
        """By how much the largest exceeds the smallest, as a share."""
        return max(self.parameters) / min(self.parameters) - 1

    @property
    def sentence(self) -> str:
        said = [
            f"{IN_SENTENCE[kind]} {count:,} (width {width})"
            for kind, count, width in zip(KINDS, self.parameters, self.widths, strict=True)
        ]
        return f"Parameters: {', '.join(said)}; they differ by {self.spread:.1%} at most."


def equal_sizes(config: NetworkConfig) -> EqualSizes:
    """The three networks of a config."""
    found = sizes(config)
    return EqualSizes(tuple(found[kind][1] for kind in KINDS), tuple(found[kind][0] for kind in KINDS))
