"""Layers of torch as the model uses them: a faster product on CPUs, and no weights where none are wanted."""

from jaxtyping import Float
from torch import Tensor, nn

from tfcore.onednn import linear


def low_rank_update(
    a: Float[Tensor, "rank d_in"], b: Float[Tensor, "d_out rank"], scale: float
) -> Float[Tensor, "d_out d_in"]:
    """s B A, which LoRA adds to a matrix (arXiv:2106.09685, equation 3)."""
    return scale * b @ a


class Linear(nn.Linear):
    """A layer of torch's whose product is `linear`."""

    def reset_parameters(self) -> None:
        """Weights as torch draws them; none on the meta device, where torch would take 80 MB to draw nothing."""
        if not self.weight.is_meta:
            super().reset_parameters()

    def forward(self, input: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:  # noqa: A002 - torch's name
        """x W^T + b."""
        return linear(input, self.weight, self.bias)


class Embedding(nn.Embedding):
    """torch's, which draws no weights on the meta device."""

    def reset_parameters(self) -> None:
        """Weights as torch draws them; none on the meta device, see Linear."""
        if not self.weight.is_meta:
            super().reset_parameters()
