"""Multinomial logistic regression with an L2 penalty: the linear probe."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

L2 = 0.01  # penalty on the weights of standardised features
STEPS = 60  # of L-BFGS


@dataclass(frozen=True, slots=True)
class LinearProbe:
    """A fitted probe: scores = ((x - mean) / scale) W + b.

    Args:
        mean: of the training states, feature by feature.
        scale: one number, the root mean square of the training states less their mean.
        weight, bias: W and b.
    """

    mean: Float[Tensor, " d"]
    scale: Float[Tensor, ""]
    weight: Float[Tensor, "d klass"]
    bias: Float[Tensor, " klass"]

    def scores(self, x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch klass"]:
        """Logits of the classes."""
        return (x - self.mean) / self.scale @ self.weight + self.bias

    def predict(self, x: Float[Tensor, "*batch d"]) -> Int[Tensor, "*batch"]:
        """The class with the largest logit."""
        return self.scores(x).argmax(-1)


def fit_probe(x: Float[Tensor, "row d"], y: Int[Tensor, " row"], classes: int, l2: float = L2) -> LinearProbe:
    """The probe that minimises mean cross-entropy + l2 / 2 * ||W||^2 on standardised states.

    The loss is convex, and strictly so in W, so the result does not depend on where the search (L-BFGS with a line
    search that fulfils the strong Wolfe conditions, from zero) begins.
    """
    mean = x.mean(0)
    scale = (x - mean).square().mean().sqrt().clamp(min=1e-12)
    inputs = (x - mean) / scale
    weight = torch.zeros(x.shape[1], classes, requires_grad=True)
    bias = torch.zeros(classes, requires_grad=True)
    search = torch.optim.LBFGS(
        [weight, bias], max_iter=STEPS, history_size=20, tolerance_grad=1e-5, line_search_fn="strong_wolfe"
    )

    def loss() -> Tensor:
        search.zero_grad()
        value = F.cross_entropy(inputs @ weight + bias, y) + l2 / 2 * weight.square().sum()
        value.backward()
        return value

    with torch.enable_grad():
        search.step(loss)
    return LinearProbe(mean, scale, weight.detach(), bias.detach())
