"""Fine-tuning: which weights are trained, what that costs, and what runs learned and forgot."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tfcore.config import ModelConfig
from tfcore.measures.memory_use import MOMENTS
from tfcore.measures.parameter_count import parameters
from tfcore.measures.precision import stored_bytes
from tfcore.training.finetuning_runs import FineTuneConfig, FineTuned


def lora_parameters(config: ModelConfig, rank: int) -> int:
    """Trained numbers of LoRA on every matrix of a plain decoder's blocks: r (d_in + d_out) each.

    Source: arXiv:2106.09685, section 4.1; A is (r, d_in), B is (d_out, r).
    """
    d, wide = config.d_model, config.ff_size
    queries, keys = config.attention.n_heads * config.head_size, config.attention.kv_heads * config.head_size
    up = 2 * wide if config.feed_forward.is_gated else wide
    sides = ((d, queries + 2 * keys), (queries, d), (d, up), (wide, d))  # (d_in, d_out) of qkv, out, up and down
    return config.n_layers * sum(rank * (d_in + d_out) for d_in, d_out in sides)


def layer_parameters(config: ModelConfig) -> int:
    """Numbers in one layer of a plain decoder without biases: four matrices and two norms' weights."""
    d, wide = config.d_model, config.ff_size
    queries, keys = config.attention.n_heads * config.head_size, config.attention.kv_heads * config.head_size
    up = 2 * wide if config.feed_forward.is_gated else wide
    return d * (queries + 2 * keys) + queries * d + d * up + wide * d + 2 * d


def trainable(model: ModelConfig, config: FineTuneConfig) -> int:
    """How many numbers a method trains; "last" trains the final norm too."""
    if config.method == "full":
        return parameters(model).total
    if config.method == "lora":
        return lora_parameters(model, config.rank)
    return min(config.layers, model.n_layers) * layer_parameters(model) + model.d_model


@dataclass(frozen=True, slots=True)
class TuningCost:
    """Numbers that a method trains, and those that gradients and AdamW keep of them.

    Args:
        method: in words.
        trainable, total: numbers trained, and in the model.
        state: bytes of gradients (4 a number) and AdamW's two moments (8), in float32.
        full_state: the same when all weights are trained.
    """

    method: str
    trainable: int
    total: int
    state: int
    full_state: int

    @property
    def share(self) -> float:
        """Numbers trained over those in the model."""
        return self.trainable / self.total


def tuning_cost(model: ModelConfig, config: FineTuneConfig) -> TuningCost:
    """Counted from the config: 12 bytes for each trained number (arXiv:1910.02054, section 3.1, in float32).

    Activations are left out: the backward pass needs nearly all of them whatever is trained in the first layer.
    """
    count, total = trainable(model, config), parameters(model).total
    bytes_each = stored_bytes(1, "float32") * (1 + MOMENTS["adamw"])
    return TuningCost(config.name, count, total, count * bytes_each, total * bytes_each)


def gain(run: FineTuned) -> float:
    """The fall of the loss on the new text, nats per token."""
    return run.losses[0].new - run.losses[-1].new


def forgotten(run: FineTuned) -> float:
    """The rise of the loss on the old text, nats per token."""
    return run.losses[-1].old - run.losses[0].old


class MethodMeans(NamedTuple):
    """The runs of one setting with several seeds.

    Args:
        name: of the method.
        gain, forgotten: their means.
    """

    name: str
    gain: float
    forgotten: float


def method_means(runs: Sequence[FineTuned]) -> list[MethodMeans]:
    """Each setting of some runs, seeds taken together."""
    groups: dict[FineTuneConfig, list[FineTuned]] = {}
    for run in runs:
        groups.setdefault(replace(run.config, seed=0), []).append(run)
    return [
        MethodMeans(config.name, sum(map(gain, own)) / len(own), sum(map(forgotten, own)) / len(own))
        for config, own in groups.items()
    ]
