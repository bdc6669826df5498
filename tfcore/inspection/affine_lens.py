"""An affine map for each of some states of the residual stream: the tuned lens, and the Jacobian lens."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tfcore.onednn import linear


class AffineLens(nn.Module):
    """Affine maps from states of the stream to the final one, which the final norm and the unembedding then read.

        Lens(x) = FinalNorm(A x + b) W_U,  A = 1 + W

    A tuned lens is trained to predict what the model predicts (arXiv:2303.08112, section 3). In a Jacobian lens A is
    the mean over texts of the derivative of the final states with respect to this one, and b is 0 (arXiv:2607.15495).
    What is kept is W = A - 1: all zeros are
    the logit lens. The last state of a model has no map, for it is the final one.

    Args:
        stages: names of the states that have a map, see tfcore.inspection.capture.
        d_model: width of the stream.
    """

    def __init__(self, stages: Sequence[str], d_model: int) -> None:
        super().__init__()
        self.stages = tuple(stages)
        self.weight = nn.Parameter(torch.zeros(len(self.stages), d_model, d_model))
        self.bias = nn.Parameter(torch.zeros(len(self.stages), d_model))

    def forward(self, stage: str, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """A x + b: the state as the final norm and the unembedding read it; x itself where there is no map."""
        if stage not in self.stages:
            return x
        i = self.stages.index(stage)
        return x + linear(x, self.weight[i], self.bias[i])
