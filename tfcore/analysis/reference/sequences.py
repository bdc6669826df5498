"""What is said of the lengths of sequences: images, sounds, proteins and films as tokens."""

from dataclasses import dataclass

from tfcore.analysis.finding import Finding
from tfcore.analysis.foundations.token_counts import SEQUENCES
from tfcore.analysis.model.flop_count import sequence_cost


@dataclass(frozen=True, slots=True)
class SequenceLength(Finding):
    """How many tokens something becomes, and what attention pays for them.

    Args:
        name, model: of the kind of data, and the published model that reads it.
        published: tokens in that model.
        is_published: whether `tokens` is cut as there.
        tokens: as it is cut now.
        scores: attention scores of each head.
        quadratic_share: share of the FLOPs that grows with the square of the length.
    """

    name: str
    model: str
    published: int
    is_published: bool
    tokens: int
    scores: int
    quadratic_share: float

    @property
    def tokens_text(self) -> str:
        """The number of tokens."""
        return f"{self.tokens:,}"

    @property
    def scores_text(self) -> str:
        """The number of scores."""
        return f"{self.scores:,}"

    @property
    def share_text(self) -> str:
        """The share of the FLOPs."""
        return f"{self.quadratic_share:.1%}"

    @property
    def sentence(self) -> str:
        what = (
            f"{self.name} as in {self.model}"
            if self.is_published
            else f"{self.name}, cut your way ({self.model}: {self.published:,})"
        )
        return f"{what}: {self.tokens_text} tokens, so {self.scores_text} scores per head."


def sequence_length(kind: str, values: dict[str, float]) -> SequenceLength:
    """The length of one kind of data.

    Args:
        kind: key of SEQUENCES.
        values: how it is cut, by the names of its knobs.
    """
    one = SEQUENCES[kind]
    tokens = one.count(**values)
    cost = sequence_cost((tokens,))
    usual = all(values[knob.name] == knob.default for knob in one.knobs)
    share = float(cost.share[0])
    return SequenceLength(one.name, one.model, one.published(), usual, tokens, int(cost.cells[0]), share)


@dataclass(frozen=True, slots=True)
class LengthRange(Finding):
    """The shortest and the longest of the published sequences, each as (tokens, kind, model)."""

    shortest: tuple[int, str, str]
    longest: tuple[int, str, str]

    @property
    def sentence(self) -> str:
        first, last = (f"the {n:,} tokens of “{name}” ({model})" for n, name, model in (self.shortest, self.longest))
        return f"From {first} to {last} is a factor of {self.longest[0] / self.shortest[0]:.0f}."


def length_range() -> LengthRange:
    """Over all kinds of data."""
    every = [(one.published(), one.name, one.model) for one in SEQUENCES.values()]
    return LengthRange(min(every), max(every))
