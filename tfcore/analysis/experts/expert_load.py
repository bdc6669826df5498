"""How a mixture of experts shares out the work: which experts take how much of a text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.one_text import one_text
from tfcore.model import Transformer


@dataclass(frozen=True, slots=True)
class ExpertLoad:
    """Loads of all experts, counted over texts.

    Args:
        tokens: share of the tokens that go to the expert; a layer sums to top_k.
        choices: share of all choices that fall on the expert; a layer sums to 1.
    """

    tokens: Float[ndarray, "layer expert"]

    @property
    def choices(self) -> Float[ndarray, "layer expert"]:
        return self.tokens / self.tokens.sum(-1, keepdims=True)


@torch.no_grad()
def expert_load(model: Transformer, texts: Iterable[Sequence[int]]) -> ExpertLoad:
    """Count over texts, each at most as long as the model's context, which experts their tokens are sent to.

    Raises:
        ValueError: the model has no experts.
    """
    config = model.config
    if config.experts is None:
        raise ValueError("this model has no experts to count; take one with config.experts")
    names = [f"blocks.{i}.mlp.router.indices" for i in config.routed_layers]
    counts, tokens = torch.zeros(len(names), config.experts.n_experts), 0
    for ids in texts:
        found = model(one_text(model, ids), capture=names).activations
        for layer, name in enumerate(names):
            counts[layer] += torch.bincount(found[name].flatten().cpu(), minlength=counts.shape[1])
        tokens += len(ids)
    return ExpertLoad((counts / max(1, tokens)).numpy())
