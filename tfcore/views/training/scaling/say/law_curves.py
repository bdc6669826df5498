"""The words for what a loss is made of."""

from dataclasses import dataclass

from tfcore.measures.quantities import power, round_count
from tfcore.measures.scaling_laws import KAPLAN_COMPUTE, LAWS, KaplanLaw, Law
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.training.scaling.measure.compute_budget import PER_TOKEN
from tfcore.views.training.scaling.measure.law_curves import Against, operations


@dataclass(frozen=True, slots=True)
class LossParts(Finding):
    """The parts of the loss of one model, in nats a token.

    Args:
        n: parameters.
        d: tokens.
        floor: the irreducible loss E; 0 where the law has none.
        size: by how much unlimited parameters would lower the loss, the tokens the same.
        data: by how much unlimited tokens would lower it, the parameters the same.
        loss: all of it. The three parts add up to it where the law is a sum.
    """

    n: float
    d: float
    floor: float
    size: float
    data: float
    loss: float

    @property
    def numbers(self) -> tuple[str, str, str, str]:
        """Loss, irreducible loss, and what is due to finite parameters and to finite tokens."""
        floor = f"{self.floor:.2f}" if self.floor else "none"
        return f"{self.loss:.3f}", floor, f"{self.size:.3f}", f"{self.data:.3f}"

    @property
    def sentence(self) -> str:
        floor = f"E {self.floor:.2f}" if self.floor else "no E"
        return (
            f"{round_count(self.n)} parameters on {round_count(self.d)} tokens "
            f"({power(PER_TOKEN * self.n * self.d)} operations) end at {self.loss:.3f} nats per token. "
            f"What it is made of: {floor}, size {self.size:.3f}, data {self.data:.3f}."
        )


def loss_parts(law: Law | KaplanLaw, n: float, d: float, against: Against = "size") -> LossParts:
    """Take the loss of one model apart by letting parameters, then tokens, go to infinity.

    Against compute, the loss of arXiv:2001.08361 is that of the curve that law_curves draws: see operations.
    """
    endless, loss = float("inf"), law.loss(n, d)
    floor = law.floor if isinstance(law, Law) else 0.0
    size, data = loss - law.loss(endless, d), loss - law.loss(n, endless)
    if isinstance(law, KaplanLaw) and against == "compute":
        loss = KAPLAN_COMPUTE.loss(operations(law, n, d))
    return LossParts(n, d, floor, size, data, loss)


@dataclass(frozen=True, slots=True)
class DueToSizeAndData(Finding):
    """Whether parameters or tokens limit the loss of GPT-3 more, by the refitted law, and that of Chinchilla.

    Args:
        gpt3, chinchilla: their losses, taken apart.
    """

    gpt3: LossParts
    chinchilla: LossParts

    @property
    def limit(self) -> str:
        """The larger part of GPT-3's loss, by name."""
        return "Tokens" if self.gpt3.data > self.gpt3.size else "Parameters"

    @property
    def sentence(self) -> str:
        gpt3, other = self.gpt3, self.chinchilla
        return (
            f"{self.limit}: by the refitted law, unlimited parameters would lower its loss by {gpt3.size:.3f} nats, "
            f"unlimited tokens by {gpt3.data:.3f}. For Chinchilla, {round_count(other.n)} on {round_count(other.d)}, "
            f"it would be {other.size:.3f} and {other.data:.3f}."
        )


def due_to_size_and_data() -> DueToSizeAndData:
    """GPT-3, of 175 B parameters on 300 B tokens, and Chinchilla, of 70 B on 1.4 T."""
    law = LAWS["refit"]
    return DueToSizeAndData(loss_parts(law, 175e9, 300e9), loss_parts(law, 70e9, 1.4e12))


def frontier_exponent() -> Statement:
    """The slope of the compute-optimal frontier by the refitted law, on logarithmic axes, its sign turned."""
    return state(
        "frontier exponent",
        "Without E that line is straight: a power law with exponent αβ / (α + β), {exponent:.2f} for the refit.",
        exponent=LAWS["refit"].frontier_exponent,
    )
