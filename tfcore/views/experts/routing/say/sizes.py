"""Findings about the sizes of experts."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfcore.config import ModelConfig
from tfcore.views.experts.routing.measure.sizes import ExpertSizes
from tfcore.views.finding import Finding


@dataclass(frozen=True, slots=True)
class ActiveParameters(Finding):
    """Parameters in memory, and those that compute one token.

    Args:
        total, active: of the mixture.
        published: total and active before its experts were cut; None where they were not.
    """

    total: int
    active: int
    published: tuple[int, int] | None

    @property
    def share_words(self) -> str:
        """The active share in whole per cent."""
        return f"{self.active / self.total:.0%}"

    @property
    def sentence(self) -> str:
        words = (
            f"{self.total:,} parameters, of which {self.active:,} are active per token: {self.active / self.total:.1%}."
        )
        return words + (f" As published: {self.published[0]:,} and {self.published[1]:,}." if self.published else "")


def active_parameters(sizes: ExpertSizes, published: ExpertSizes) -> ActiveParameters:
    """Total and active parameters of a mixture, beside those it was published with."""
    other = (published.count.total, published.count.active) if published != sizes else None
    return ActiveParameters(sizes.count.total, sizes.count.active, other)


@dataclass(frozen=True, slots=True)
class LayerOfExperts(Finding):
    """The experts of one layer, of one mixture or of several.

    Args:
        model: name.
        rows: name and arithmetic of each mixture.
    """

    model: str
    rows: tuple[tuple[str, ExpertSizes], ...]

    @property
    def sentence(self) -> str:
        words = (
            f"{name}: {sizes.n_experts} routed experts of width {sizes.width:,}, {sizes.top_k} per token, "
            f"{sizes.n_shared} shared, {sizes.combination_words} possible sets"
            for name, sizes in self.rows
        )
        return f"One layer of {self.model}, {'; '.join(words)}."


@dataclass(frozen=True, slots=True)
class BatchUse(Finding):
    """How many routed experts of a layer a batch uses, with uniform routing.

    Args:
        n_experts: of the layer.
        used: tokens of a batch, and experts it uses on average.
    """

    n_experts: int
    used: tuple[tuple[int, float], ...]

    @property
    def sentence(self) -> str:
        used = ", ".join(f"{tokens}: {experts:.1f}" for tokens, experts in self.used)
        return (
            f"Of the {self.n_experts} routed experts of a layer, a batch of so many tokens uses, with uniform routing, "
            f"{used}."
        )


def batch_use(sizes: ExpertSizes, batches: Sequence[int]) -> BatchUse:
    """The experts that batches of some sizes use."""
    return BatchUse(sizes.n_experts, tuple((tokens, sizes.used_by(tokens)) for tokens in batches))


def count_latex(config: ModelConfig, sizes: ExpertSizes) -> str:
    """The count of parameters as formulas with the numbers of a mixture in them."""
    matrices = 3 if config.feed_forward.is_gated else 2
    biases = sizes.one - matrices * config.d_model * sizes.width
    letters, numbers = (" + b", f" + {_number(biases)}") if biases else ("", "")
    rest = _number(sizes.rest)
    return (
        rf"\begin{{aligned}} \text{{one expert}} &= {matrices}\, d\, d_e{letters} = {matrices} \cdot "
        rf"{_number(config.d_model)} \cdot {_number(sizes.width)}{numbers} = {_number(sizes.one)} \\"
        rf"\text{{total}} &= \text{{rest}} + L\,(N + s)\,\text{{one}} = {rest} + {sizes.layers} \cdot "
        rf"({sizes.n_experts} + {sizes.n_shared}) \cdot {_number(sizes.one)} = {_number(sizes.count.total)} \\"
        rf"\text{{active}} &= \text{{rest}} + L\,(k + s)\,\text{{one}} = {rest} + {sizes.layers} \cdot "
        rf"({sizes.top_k} + {sizes.n_shared}) \cdot {_number(sizes.one)} = {_number(sizes.count.active)} "
        r"\end{aligned}"
    )


def _number(value: int) -> str:
    """With commas that LaTeX does not take for punctuation."""
    return f"{value:,}".replace(",", "{,}")
