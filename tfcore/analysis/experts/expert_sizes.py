"""Size and cost of a mixture of experts, by arithmetic: total and active parameters, finer and shared experts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tfcore.analysis.finding import Finding
from tfcore.config import ModelConfig
from tfcore.measures.flop_count import flops
from tfcore.measures.parameter_count import ParameterCount, feed_forward_weights, parameters
from tfcore.measures.quantities import power, whole
from tfcore.part_configs import ExpertsConfig

SEQ = 1_024  # tokens of the text over which operations are counted, or the context where that is shorter


def finer(config: ModelConfig, parts: int, shared: int) -> ModelConfig:
    """DeepSeekMoE's two steps (arXiv:2401.06066, eq. 6 to 11): cut every expert into parts, and make some of them
    shared. Of N experts, K for a token, become m N - s routed and s shared ones of 1/m the width, m K - s of the routed
    for a token: as many weights as before in all, and as many at work.

    Args:
        config: with experts.
        parts: m.
        shared: s, taken from the routed ones, besides those that are shared already.

    Raises:
        ValueError: a width that cannot be cut so, or more shared experts than a token has.
    """
    experts, size = _experts(config), config.expert_size
    if size % parts:
        raise ValueError(f"an expert of width {size} cannot be cut into {parts} equal parts; take a divisor of {size}")
    if shared >= experts.top_k * parts:
        raise ValueError(f"shared={shared} leaves a token no routed expert; at most {experts.top_k * parts - 1}")
    return replace(
        config,
        experts=replace(
            experts,
            n_experts=experts.n_experts * parts - shared,
            top_k=experts.top_k * parts - shared,
            d_expert=size // parts,
            n_shared=experts.n_shared * parts + shared,
        ),
    )


@dataclass(frozen=True, slots=True)
class ExpertSizes:
    """The arithmetic of a mixture.

    Args:
        count: its parameters.
        layers: how many have experts.
        n_experts, top_k, n_shared: of each.
        width: of one expert.
        one: weights of one expert.
        rest: parameters outside the experts, all of them at work for every token.
        seq: tokens of the text over which operations are counted.
        forward: operations of the forward pass, a token.
        all_at_work: the same, if every expert computed every token.
        combinations: how many sets of routed experts a token can go to in one layer.
    """

    count: ParameterCount
    layers: int
    n_experts: int
    top_k: int
    n_shared: int
    width: int
    one: int
    rest: int
    seq: int
    forward: float
    all_at_work: float
    combinations: int

    @property
    def active_share(self) -> float:
        """Share of the parameters that are at work for a token."""
        return self.count.active / self.count.total

    @property
    def active_words(self) -> str:
        """That share, in words."""
        return f"{self.active_share:.1%}"

    @property
    def saving_words(self) -> str:
        """How many times more operations all experts would take, in words."""
        return f"{self.all_at_work / self.forward:.1f} times less than all experts"

    @property
    def combination_words(self) -> str:
        """The sets of experts, in full where that can be read."""
        return whole(self.combinations) if self.combinations < 10**12 else power(float(self.combinations))

    def used_by(self, tokens: int) -> float:
        """Routed experts of a layer that at least one of so many tokens goes to, were all chosen alike and each token
        for itself: N (1 - (1 - k / N)^tokens)."""
        return self.n_experts * (1 - (1 - self.top_k / self.n_experts) ** tokens)


def expert_sizes(config: ModelConfig) -> ExpertSizes:
    """Count a mixture; nothing is built.

    Total = rest + layers * (N + s) * one, active = rest + layers * (k + s) * one, where one expert with a gate has
    3 * d_model * width weights.
    """
    experts, count = _experts(config), parameters(config)
    layers = len(config.routed_layers)
    one = feed_forward_weights(config, config.expert_size)
    seq = min(SEQ, config.max_seq_len)
    everyone = replace(config, experts=replace(experts, top_k=experts.n_experts))
    return ExpertSizes(
        count,
        layers,
        experts.n_experts,
        experts.top_k,
        experts.n_shared,
        config.expert_size,
        one,
        count.total - layers * (experts.n_experts + experts.n_shared) * one,
        seq,
        flops(config, seq, pairs="visible").forward,
        flops(everyone, seq, pairs="visible").forward,
        math.comb(experts.n_experts, experts.top_k),
    )


def _experts(config: ModelConfig) -> ExpertsConfig:
    if config.experts is None:
        raise ValueError("this model has no experts to count; take one with config.experts")
    return config.experts


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
    matrices = sizes.one // (config.d_model * sizes.width)
    rest = _number(sizes.rest)
    return (
        rf"\begin{{aligned}} \text{{one expert}} &= {matrices}\, d\, d_e = {matrices} \cdot "
        rf"{_number(config.d_model)} \cdot {_number(sizes.width)} = {_number(sizes.one)} \\"
        rf"\text{{total}} &= \text{{rest}} + L\,(N + s)\,\text{{one}} = {rest} + {sizes.layers} \cdot "
        rf"({sizes.n_experts} + {sizes.n_shared}) \cdot {_number(sizes.one)} = {_number(sizes.count.total)} \\"
        rf"\text{{active}} &= \text{{rest}} + L\,(k + s)\,\text{{one}} = {rest} + {sizes.layers} \cdot "
        rf"({sizes.top_k} + {sizes.n_shared}) \cdot {_number(sizes.one)} = {_number(sizes.count.active)} "
        r"\end{aligned}"
    )


def _number(value: int) -> str:
    """With commas that LaTeX does not take for punctuation."""
    return f"{value:,}".replace(",", "{,}")
