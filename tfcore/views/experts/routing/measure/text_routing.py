"""Which experts take each token of a text, with what weight, as a model was trained or with its router changed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.block import Block
from tfcore.checks import check_choice, check_number, check_whole
from tfcore.experts import Experts
from tfcore.inspection.edits import Edit
from tfcore.measures.one_text import UsedTokens, one_text
from tfcore.measures.text_loss import next_losses
from tfcore.model import Transformer
from tfcore.part_configs import Routing
from tfcore.routing import expert_capacity, open_groups

LOGITS = "blocks.*.mlp.router.logits"


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterChange:
    """Another rule of routing, by the scores of the same trained router.

    Args:
        top_k: experts a token goes to; where experts choose, on average.
        routing: "tokens" choose experts, or "experts" choose tokens (arXiv:2202.09368).
        capacity: the capacity factor (arXiv:2101.03961, eq. 3); None drops nothing.
        noise: standard deviation of what is added to every score (arXiv:1701.06538, eq. 4, with one fixed scale).
        seed: of the noise.

    Raises:
        ValueError: naming the value and what would do.
    """

    top_k: int = 2
    routing: Routing = "tokens"
    capacity: float | None = None
    noise: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole(self, top_k=(1, 4_096), seed=(0, 1_000_000))
        check_number(self, noise=(0, 100))
        check_number(self, optional=True, capacity=(0.01, 1_000))
        check_choice(self, routing=Routing)


@dataclass(frozen=True, slots=True)
class TextRouting:
    """The routing of a text in a model.

    Args:
        layers: the blocks that have experts.
        logits: the routers' scores, noise included.
        probs: their softmax over all experts, or the sigmoid of each.
        chosen: which experts and tokens were put together.
        dropped: of these, which found their expert full.
        weights: what an expert's output is multiplied with; 0 where not chosen or dropped.
        losses: -ln p of every token but the first, given those before it.
        room: tokens an expert takes at most; None where there is no limit.
    """

    layers: tuple[int, ...]
    logits: Float[ndarray, "layer seq expert"]
    probs: Float[ndarray, "layer seq expert"]
    chosen: Bool[ndarray, "layer seq expert"]
    dropped: Bool[ndarray, "layer seq expert"]
    weights: Float[ndarray, "layer seq expert"]
    losses: Float[ndarray, " next"]
    room: int | None

    @property
    def taken(self) -> Bool[ndarray, "layer seq expert"]:
        """Which experts compute which tokens."""
        return self.chosen & ~self.dropped

    @property
    def load(self) -> Int[ndarray, "layer expert"]:
        """Tokens that each expert computes."""
        return self.taken.sum(1)

    @property
    def first(self) -> Int[ndarray, "layer seq"]:
        """The expert with the largest weight for each token; -1 where no expert takes it."""
        return np.where(self.taken.any(-1), self.weights.argmax(-1), -1)

    @property
    def first_weight(self) -> Float[ndarray, "layer seq"]:
        """The weight of each token's first expert; 0 where no expert takes the token."""
        return self.weights.max(-1)

    @property
    def loss(self) -> float:
        """Mean of the losses, in nats a token; nan of a text of one token."""
        return float(self.losses.mean()) if len(self.losses) else float("nan")


@torch.no_grad()
def route(model: Transformer, ids: Sequence[int], change: RouterChange | None = None) -> TextRouting:
    """Run a text through a model and keep what its routers do.

    With a change the whole model is run again, every layer with the changed routing: the first router with experts
    sees what it saw before, those after it see what the changed experts wrote.

    Args:
        model: a decoder with experts and a language head.
        ids: of the text, at least one.
        change: None is the routing the model was trained with.

    Raises:
        ValueError: the model has no experts, or fewer than top_k.
    """
    if model.config.experts is None:
        raise ValueError("this model has no experts to choose from; take one with config.experts")
    model = model if change is None else rerouted(model, change)
    config, tokens = model.config, one_text(model, ids)
    layers = config.routed_layers
    edits = [noisy_scores(change.noise, change.seed)] if change is not None and change.noise else []
    output = model(tokens, capture=("blocks.*.mlp.router.*",), edits=edits)
    kept = {
        name: torch.cat([output.activations[f"blocks.{i}.mlp.router.{name}"].cpu() for i in layers])
        for name in ("logits", "probs", "indices", "weights", "dropped")
    }
    experts = config.experts
    assert experts is not None
    by_slot = (
        kept["dropped"] | (kept["weights"] > 0) if experts.routing == "experts" else torch.ones_like(kept["dropped"])
    )
    (losses,) = next_losses(output.logits.float(), ids)
    factor = experts.capacity_factor
    room = None if factor is None else expert_capacity(len(ids), experts.n_experts, experts.top_k, factor)
    chosen, dropped, weights = (
        _by_expert(kept["indices"], part, experts.n_experts)
        for part in (by_slot, kept["dropped"], kept["weights"].float())
    )
    return TextRouting(
        layers,
        kept["logits"].float().numpy(),
        kept["probs"].numpy(),
        chosen,
        dropped,
        weights,
        losses.cpu().numpy(),
        room,
    )


def _by_expert(indices: Int[Tensor, "layer seq choice"], values: Tensor, n_experts: int) -> ndarray:
    """Values of slots in the place of the expert each slot names: (layer, seq, expert)."""
    by_expert = torch.zeros((*indices.shape[:2], n_experts), dtype=values.dtype)
    return by_expert.scatter(-1, indices, values).numpy()


@dataclass(frozen=True, slots=True)
class GroupChoice:
    """The scores that one token's choice of experts compares, in a layer whose experts stand in groups.

    Args:
        compared: of each expert its probability and the bias that counts for the choice alone.
        groups: the groups, from 0 on, from which experts are taken.
        n_groups: how many there are; neighbouring experts make one.
    """

    compared: Float[ndarray, " expert"]
    groups: tuple[int, ...]
    n_groups: int

    @property
    def open(self) -> Bool[ndarray, " expert"]:
        """Which experts stand in one of these groups."""
        own = np.arange(len(self.compared)) // (len(self.compared) // self.n_groups)
        return np.isin(own, self.groups)


def group_choice(model: Transformer, routing: TextRouting, at: int, position: int) -> GroupChoice | None:
    """The choice of the token at a position, in the layer at a place among those with experts; None where a router
    chooses among all experts at once."""
    experts = model.config.experts
    if experts is None or experts.kept_groups == experts.n_groups:
        return None
    compared = torch.tensor(routing.probs[at, position])
    if experts.bias_rate:
        mixture = cast("Experts", cast("Block", model.decoder.blocks[routing.layers[at]]).mlp)
        compared = compared + mixture.balance_bias.cpu().to(compared)
    (((*chosen,),),) = open_groups(compared[None, None], experts.n_groups, experts.kept_groups, experts.group_best)
    groups = tuple(i for i, there in enumerate(chosen) if there)
    return GroupChoice(compared.numpy(), groups, experts.n_groups)


def rerouted(model: Transformer, change: RouterChange) -> Transformer:
    """A model with the same weights, not copied, that routes by another rule: where experts choose, groups of experts
    count for nothing, and more than its groups would do are open where top_k needs them.

    Raises:
        ValueError: it has fewer than top_k experts.
    """
    assert model.config.experts is not None
    own, each_chooses = model.config.experts, change.routing == "experts"
    needed = -(-change.top_k // (own.n_experts // own.n_groups))  # groups
    experts = replace(
        own,
        n_groups=1 if each_chooses else own.n_groups,
        top_groups=None if each_chooses else min(own.n_groups, max(own.kept_groups, needed)),
        group_best=1 if each_chooses else own.group_best,
        top_k=change.top_k,
        routing=change.routing,
        capacity_factor=change.capacity if change.routing == "tokens" else None,
    )
    return model.with_weights(replace(model.config, experts=experts), model.state_dict())


def noisy_scores(noise: float, seed: int) -> Edit:
    """Normal noise on all scores of all routers, the same for the same seed."""
    generator = torch.Generator().manual_seed(seed)

    def add_noise(logits: Tensor) -> Tensor:
        return logits + noise * torch.randn(logits.shape, generator=generator).to(logits)

    return Edit(LOGITS, add_noise)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often two tokens of a text have the same first expert, by layer.

    Args:
        equal: among pairs of equal tokens.
        all: among all pairs.
        pairs: how many pairs of equal tokens there are; with none, `equal` is nan.
    """

    equal: Float[ndarray, " layer"]
    all: Float[ndarray, " layer"]
    pairs: int


def agreement(ids: Sequence[int], first: Int[ndarray, "layer seq"]) -> Agreement:
    """How often equal tokens have the same first expert: far more often than any two, where the token itself decides.

    Args:
        ids: of the text.
        first: the first expert of each token; -1, for none, agrees with nothing.
    """
    upper = np.triu_indices(len(ids), k=1)
    same_token = (np.asarray(ids)[:, None] == np.asarray(ids)[None])[upper]
    same = (first[:, :, None] == first[:, None, :]) & (first[:, :, None] >= 0)
    same = same[:, *upper]  # (layer, pair)
    equal, any_two = (
        part.mean(1) if part.size else np.full(len(first), np.nan) for part in (same[:, same_token], same)
    )
    return Agreement(equal, any_two, int(same_token.sum()))


class RoutedText(NamedTuple):
    """A text and what the routers of a model do with it.

    Args:
        read: its first tokens.
        routing: of these.
    """

    read: UsedTokens
    routing: TextRouting
