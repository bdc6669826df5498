"""The cost of a stage of a walk, beside that of the whole model."""

from tfcore.config import ModelConfig
from tfcore.measures.flop_count import flops
from tfcore.measures.parameter_count import parameters
from tfcore.measures.quantities import short
from tfcore.views.start.walkthrough.measure.costs import StageCost, stage_cost
from tfcore.views.view import Metric


def cost_metrics(config: ModelConfig, stage: str, n: int) -> tuple[Metric, Metric]:
    """Parameters and operations of one stage on a text of n tokens."""
    cost = stage_cost(config, stage, n)
    tied = stage == "logits" and config.tie_embeddings
    used = "the embedding table again" if tied else parameter_share(cost, parameters(config).total)
    return (
        Metric("Parameters used", f"{cost.parameters:,}", used),
        Metric("Operations (FLOPs)", short(cost.flops), flop_share(cost, flops(config, n).sequence)),
    )


def parameter_share(cost: StageCost, whole: int) -> str:
    """The share of a stage in the parameters of the model."""
    return f"{_percent(cost.parameters, whole)} of all parameters" if cost.parameters else "nothing learned here"


def flop_share(cost: StageCost, whole: int) -> str:
    """The share of a stage in the operations of one pass."""
    if not cost.flops:
        return "no arithmetic"
    return f"{_percent(cost.flops, whole)} of one pass" if cost.product else "no matrix product"


def _percent(count: int, whole: int) -> str:
    share = count / whole
    return f"{share:.1%}" if share >= 0.001 else "below 0.1%"
