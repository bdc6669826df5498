"""What an experiment returns: a figure, and what it shows in words."""

from dataclasses import dataclass

from tfcore.analysis.finding import Finding
from tfcore.figures.theme import Figure


@dataclass(frozen=True, slots=True)
class Shown:
    """A figure with its findings.

    Args:
        figure: with role colours; `tfcore.figures.theme.painted` gives it those of a theme.
        findings: what is said of it, the most important first: all of them its caption, the first of them the
            alternative text.
    """

    figure: Figure
    findings: tuple[Finding, ...]

    @property
    def alt(self) -> str:
        """The main finding, for who cannot see the figure."""
        return str(self.findings[0])

    @property
    def caption(self) -> str:
        """All findings as one text."""
        return " ".join(map(str, self.findings))

    def __str__(self) -> str:
        """The findings, one a line."""
        return "\n".join(map(str, self.findings))
