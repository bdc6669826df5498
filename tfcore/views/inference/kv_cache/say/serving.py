"""Whether a service fits on its GPUs, in a sentence."""

from dataclasses import dataclass

from tfcore.measures.quantities import Unit, both
from tfcore.views.finding import Finding
from tfcore.views.inference.kv_cache.measure.serving import Budgets, Model, Service, remedy_names


@dataclass(frozen=True, slots=True)
class ServiceFit(Finding):
    """Whether a service fits on its GPUs, and what each remedy brings.

    Args:
        model: as it was built.
        asked: the service.
        verdicts: remedy in words -> Budget.verdict, what was asked first.
        best: the remedy that alone leaves most memory free; "" where there is none.
    """

    model: Model
    asked: Service
    verdicts: dict[str, str]
    best: str

    @property
    def sentence(self) -> str:
        verdicts = "; ".join(f"{name}: {verdict}" for name, verdict in self.verdicts.items())
        best = f" The largest saving by itself: {self.best}." if self.best else ""
        return (
            f"{self.model.name}{self.built}, {self.asked.users} users x {self.asked.tokens:,} tokens on "
            f"{self.asked.gpus} x {both(self.asked.memory)}. {verdicts}.{best}"
        )

    @property
    def built(self) -> str:
        """How keys and values are shared, and whether that is how the model was built."""
        model, asked = self.model, self.asked
        if asked.shape == model.shape:
            return f" ({asked.shape})"
        weights = f"; its weights {asked.parameters:,} parameters" if asked.parameters != model.parameters else ""
        return f", had it been built with {asked.shape} (it has {model.shape}{weights})"


def fit(model: Model, budgets: Budgets, unit: Unit) -> ServiceFit:
    """Compare what was asked with every remedy."""
    asked = budgets["asked"][0]
    names = remedy_names(asked)
    alone = {names[name]: need.free for name, (_, need) in budgets.items() if name not in ("asked", "all")}
    return ServiceFit(
        model,
        asked,
        {names[name]: need.verdict(unit) for name, (_, need) in budgets.items()},
        max(alone, key=lambda name: alone[name]) if alone else "",
    )
