"""Fine-tuning: which weights are trained, what that costs, and what a run learned and forgot."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tfcore.analysis.finding import Finding
from tfcore.config import GATED, ModelConfig
from tfcore.measures.memory_use import MOMENTS
from tfcore.measures.parameter_count import parameters
from tfcore.measures.precision import stored_bytes
from tfcore.measures.quantities import amount, span, whole
from tfcore.training.finetuning_runs import FineTuneConfig, FineTuned


@dataclass(frozen=True, slots=True)
class Learned(Finding):
    """What a run learned and what it forgot.

    Args:
        method: in words.
        step: steps done.
        new, old: loss before and now, nats per token, on the new text and on the old one.
    """

    method: str
    step: int
    new: tuple[float, float]
    old: tuple[float, float]

    @property
    def sentence(self) -> str:
        (new, new_now), (old, old_now) = self.new, self.old
        return (
            f"After {self.step} steps ({self.method}) the held-out loss on Romeo and Juliet {_moved(new, new_now)} "
            f"nats per token; the loss on held-out stories, the text that was learned before, {_moved(old, old_now)}."
        )


def _moved(before: float, now: float) -> str:
    if f"{before:.2f}" == f"{now:.2f}":
        return f"stays at {now:.2f}"
    return f"{'falls' if now < before else 'rises'} from {before:.2f} to {now:.2f}"


def learned(run: FineTuned) -> Learned:
    """The losses at the last look of a run, beside the first."""
    first, last = run.losses[0], run.losses[-1]
    return Learned(run.config.name, last.step, (first.new, last.new), (first.old, last.old))


@dataclass(frozen=True, slots=True)
class OverSeeds(Finding):
    """How much of a run depends on its seed.

    Args:
        method: in words.
        seeds: how many runs there are.
        gain, forgot: lowest and highest fall of the loss on the new text and rise of that on the old one, nats per
            token.
    """

    method: str
    seeds: int
    gain: tuple[float, float]
    forgot: tuple[float, float]

    @property
    def sentence(self) -> str:
        return (
            f"Over {self.seeds} seeds of batches ({self.method}) the loss on the new text falls by "
            f"{span(self.gain, '.2f')} nats per token, that on the old one rises by {span(self.forgot, '.2f')}."
        )


def over_seeds(runs: Sequence[FineTuned]) -> OverSeeds:
    """What runs of the same settings, each with its own seed, learned and forgot.

    Args:
        runs: at least one.
    """
    gain, forgot = [_gain(run) for run in runs], [_forgot(run) for run in runs]
    return OverSeeds(runs[0].config.name, len(runs), (min(gain), max(gain)), (min(forgot), max(forgot)))


def _gain(run: FineTuned) -> float:
    return run.losses[0].new - run.losses[-1].new


def _forgot(run: FineTuned) -> float:
    return run.losses[-1].old - run.losses[0].old


@dataclass(frozen=True, slots=True)
class MethodsCompared(Finding):
    """Which of several methods learned most, and which forgot least.

    Args:
        most, least: name, fall of the loss on the new text and rise of that on the old one, nats per token, each the
            mean over the seeds.
        runs: how many there are.
    """

    most: tuple[str, float, float]
    least: tuple[str, float, float]
    runs: int

    @property
    def sentence(self) -> str:
        (most, gain, forgot), (least, small_gain, little) = self.most, self.least
        among = f"Of {self.runs} runs that have ended (means over seeds)"
        if most == least:
            return f"{among}, tuning {most} learns most ({gain:.2f} nats per token) and forgets least ({forgot:.2f})."
        return (
            f"{among}, tuning {most} learns most: the loss on the new text falls by {gain:.2f} nats per token, that on "
            f"the old one rises by {forgot:.2f}. Tuning {least} forgets least: {small_gain:.2f} and {little:.2f}."
        )


def compare_methods(runs: Sequence[FineTuned]) -> MethodsCompared:
    """Which of several settings learned most, and which forgot least, seeds taken together.

    Args:
        runs: at least one.
    """
    groups: dict[FineTuneConfig, list[FineTuned]] = {}
    for run in runs:
        groups.setdefault(replace(run.config, seed=0), []).append(run)
    rows = [
        (config.name, sum(map(_gain, own)) / len(own), sum(map(_forgot, own)) / len(own))
        for config, own in groups.items()
    ]
    return MethodsCompared(max(rows, key=lambda row: row[1]), min(rows, key=lambda row: row[2]), len(runs))


def lora_parameters(config: ModelConfig, rank: int) -> int:
    """Trained numbers of LoRA on every matrix of a plain decoder's blocks: r (d_in + d_out) each.

    Source: arXiv:2106.09685, section 4.1; A is (r, d_in), B is (d_out, r).
    """
    d, wide = config.d_model, config.ff_size
    queries, keys = config.n_heads * config.head_size, config.kv_heads * config.head_size
    up = 2 * wide if config.activation in GATED else wide
    sides = ((d, queries + 2 * keys), (queries, d), (d, up), (wide, d))  # (d_in, d_out) of qkv, out, up and down
    return config.n_layers * sum(rank * (d_in + d_out) for d_in, d_out in sides)


def layer_parameters(config: ModelConfig) -> int:
    """Numbers in one layer of a plain decoder without biases: four matrices and two norms' weights."""
    d, wide = config.d_model, config.ff_size
    queries, keys = config.n_heads * config.head_size, config.kv_heads * config.head_size
    up = 2 * wide if config.activation in GATED else wide
    return d * (queries + 2 * keys) + queries * d + d * up + wide * d + 2 * d


def trainable(model: ModelConfig, config: FineTuneConfig) -> int:
    """How many numbers a method trains; "last" trains the final norm too."""
    if config.method == "full":
        return parameters(model).total
    if config.method == "lora":
        return lora_parameters(model, config.rank)
    return min(config.layers, model.n_layers) * layer_parameters(model) + model.d_model


@dataclass(frozen=True, slots=True)
class TuningCost(Finding):
    """What a method trains, and what gradients and AdamW keep of it.

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

    @property
    def sentence(self) -> str:
        return (
            f"Training {self.method} trains {whole(self.trainable)} numbers, {self.share:.1%} of the "
            f"{whole(self.total)} in the model. Gradients and AdamW's two moments take {amount(self.state)} in "
            f"float32; for all weights they take {amount(self.full_state)}."
        )


def tuning_cost(model: ModelConfig, config: FineTuneConfig) -> TuningCost:
    """Counted from the config: 12 bytes for each trained number (arXiv:1910.02054, section 3.1, in float32).

    Activations are left out: the backward pass needs nearly all of them whatever is trained in the first layer.
    """
    count, total = trainable(model, config), parameters(model).total
    bytes_each = stored_bytes(1, "float32") * (1 + MOMENTS["adamw"])
    return TuningCost(config.name, count, total, count * bytes_each, total * bytes_each)
