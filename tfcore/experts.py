"""A mixture of experts: a router sends each token to a few of many feed-forward layers."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfcore.config import ModelConfig
from tfcore.feedforward import activated
from tfcore.inspection.capture import ActivationRecorder
from tfcore.linear import Linear
from tfcore.onednn import linear
from tfcore.part_configs import ExpertsConfig
from tfcore.routing import (
    choose_experts,
    choose_tokens,
    count_tokens,
    expert_capacity,
    expert_load,
    expert_weights,
    load_balancing_loss,
    over_capacity,
    update_balance_bias_,
    z_loss,
)


def mix(
    x: Float[Tensor, "token d_model"],
    indices: Int[Tensor, "token choice"],
    weights: Float[Tensor, "token choice"],
    chosen: Bool[Tensor, "token choice"] | None,
    experts: Sequence[Callable[[Float[Tensor, "row d_model"]], Float[Tensor, "row d_model"]]],
) -> Float[Tensor, "token d_model"]:
    """sum over a token's experts of weight * expert(token), each expert called once with all its tokens.

    Slots are sorted by expert, so an expert's tokens lie side by side, and what nobody chose is never computed.

    Args:
        chosen: the slots that are computed; None means all.
    """
    ids = indices.flatten()  # (slot)
    if chosen is not None:
        ids = ids.masked_fill(~chosen.flatten(), len(experts))  # sorted behind all others, and cut off there
    counts = ids.bincount(minlength=len(experts))[: len(experts)].tolist()
    slots = ids.argsort(stable=True)[: sum(counts)]
    tokens = slots // indices.shape[-1]
    parts = zip(experts, counts, x.index_select(0, tokens).split(counts), strict=True)
    outputs = [expert(rows) for expert, count, rows in parts if count]
    if not outputs:
        return torch.zeros_like(x)
    y = torch.cat(outputs) * weights.take(slots)[:, None]  # (slot, d_model)
    return y.new_zeros(x.shape).index_add_(0, tokens, y).to(x.dtype)


class Experts(nn.Module):
    """sum over the chosen experts of weight_i * expert_i(x), plus the shared experts' (arXiv:2401.06066, section 3.2).

    Each expert is a feed-forward layer, gated or not as the config says. With a capacity, or where
    experts choose, what a token gets depends on the tokens it comes with: a batch or a cache changes the result.
    With routing="experts" a causal decoder even looks into the future, as that paper says of its limits: it suits
    encoders. Its weights are the paper's with softmax="before".

    Captured and edited under mlp.router: logits (with the noise), probs (over all experts), indices (best first; where
    experts choose, slot i is expert i and weight 0 means not chosen), weights and dropped.

    Args:
        config: its `experts` must be set.

    Raises:
        ValueError: if config.experts is None.
    """

    balance_bias: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        if config.experts is None:
            raise ValueError("experts=None has no mixture of experts in it; give experts=ExpertsConfig(...)")
        self.config: ExpertsConfig = config.experts
        d_model, n = config.d_model, config.experts.n_experts
        d_expert = config.expert_size
        self.layer, self.halves = config.feed_forward, 2 if config.feed_forward.is_gated else 1
        self.load: Tensor | None = None  # choices of each expert since the last even_out_, where there is a bias
        self.generator: torch.Generator | None = None  # of the noise; None is torch's own, which all threads share
        self.router = Linear(d_model, n, bias=config.experts.bias)
        self.up = nn.Parameter(torch.empty(n, self.halves * d_expert, d_model))  # the gate first, then what it gates
        self.down = nn.Parameter(torch.empty(n, d_model, d_expert))
        if not self.up.is_meta:  # as in tfcore.linear
            nn.init.normal_(self.up, std=d_model**-0.5)
            nn.init.normal_(self.down, std=d_expert**-0.5)
        if config.experts.bias:
            self.up_bias = nn.Parameter(torch.zeros(n, self.halves * d_expert))
            self.down_bias = nn.Parameter(torch.zeros(n, d_model))
        if shared := config.experts.n_shared * d_expert:
            self.shared_up = Linear(d_model, self.halves * shared, bias=False)
            self.shared_down = Linear(shared, d_model, bias=False)
        if config.experts.shared_gate:
            self.shared_gate = Linear(d_model, 1, bias=False)
        if config.experts.bias_rate > 0:
            self.register_buffer("balance_bias", torch.zeros(n))

    def forward(
        self,
        x: Float[Tensor, "batch seq d_model"],
        recorder: ActivationRecorder,
        padding_mask: Bool[Tensor, "batch seq"] | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        """The update that the layer adds to the stream.

        Args:
            padding_mask: False at padding: it goes to no routed expert, takes no room, and counts in no loss.
        """
        logits = self.router(x)
        if self.training and self.config.noise:
            place = logits.device if self.generator is None else self.generator.device
            noise = torch.randn(logits.shape, generator=self.generator, dtype=logits.dtype, device=place)
            logits = logits + self.config.noise * noise.to(logits.device)
        logits = recorder("mlp.router.logits", logits)
        exact = torch.promote_types(logits.dtype, torch.float32)
        probs = logits.to(exact).sigmoid() if self.config.scores == "sigmoid" else logits.softmax(-1, dtype=exact)
        probs = recorder("mlp.router.probs", probs)  # (batch, seq, expert)
        indices, chosen = self._choose(probs, recorder, padding_mask)
        if self.training:
            load = expert_load(indices, self.config.n_experts, chosen)
            self._losses(logits, probs, load, recorder, padding_mask)
            if self.config.bias_rate > 0:
                self.load = load if self.load is None else self.load + load
        sum_to_one = self.config.softmax == "after" or self.config.renormalize
        weights = expert_weights(probs, indices, chosen, sum_to_one=sum_to_one)
        if (dropped := self._dropped(indices, recorder, padding_mask)) is not None:
            chosen = ~dropped if chosen is None else chosen & ~dropped
            weights = weights.masked_fill(dropped, 0)
        weights = recorder("mlp.router.weights", weights)  # (batch, seq, choice)
        chosen = None if chosen is None else chosen.flatten(0, 1)
        nothing = [None] * self.config.n_experts
        biases = (self.up_bias.unbind(), self.down_bias.unbind()) if self.config.bias else (nothing, nothing)
        experts = [
            partial(self._feed, up=up, down=down, up_bias=up_bias, down_bias=down_bias)
            for up, down, up_bias, down_bias in zip(self.up.unbind(), self.down.unbind(), *biases, strict=True)
        ]
        y = mix(x.flatten(0, 1), indices.flatten(0, 1), weights.flatten(0, 1), chosen, experts).view_as(x)
        if not self.config.n_shared:
            return y
        shared = self.shared_down(self._activate(self.shared_up(x)))
        if self.config.shared_gate:
            shared = shared * self.shared_gate(x).sigmoid()
        return recorder("mlp.routed_out", y) + recorder("mlp.shared_out", shared)

    def even_out_(
        self, total: Callable[[Float[Tensor, " expert"]], Float[Tensor, " expert"]] = lambda load: load
    ) -> None:
        """After an optimiser step, move balance_bias by the load counted since the last time (arXiv:2408.15664).

        Args:
            total: makes one sum of the loads of several processes.
        """
        if self.load is not None:
            update_balance_bias_(self.balance_bias, total(self.load), self.config.bias_rate)
            self.load = None

    def _choose(
        self,
        probs: Float[Tensor, "batch seq expert"],
        recorder: ActivationRecorder,
        padding_mask: Bool[Tensor, "batch seq"] | None,
    ) -> tuple[Int[Tensor, "batch seq choice"], Bool[Tensor, "batch seq choice"] | None]:
        """Indices, and which of these slots go to their expert if it has room (None: all)."""
        config = self.config
        if config.routing == "experts":
            chosen: Tensor | None = choose_tokens(probs, config.top_k, padding_mask)
            indices = torch.arange(config.n_experts, device=probs.device).repeat(*probs.shape[:2], 1)
        else:
            bias = self.balance_bias if config.bias_rate > 0 else None
            groups = config.n_groups, config.kept_groups, config.group_best
            indices = choose_experts(probs, config.top_k, bias, groups=groups)
            chosen = None if padding_mask is None else padding_mask[..., None].expand_as(indices)
        return recorder("mlp.router.indices", indices), chosen

    def _dropped(
        self,
        indices: Int[Tensor, "batch seq choice"],
        recorder: ActivationRecorder,
        padding_mask: Bool[Tensor, "batch seq"] | None,
    ) -> Bool[Tensor, "batch seq choice"] | None:
        """Which slots find their expert full; None where that can happen to none and nobody asks."""
        config = self.config
        if config.capacity_factor is not None:
            tokens = count_tokens(indices, padding_mask)
            room = expert_capacity(tokens, config.n_experts, config.top_k, config.capacity_factor)
            dropped = over_capacity(indices, config.n_experts, room, padding_mask)
        elif recorder.wants("mlp.router.dropped"):
            dropped = torch.zeros_like(indices, dtype=torch.bool)
        else:
            return None
        return recorder("mlp.router.dropped", dropped)

    def _losses(
        self,
        logits: Float[Tensor, "batch seq expert"],
        probs: Float[Tensor, "batch seq expert"],
        load: Int[Tensor, " expert"],
        recorder: ActivationRecorder,
        padding_mask: Bool[Tensor, "batch seq"] | None,
    ) -> None:
        if self.config.scores == "sigmoid":  # shares, as in arXiv:2412.19437, eq. 19
            probs = probs / probs.sum(-1, keepdim=True)
        if self.config.balance_loss:
            recorder.loss("balance_loss", load_balancing_loss(probs, load, self.config.balance_loss, padding_mask))
        if self.config.z_loss:
            recorder.loss("z_loss", z_loss(logits, self.config.z_loss, padding_mask))

    def _feed(
        self,
        x: Float[Tensor, "rows d_model"],
        up: Float[Tensor, "d_up d_model"],
        down: Float[Tensor, "d_model d_expert"],
        up_bias: Float[Tensor, " d_up"] | None,
        down_bias: Float[Tensor, " d_model"] | None,
    ) -> Float[Tensor, "rows d_model"]:
        """One expert's output for its tokens."""
        return linear(self._activate(linear(x, up, up_bias)), down, down_bias)

    def _activate(self, h: Float[Tensor, "*batch d_up"]) -> Float[Tensor, "*batch d_expert"]:
        return activated(self.layer, *h.chunk(self.halves, dim=-1))
