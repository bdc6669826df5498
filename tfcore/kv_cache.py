"""Keys and values of earlier tokens, kept so that each new token costs one row of attention, not all of them."""

import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.config import ModelConfig


class KVCache:
    """Room for the keys and values of up to max_seq_len tokens, per layer.

    Memory: 2 * n_layers * batch * kv_heads * max_seq_len * d_head * bytes per number.

    Args:
        batch: rows of ids that each forward pass will have.
        device, dtype: those of the model.
    """

    def __init__(
        self,
        config: ModelConfig,
        batch: int = 1,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        shape = (config.n_layers, 2, batch, config.kv_heads, config.max_seq_len, config.head_size)
        self._store = torch.zeros(shape, device=device, dtype=dtype)
        self.length = 0  # tokens held, the same in every layer once a forward pass is over

    @property
    def batch(self) -> int:
        """Rows it was made for."""
        return self._store.shape[2]

    @property
    def room(self) -> int:
        """How many more tokens fit."""
        return self._store.shape[4] - self.length

    def extend(
        self, layer: int, k: Float[Tensor, "batch kv_head new d_head"], v: Float[Tensor, "batch kv_head new d_head"]
    ) -> tuple[Float[Tensor, "batch kv_head key d_head"], Float[Tensor, "batch kv_head key d_head"]]:
        """Put in the keys and values of the new tokens; returns all held so far, the new ones last."""
        end = self.length + k.shape[2]
        self._store[layer, 0, :, :, self.length : end] = k
        self._store[layer, 1, :, :, self.length : end] = v
        return self._store[layer, 0, :, :, :end], self._store[layer, 1, :, :, :end]

    def advance(self, new: int) -> None:
        """Count the new tokens as held; called once, after the last layer."""
        self.length += new
