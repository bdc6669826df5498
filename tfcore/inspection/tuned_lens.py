"""The tuned lens: an affine translator for each state of the residual stream but the last (arXiv:2303.08112)."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tfcore.onednn import linear


class TunedLens(nn.Module):
    """Translators from states of the stream to the final one, each an affine map (arXiv:2303.08112, section 3).

        TunedLens(x) = FinalNorm(A x + b) W_U,  A = 1 + W

    What is kept is W = A - 1, as in the authors' package: all zeros are the logit lens. The last state of a model has
    no translator, for it is the final one. The paper has one translator a layer; here the state between attention and
    feed-forward layer has one, too.

    Args:
        stages: names of the states that have a translator, see tfcore.inspection.capture.
        d_model: width of the stream.
    """

    def __init__(self, stages: Sequence[str], d_model: int) -> None:
        super().__init__()
        self.stages = tuple(stages)
        self.weight = nn.Parameter(torch.zeros(len(self.stages), d_model, d_model))
        self.bias = nn.Parameter(torch.zeros(len(self.stages), d_model))

    def forward(self, stage: str, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """A x + b: the state as the final norm and the unembedding read it; x itself where there is no translator."""
        if stage not in self.stages:
            return x
        i = self.stages.index(stage)
        return x + linear(x, self.weight[i], self.bias[i])
