"""Where the parameters of a model are, and what they cost; its config alone is read, nothing is built."""

from collections.abc import Mapping

import pandas as pd

from tfcore.config import ModelConfig
from tfcore.measures.parameter_count import built_parameters, parameters, rule_of_thumb
from tfcore.measures.precision import Dtype
from tfcore.measures.quantities import short, whole
from tfcore.presets import NAMES, PRESETS
from tfcore.views.finding import Finding
from tfcore.views.kept import kept
from tfcore.views.model.parameters.draw import HEIGHTS, Way, count_figure, memory_figure
from tfcore.views.model.parameters.measure import ModelCosts, bytes_of, model_costs
from tfcore.views.model.parameters.say import BuiltAgain, memory_found, parameters_found
from tfcore.views.view import Metric, View, view

costs_of = kept(model_costs, entries=256)
built_of = kept(built_parameters, entries=64)


@view
def counted(config: ModelConfig, name: str, way: Way = "ring") -> View:
    """Where the parameters of a model are, counted without building it.

    Args:
        config: of the model.
        name: of the model.
        way: a ring of shares, a treemap of blocks, or bars by block.
    """
    count = costs_of(config).count
    return View(
        key="parts",
        title="The picture of the parameters",
        result=count,
        chart=count_figure(count, way, HEIGHTS[way]),
        findings=(parameters_found(name, count),),
        table=lambda: pd.DataFrame(count.by_component.items(), columns=["component", "parameters"]),
        min_width=350,
        formula=r"P \approx 12\,N d^2 + V d",
        papers=(
            "N and 6 N: arXiv:2001.08361, table 1 and section 2.1. Memory in training: arXiv:1910.02054, section 3.1. "
            "Sizes of published models: their papers and weights, see tfcore.presets."
        ),
        terms=("FLOPs", "KV cache", "mixture of experts"),
        code=(parameters, rule_of_thumb),
    )


@view
def memory(configs: Mapping[str, ModelConfig], batch: int, seq: int, dtype: Dtype = "bfloat16") -> View:
    """The memory of one model or of two, in training and in generating.

    Args:
        configs: by the names of the models.
        batch: sequences at once.
        seq: tokens of each; a model whose context is shorter reads as many as it can.
        dtype: of weights, activations and cache.
    """
    costs = compared(configs, batch, seq, dtype)
    uses = {name: one.memory for name, one in costs.items()}
    return View(
        key="memory",
        title="The picture of the memory",
        result=costs,
        chart=memory_figure(uses, ("train", "generate"), 156 + 44 * len(uses)),
        findings=(memory_found(costs, batch, seq, dtype),),
        table=lambda: pd.DataFrame({name: bytes_of(use, "train") for name, use in uses.items()}),
        min_width=350,
    )


def compared(configs: Mapping[str, ModelConfig], batch: int, seq: int, dtype: Dtype) -> dict[str, ModelCosts]:
    """The costs of several models, by name; see memory."""
    return {name: costs_of(config, batch=batch, seq=seq, dtype=dtype) for name, config in configs.items()}


def numbers(config: ModelConfig, seq: int) -> tuple[Metric, ...]:
    """Numbers beside the picture: the count, the formula's, the other way of tying, and FLOPs of a text of seq
    tokens."""
    costs = costs_of(config, seq=seq)
    count, off = costs.count, costs.formula_error
    share = f"{whole(count.active)}: {count.active / count.total:.0%} of all"
    return (
        Metric("Parameters", short(count.total), whole(count.total)),
        *([Metric("Active per token", short(count.active), share)] if count.active != count.total else []),
        Metric("12 N d² + V d", short(costs.formula), "within 0.05%" if abs(off) < 5e-4 else f"{off:+.1%} off"),
        Metric(f"Unembedding {'untied' if config.tie_embeddings else 'tied'}", short(costs.other_tying)),
        Metric("FLOPs per token", short(costs.flops.forward), f"in training: {short(costs.flops.training)}"),
    )


def built_again(config: ModelConfig) -> Finding:
    """Whether the model, built without memory, has as many parameters as were counted."""
    return BuiltAgain(built_of(config), costs_of(config).count.total)


def side_by_side(costs: Mapping[str, ModelCosts]) -> pd.DataFrame:
    """The costs of models, a column each."""
    return pd.DataFrame(
        {
            name: {
                "parameters": f"{one.count.total:,}",
                "active": f"{one.count.active:,}",
                "sequence length": f"{one.seq:,}",
                "GFLOPs per token": f"{one.flops.forward / 1e9:,.2f}",
                "KV cache (bytes per token)": f"{one.cached:,}",
            }
            for name, one in costs.items()
        }
    )


def _every_preset() -> pd.DataFrame:
    """The costs of published models, a row each."""
    rows = []
    for preset, name in NAMES.items():
        config = PRESETS[preset]()
        costs = costs_of(config)
        rows.append(
            {
                "model": name,
                "parameters": costs.count.total,
                "active": costs.count.active,
                "12 N d² + V d": costs.formula,
                "error": costs.formula_error,
                "d_model": config.d_model,
                "layers": config.encoder_layers + config.decoder_layers,
                "heads": config.attention.n_heads,
                "KV heads": config.attention.kv_heads,
                "GFLOPs per token": costs.flops.forward / 1e9,
                "weights in bf16 (GB)": costs.memory.weights / 1e9,
                "KV bytes per token": costs.cached,
            }
        )
    return pd.DataFrame(rows)


every_preset = kept(_every_preset, entries=1)
