"""Configs of parts that not every model has: a mixture of experts, slower rotary positions."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tfcore.checks import check_choice, check_flag, check_number, check_whole

Part: TypeAlias = Literal["encoder", "decoder", "cross"]  # of a model: whose attention is meant

Routing = Literal["tokens", "experts"]
SoftmaxPlace = Literal["before", "after"]
Scaling = Literal["linear", "llama3", "yarn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertsConfig:
    """A mixture of experts in place of the feed-forward layer (arXiv:1701.06538, arXiv:2101.03961, arXiv:2401.04088).

    Args:
        n_experts: experts a router chooses from.
        top_k: how many of them a token goes to; with routing "experts", how many on average.
        d_expert: hidden width of one expert; None means the model's d_ff.
        n_shared: experts every token goes through besides, as one of n_shared * d_expert (arXiv:2401.06066, eq. 9).
        routing: "tokens" choose experts, or "experts" choose tokens (arXiv:2202.09368).
        softmax: of the router's scores, "before" or "after" the top_k are taken; after, the weights sum to 1.
        renormalize: with softmax before, divide the weights of the chosen by their sum (the same as after).
        capacity_factor: an expert takes at most capacity_factor * top_k * tokens / n_experts tokens, the others are
            dropped, first come first served (arXiv:2101.03961, eq. 3); None drops nothing.
        noise: standard deviation of the noise on the router's scores in training (arXiv:1701.06538, eq. 4, with one
            fixed scale).
        balance_loss, z_loss: factors of the two auxiliary losses (arXiv:2101.03961, eq. 4; arXiv:2202.08906, eq. 5).
        bias_rate: step of the loss-free balancing bias (arXiv:2408.15664, algorithm 1); 0 leaves it out.
        dense_layers: that many first layers keep a plain feed-forward layer (arXiv:2401.06066, section 5.1.2).

    Raises:
        ValueError: naming the values that do not fit and what would.
    """

    n_experts: int = 8
    top_k: int = 2
    d_expert: int | None = None
    n_shared: int = 0
    routing: Routing = "tokens"
    softmax: SoftmaxPlace = "after"
    renormalize: bool = False
    capacity_factor: float | None = None
    noise: float = 0.0
    balance_loss: float = 0.01
    z_loss: float = 0.0
    bias_rate: float = 0.0
    dense_layers: int = 0

    def __post_init__(self) -> None:
        check_whole(self, n_experts=(1, 4_096), top_k=(1, 4_096), n_shared=(0, 256), dense_layers=(0, 512))
        check_whole(self, optional=True, d_expert=(1, 1_048_576))
        check_number(self, noise=(0, 100), balance_loss=(0, 100), z_loss=(0, 100), bias_rate=(0, 10))
        check_number(self, optional=True, capacity_factor=(0.01, 1_000))
        check_choice(self, routing=Routing, softmax=SoftmaxPlace)
        check_flag(self, "renormalize")
        if self.top_k > self.n_experts:
            raise ValueError(f"top_k={self.top_k} is more than n_experts={self.n_experts}; possible: 1 to n_experts")
        if self.routing == "experts" and self.capacity_factor is not None:
            raise ValueError(
                f"capacity_factor={self.capacity_factor} goes with routing='tokens' alone: experts that choose are "
                "never too full; leave it None"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RopeScaling:
    """Slower rotations for longer texts than a model was trained on.

    Args:
        kind: "linear" divides every frequency by the factor (arXiv:2306.15595, eq. 4); "llama3" leaves wavelengths
            below original_len / high_freq alone, divides those above original_len / low_freq, and blends between;
            "yarn" (arXiv:2309.00071) does the same with another blend, and sharpens attention.
        factor: how many times slower.
        original_len, low_freq, high_freq: of "llama3" and "yarn", whose paper writes L, alpha and beta.
        whole_pairs: of "yarn": the blend begins and ends at a whole pair, as in its published code.
        sharpness: of "yarn": what queries and keys are multiplied with; None means 0.1 ln(factor) + 1 (eq. 15).
    """

    kind: Scaling = "linear"
    factor: float = 1.0
    original_len: int = 8192
    low_freq: float = 1.0
    high_freq: float = 4.0
    whole_pairs: bool = True
    sharpness: float | None = None

    def __post_init__(self) -> None:
        check_choice(self, kind=Scaling)
        check_flag(self, "whole_pairs")
        check_number(self, optional=True, sharpness=(1e-3, 1e3))
        check_number(self, factor=(1, 1_000_000), low_freq=(1e-6, 1e6), high_freq=(1e-6, 1e6))
        check_whole(self, original_len=(1, 1_048_576))
        if self.kind != "linear" and self.low_freq >= self.high_freq:
            raise ValueError(f"low_freq={self.low_freq} must be below high_freq={self.high_freq}")

    @property
    def of_scores(self) -> float:
        """The factor of the scores of attention."""
        if self.kind != "yarn":
            return 1.0
        return (0.1 * math.log(self.factor) + 1 if self.sharpness is None else self.sharpness) ** 2
