"""A convolution over the embeddings beside the first layer of an encoder."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from tfcore.config import ModelConfig
from tfcore.feedforward import PLAIN_ACTIVATIONS
from tfcore.part_configs import InputConvolutionConfig


class InputConvolution(nn.Module):
    """act(sum_j W_j x_{i+j} + b) of each token i and its neighbours, half of the width to either side, with 0 beyond
    the text and at padding (DeBERTa v2's published code)."""

    def __init__(self, config: ModelConfig, own: InputConvolutionConfig) -> None:
        super().__init__()
        self.activation = PLAIN_ACTIVATIONS[own.activation]
        self.weight = nn.Parameter(torch.zeros(config.d_model, config.d_model, own.width))
        self.bias = nn.Parameter(torch.zeros(config.d_model))

    def forward(
        self, x: Float[Tensor, "batch seq d_model"], padding_mask: Bool[Tensor, "batch seq"] | None = None
    ) -> Float[Tensor, "batch seq d_model"]:
        if padding_mask is not None:
            x = x * padding_mask[..., None].to(x)
        half = self.weight.shape[-1] // 2
        return self.activation(F.conv1d(x.mT, self.weight, self.bias, padding=half).mT)
