"""The experiment of the page on parameters."""

from tfcore.analysis.model.costs import model_costs
from tfcore.analysis.precision import Dtype
from tfcore.config import ModelConfig
from tfcore.figures.model.parameters import ring_figure
from tfcore.figures.theme import Figure


def counted(config: ModelConfig, batch: int, seq: int, dtype: Dtype) -> Figure:
    """Where the parameters of a model are, counted without building it."""
    costs = model_costs(config, batch=batch, seq=seq, dtype=dtype)
    for component, count in costs.count.by_component.items():
        print(f"{component}: {count:,} parameters, {count / costs.count.total:.1%}")
    print(f"all: {costs.count.total:,}; 12 N d² + V d says {costs.formula:,}, {costs.formula_error:+.1%} off")
    print(f"a token costs {costs.flops.forward / 1e9:.2f} GFLOP forward, in a text of {costs.seq:,} tokens")
    # Weights alone: training needs gradients, two moments of AdamW and activations besides.
    print(f"its weights take {costs.memory.weights / 1e9:.2f} GB in {dtype}")

    return ring_figure(costs.count, height=460)
