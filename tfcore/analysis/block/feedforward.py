"""Feed-forward layers: gated units, their width for a number of parameters, and their share of a block."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.config import GATED, Activation, ModelConfig
from tfcore.feedforward import ACTIVATIONS
from tfcore.measures.parameter_count import parameters
from tfcore.presets import PRESETS

GATE_NAMES: dict[Activation, str] = {"swiglu": "SwiGLU", "geglu": "GEGLU", "reglu": "ReGLU"}
UNIT_LIMIT = 4.0  # both inputs of a gated unit go from -UNIT_LIMIT to UNIT_LIMIT
UNIT_POINTS = 81
PUBLISHED: dict[str, str] = {  # what a model is called -> its preset
    "GPT-2 small": "gpt2_small",
    "GPT-3 175B": "gpt3_175b",
    "BERT base": "bert_base",
    "Transformer base (decoder)": "transformer_base",
    "T5 base (decoder)": "t5_base",
    "LLaMA-2 7B": "llama2_7b",
    "LLaMA-3 8B": "llama3_8b",
    "Mistral 7B": "mistral_7b",
    "Gemma 7B": "gemma_7b",
    "Mixtral 8x7B": "mixtral_8x7b",
}


@dataclass(frozen=True, slots=True)
class LayerCost:
    """The parameters of one feed-forward layer.

    Args:
        activation: its activation function.
        d_ff: hidden width.
        matrices: 2, or 3 when gated; each of d_model * d_ff weights.
        count: parameters, from tfcore.measures.parameter_count.
    """

    activation: Activation
    d_ff: int
    matrices: int
    count: int


def layer_cost(activation: Activation, d_model: int, d_ff: int | None = None) -> LayerCost:
    """The parameters of one feed-forward layer without biases.

    Args:
        d_ff: None means what the config takes: 4 d_model, or 8/3 d_model rounded up to a multiple of 8 when gated, so
            that three matrices have as many weights as two had (arXiv:2002.05202, section 2).
    """
    config = ModelConfig(vocab_size=1, d_model=d_model, n_layers=1, n_heads=1, activation=activation, d_ff=d_ff)
    count = parameters(config).by_layer["blocks.0"]["feed-forward"]
    return LayerCost(activation, config.ff_size, 3 if activation in GATED else 2, count)


@dataclass(frozen=True, slots=True)
class LayerWidths(Finding):
    """The parameters of a plain layer and of a gated one of two widths.

    Args:
        d_model: width of the model.
        gate: name of the gated layer.
        plain: parameters of the plain layer, d_ff = 4 d_model.
        matched_width, matched: d_ff and parameters of the gated layer, 8/3 d_model rounded up to a multiple of 8.
        wide: parameters of the gated layer, d_ff = 4 d_model.
    """

    d_model: int
    gate: str
    plain: int
    matched_width: int
    matched: int
    wide: int

    @property
    def sentence(self) -> str:
        return (
            f"FFN: {self.plain:,}. {self.gate} at {self.width} (a multiple of 8): {self.matched:,}, "
            f"{self.matched / self.plain:.2%} of it; at 4 d: {self.wide:,}, {self.wide / self.plain:.0%}."
        )

    @property
    def width(self) -> str:
        """d_ff of the gated layer with as many parameters."""
        return f"{self.matched_width:,}"

    @property
    def unrounded(self) -> str:
        """As in "8/3 d = 10,922.7"."""
        return f"8/3 d = {8 * self.d_model / 3:,.1f}"


def compare_widths(kind: Activation, d_model: int) -> tuple[list[tuple[str, LayerCost]], LayerWidths]:
    """A plain layer and a gated one of two widths, (name, cost), and their parameters compared."""
    gate = GATE_NAMES[kind]
    plain, matched, wide = (
        layer_cost("relu", d_model),
        layer_cost(kind, d_model),
        layer_cost(kind, d_model, 4 * d_model),
    )
    layers = [("FFN, 4 d", plain), (f"{gate}, 8/3 d", matched), (f"{gate}, 4 d", wide)]
    return layers, LayerWidths(d_model, gate, plain.count, matched.d_ff, matched.count, wide.count)


@dataclass(frozen=True, slots=True)
class GatedUnit:
    """One hidden unit of a gated layer over its two inputs.

    Args:
        gate, up: the inputs, outputs of the gate and of the up-projection for a token.
        gated: act(gate) * up, at (up, gate).
        plain: act(gate), a unit without a second input.
    """

    gate: Float[ndarray, " gate"]
    up: Float[ndarray, " up"]
    gated: Float[ndarray, "up gate"]
    plain: Float[ndarray, " gate"]


def gated_unit(activation: Activation) -> GatedUnit:
    """A unit of a gated layer: act(gate) * up (arXiv:2002.05202, eq. 5)."""
    half = UNIT_POINTS // 2
    inputs = UNIT_LIMIT * torch.arange(-half, half + 1) / half  # 0 in the middle, exactly
    plain = ACTIVATIONS[activation](inputs)
    gated = plain[None, :] * inputs[:, None]  # (up, gate)
    return GatedUnit(inputs.numpy(), inputs.numpy(), gated.numpy(), plain.numpy())


@dataclass(frozen=True, slots=True)
class UnitRange(Finding):
    """The smallest and the largest output of a gated unit, both inputs from -UNIT_LIMIT to UNIT_LIMIT."""

    gate: str
    lowest: float
    highest: float

    @property
    def sentence(self) -> str:
        return f"One {self.gate} unit over its two inputs: from {self.lowest:.1f} to {self.highest:.1f}."


def unit_range(unit: GatedUnit, kind: Activation) -> UnitRange:
    """The range of a unit's outputs."""
    return UnitRange(GATE_NAMES[kind], float(unit.gated.min()), float(unit.gated.max()))


@dataclass(frozen=True, slots=True)
class UnitSlice(Finding):
    """A gated and a plain unit where the gate is largest.

    Args:
        up: the second input.
        gate: the largest input of the gate.
        gated, plain: outputs there.
    """

    up: float
    gate: float
    gated: float
    plain: float

    @property
    def sentence(self) -> str:
        return (
            f"Where W_up x = {self.up:g}: at gate {self.gate:g} the gated unit gives {self.gated:.1f}, a plain one "
            f"{self.plain:.1f}."
        )


def unit_slice(unit: GatedUnit, up: float) -> UnitSlice:
    """The units at the right end of the gate's inputs."""
    plain = float(unit.plain[-1])
    return UnitSlice(up, float(unit.gate[-1]), up * plain, plain)


@dataclass(frozen=True, slots=True)
class BlockShare:
    """The parameters of one block.

    Args:
        attention: all attention layers of the block.
        feed_forward: the feed-forward layer, or the experts with their router.
        norms: the rest.
    """

    attention: int
    feed_forward: int
    norms: int

    @property
    def total(self) -> int:
        return self.attention + self.feed_forward + self.norms

    @property
    def share(self) -> float:
        """The feed-forward layer's share of the block's parameters."""
        return self.feed_forward / self.total


def block_share(config: ModelConfig) -> BlockShare:
    """The parameters of the last block of a model; of the decoder, where there are two stacks."""
    counts = list(parameters(config).by_layer.values())[-1]
    attention = sum(counts.get(name, 0) for name in ("attention", "cross-attention"))
    norms = counts["norms"]
    return BlockShare(attention, sum(counts.values()) - attention - norms, norms)


def published_configs() -> dict[str, ModelConfig]:
    """The configs of PUBLISHED."""
    return {name: PRESETS[preset]() for name, preset in PUBLISHED.items()}


def block_shares(configs: Mapping[str, ModelConfig]) -> dict[str, BlockShare]:
    """The parameters of the last block of each model, name -> counts."""
    return {name: block_share(config) for name, config in configs.items()}


def share_formula(matrices: int, ratio: float, groups: float) -> float:
    """m r / (m r + 2 + 2 g): m matrices of width r = d_ff / d_model, g = key/value heads per query head.

    Attention has W_Q and W_O of d^2 and W_K and W_V of g d^2 weights. With m r = 8 and g = 1 that is 8 / 12 = 2/3.
    """
    return matrices * ratio / (matrices * ratio + 2 + 2 * groups)


@dataclass(frozen=True, slots=True)
class FormulaShare(Finding):
    """The feed-forward share by `share_formula`."""

    share: float

    @property
    def sentence(self) -> str:
        return f"By the formula: {self.share:.1%} (without norms)."


@dataclass(frozen=True, slots=True)
class ChosenShare(Finding):
    """The feed-forward share of one model's block.

    Args:
        model: its name.
        feed_forward, total: parameters of the feed-forward layer, and of the block.
    """

    model: str
    feed_forward: int
    total: int

    @property
    def sentence(self) -> str:
        return f"{self.model}: {self.feed_forward:,} of {self.total:,} parameters of a block, {self.share}."

    @property
    def share(self) -> str:
        """In percent, one place after the point."""
        return f"{self.feed_forward / self.total:.1%}"


def chosen_share(blocks: Mapping[str, BlockShare], chosen: str) -> ChosenShare:
    """The share of the model looked at."""
    return ChosenShare(chosen, blocks[chosen].feed_forward, blocks[chosen].total)


@dataclass(frozen=True, slots=True)
class EveryShare(Finding):
    """The feed-forward shares of several models, name -> share."""

    shares: dict[str, float]

    @property
    def sentence(self) -> str:
        every = ", ".join(f"{model} {share:.1%}" for model, share in self.shares.items())
        return f"Share of the feed-forward half in one block: {every}."


def every_share(blocks: Mapping[str, BlockShare]) -> EveryShare:
    """The shares of all models."""
    return EveryShare({model: block.share for model, block in blocks.items()})


@dataclass(frozen=True, slots=True)
class PublishedShares(Finding):
    """The feed-forward shares of published models that differ in kind."""

    gpt2: float
    llama2: float
    llama3: float
    mixtral: float
    cross: float

    @property
    def sentence(self) -> str:
        return (
            f"Feed-forward share: {self.gpt2:.0%} in GPT-2 and {self.llama2:.0%} in LLaMA-2, whose layers are gated "
            f"but 8/3 d wide; {self.llama3:.0%} in LLaMA-3 8B, with shared KV heads and a wider layer; "
            f"{self.mixtral:.0%} in Mixtral, with eight experts; {self.cross:.0%} in a decoder with cross-attention, "
            "which has attention twice."
        )


def published_shares(blocks: Mapping[str, BlockShare]) -> PublishedShares:
    """The shares of the models of PUBLISHED that differ in kind."""
    names = ("GPT-2 small", "LLaMA-2 7B", "LLaMA-3 8B", "Mixtral 8x7B", "Transformer base (decoder)")
    return PublishedShares(*(blocks[name].share for name in names))


@dataclass(frozen=True, slots=True)
class FeedForwardTotal(Finding):
    """The parameters of the feed-forward layers of all blocks of a model, and of these blocks."""

    feed_forward: int
    total: int

    @property
    def sentence(self) -> str:
        ratio = self.feed_forward / (self.total - self.feed_forward)
        times = "two to one" if round(ratio) == 2 else f"{ratio:.1f} to one"
        mine, whole = self.feed_forward / 1e9, self.total / 1e9
        return f"The feed-forward layers, {times}: {mine:.0f} billion of {whole:.0f} billion."


def feed_forward_total(config: ModelConfig) -> FeedForwardTotal:
    """The parameters of all blocks of a decoder, the feed-forward layers apart."""
    block = block_share(config)
    return FeedForwardTotal(config.n_layers * block.feed_forward, config.n_layers * block.total)
