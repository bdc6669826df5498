"""Keys and values of earlier tokens, kept so that each new token costs one row of attention, not all of them."""

import copy

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tfcore.config import ModelConfig

Cached = Float[Tensor, "batch kv_head key d_head"]  # keys or values; of latent attention one vector for all heads
New = Float[Tensor, "batch kv_head new d_head"]
States = tuple[Float[Tensor, "batch before channel"] | None, Float[Tensor, "batch head d_key _"] | None]


class KVCache:
    """The keys and values of one text (or of several of the same length), layer by layer; of latent attention what they
    are made from: the rotated key of all heads and the latent vector (arXiv:2405.04434, section 2.1.3).

    A layer that carries a state, in place of keys and values or beside them, has it here, too, of the same size however
    long the text is; it cannot be taken back.

    A layer with a sliding window keeps the last window - 1 tokens, in a ring: a new token takes the place of the one
    that no later token can see. The other layers have room for all.

    Memory: 2 * batch * kv_heads * d_head * bytes per number * tokens kept, summed over the layers; with latents
    rotated + kv_latent in place of 2 * kv_heads * d_head.

    Args:
        batch: rows of ids that each forward pass will have.
        capacity: tokens it can hold; None means max_seq_len.
        rollback: tokens that truncate may take back where there is a window.
        device, dtype: those of the model.
    """

    def __init__(
        self,
        config: ModelConfig,
        batch: int = 1,
        *,
        capacity: int | None = None,
        rollback: int = 0,
        device: torch.device | str,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        if capacity is not None and not 1 <= capacity <= config.max_seq_len:
            raise ValueError(f"capacity={capacity} must be between 1 and max_seq_len={config.max_seq_len}, or None")
        self.length = 0  # tokens held, the same in every layer once a forward pass is over
        self._written = 0  # the most that were ever held: what a ring has overwritten does not come back
        self.capacity = capacity or config.max_seq_len
        self.rollback = rollback
        self._kept = []  # how many tokens each layer keeps
        for i in range(config.decoder_layers):
            window = config.window_of(i)
            if not config.attends(i):
                self._kept.append(0)
            else:
                self._kept.append(self.capacity if window is None else min(self.capacity, window - 1 + rollback))
        shape = (2, batch, config.attention.kv_heads, -1, config.head_size)
        if config.attention.kv_latent is not None:
            shape = (1, batch, 1, -1, (config.positions.rotated or 0) + config.attention.kv_latent)
        self._store = [
            torch.zeros([kept if n < 0 else n for n in shape], device=device, dtype=dtype) for kept in self._kept
        ]
        self._states: list[States] = [(None, None)] * config.decoder_layers  # of the tokens held
        self._next = list(self._states)  # of those that `advance` will count as well
        self.carries = [i for i in range(config.decoder_layers) if config.carried_by(i) is not None]
        self.memory: list[tuple[Tensor, Tensor] | None] = [None] * config.decoder_layers  # of cross-attention
        self.memory_mask: Bool[Tensor, "batch key"] | None = None

    @property
    def batch(self) -> int:
        """The number of rows."""
        return self._store[0].shape[1]

    @property
    def remaining(self) -> int:
        """How many more tokens fit."""
        return self.capacity - self.length

    @property
    def bytes(self) -> int:
        """Memory of the self-attention's keys and values, and of the states in their place."""
        states = sum(one.nbytes for pair in self._states for one in pair if one is not None)
        return sum(store.nbytes for store in self._store) + states

    def state(self, layer: int) -> States:
        """The last tokens before a layer's convolution, and its state; None each where there is none yet."""
        return self._states[layer]

    def write_state(self, layer: int, states: States) -> None:
        """Put in what a layer carries on from the new tokens; it is that of the text once `advance` counts them."""
        self._next[layer] = states

    @property
    def has_ring(self) -> bool:
        """Whether a layer keeps fewer tokens than there may be, in a ring."""
        return any(kept < self.capacity for kept in self._kept)

    def n_cached(self, layer: int) -> int:
        """How many of the earlier tokens this layer still has."""
        oldest = max(0, self._written - self._kept[layer])
        return max(0, self.length - oldest)

    def extend(self, layer: int, *parts: New) -> tuple[Cached, ...]:
        """Put in the keys and the values of the new tokens, or their latents; returns those still held and the new
        ones, oldest first."""
        new, kept, store = parts[0].shape[2], self._kept[layer], self._store[layer]
        end = self.length + new
        if kept == self.capacity:  # no window: the tokens lie in order, nothing is moved
            for i, part in enumerate(parts):
                store[i, :, :, self.length : end] = part
            return tuple(store[:, :, :, :end])
        places = torch.arange(self.length - self.n_cached(layer), self.length, device=store.device) % max(1, kept)
        before = store[:, :, :, places]  # a copy: the new tokens may take these places
        last = min(new, kept)
        places = torch.arange(end - last, end, device=store.device) % max(1, kept)
        for i, part in enumerate(parts):
            store[i, :, :, places] = part[:, :, new - last :]
        return tuple(torch.cat((earlier, part), dim=2) for earlier, part in zip(before, parts, strict=True))

    def advance(self, new: int) -> None:
        """Count the new tokens as held; called once, after the last layer."""
        self.length += new
        self._states = list(self._next)
        self._written = max(self._written, self.length)

    def truncate(self, length: int) -> None:
        """Forget all tokens from position `length` on.

        Raises:
            ValueError: more tokens than are held, or further back than the rollback allows where there is a window.
        """
        if not 0 <= length <= self.length:
            raise ValueError(f"length={length} must be between 0 and the {self.length} tokens held")
        if self.carries and length < self.length:
            raise ValueError(f"layer {self.carries[0]} carries a state, which cannot be taken back; read the text anew")
        ring = any(kept < self._written for kept in self._kept)
        if ring and self._written - length > self.rollback:
            raise ValueError(
                f"going back from {self._written} to {length} tokens needs rollback={self._written - length}, "
                f"this cache was made with rollback={self.rollback}"
            )
        self.length = length

    def first(self, rows: int) -> "KVCache":
        """The cache of the first rows alone; what is written to it is written here, too."""
        part = copy.copy(self)
        part._store = [store[:, :rows] for store in self._store]
        part._states = part._next = [_rows(pair, slice(rows)) for pair in self._states]
        part.memory = [pair and (pair[0][:rows], pair[1][:rows]) for pair in self.memory]
        part.memory_mask = None if self.memory_mask is None else self.memory_mask[:rows]
        return part

    def select(self, rows: Int[Tensor, " new_batch"]) -> None:
        """Keep these rows, in this order; a row may come several times."""
        self._store = [store.index_select(1, rows.to(store.device)) for store in self._store]
        self._states = [_rows(pair, rows.to(self._store[0].device)) for pair in self._states]
        self._next = list(self._states)
        self.memory = [
            pair
            and (pair[0].index_select(0, rows.to(pair[0].device)), pair[1].index_select(0, rows.to(pair[1].device)))
            for pair in self.memory
        ]
        if self.memory_mask is not None:
            self.memory_mask = self.memory_mask.index_select(0, rows.to(self.memory_mask.device))


def _rows(states: States, rows: slice | Int[Tensor, " row"]) -> tuple[Tensor | None, Tensor | None]:
    """Some rows of what a layer carries."""
    held, state = (one if one is None else one[rows] for one in states)
    return held, state


class FixedCache(KVCache):
    """The same keys and values, each step at the same places of memory: new ones are written where a tensor says, and
    those of all places are returned, written to or not, for a mask to hide.

    Args:
        cache: without a ring; it holds what is written here.
        place: position of the one new token, on the device of the cache.
    """

    def __init__(self, cache: KVCache, place: Int[Tensor, " one"]) -> None:
        self.__dict__.update(cache.__dict__)
        self._place = place

    def extend(self, layer: int, *parts: New) -> tuple[Cached, ...]:
        for i, part in enumerate(parts):
            self._store[layer][i].index_copy_(2, self._place, part)
        return tuple(self._store[layer])
