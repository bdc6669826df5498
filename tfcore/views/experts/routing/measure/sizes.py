"""Size and cost of a mixture of experts, by arithmetic: total and active parameters, finer and shared experts."""

import math
from dataclasses import dataclass, replace

from tfcore.config import ModelConfig
from tfcore.measures.flop_count import flops
from tfcore.measures.parameter_count import ParameterCount, expert_parameters, parameters
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
        one: parameters of one expert.
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
        """The active share, in words."""
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
    3 * d_model * width weights, and biases where it has some.
    """
    experts, count = _experts(config), parameters(config)
    layers = len(config.routed_layers)
    one = expert_parameters(config)
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
