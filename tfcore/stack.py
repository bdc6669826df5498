"""A stack of blocks - the encoder or the decoder - with its positions, masks and norms around it."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from tfcore.attention import Visibility
from tfcore.block import Block
from tfcore.config import ModelConfig
from tfcore.generation.kv_cache import KVCache
from tfcore.inspection.capture import Tape
from tfcore.norms import Norm
from tfcore.positions import alibi_bias, alibi_slopes, relative_bucket, rope_angles, sinusoidal


class Stack(nn.Module):
    """Embedded tokens in, hidden states out.

    Args:
        n_layers: blocks.
        causal: each token sees itself and those before it (decoder), or all (encoder).
        cross: with cross-attention to an encoder's output.
    """

    def __init__(self, config: ModelConfig, n_layers: int, causal: bool, cross: bool = False) -> None:
        super().__init__()
        self.config, self.causal, self.cross = config, causal, cross
        if config.positions == "learned":
            self.pos_embed = nn.Embedding(config.max_seq_len, config.d_model)
        elif config.positions == "relative":  # one table for all layers
            self.relative_bias = nn.Embedding(config.relative_buckets, config.n_heads)
        if config.embed_norm:
            self.embed_norm = Norm(config)
        self.blocks = nn.ModuleList(Block(config, i, cross) for i in range(n_layers))
        if config.norm_placement != "post":  # after a post-norm block the stream is normalised already
            self.ln_final = Norm(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch seq d_model"],
        tape: Tape,
        *,
        padding_mask: Bool[Tensor, "batch seq"] | None = None,
        mask: Bool[Tensor, "query key"] | None = None,
        cache: KVCache | None = None,
        memory: Float[Tensor, "batch key d_model"] | None = None,
        memory_mask: Bool[Tensor, "batch key"] | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        """Hidden states, after the final norm where there is one.

        Args:
            x: token (and segment) embeddings; positions are added here.
            padding_mask: True at real tokens.
            mask: replaces the stack's own: True where a query may see a key.
            memory, memory_mask: the encoder's output, and its real tokens.
        """
        n, start = x.shape[1], cache.length if cache is not None else 0
        places = torch.arange(start, start + n, device=x.device)
        x = self.dropout(self._positioned(x, places, tape))
        see = {window: self._see(places, window, padding_mask, mask, cache) for window in self._windows()}
        across = self._across(n, x.device, memory_mask) if self.cross else None
        for i, block in enumerate(self.blocks):
            under = tape.under(f"blocks.{i}.")
            x = block(x, see[self.config.window_of(i)], under, cache, padding_mask, memory, across)
        return self.ln_final(x, tape, "ln_final") if self.config.norm_placement != "post" else x

    def _positioned(self, x: Tensor, places: Tensor, tape: Tape) -> Tensor:
        config = self.config
        if config.positions == "learned":
            x = x + tape("pos_embed", self.pos_embed(places))
        elif config.positions == "sinusoidal":
            x = x + tape("pos_embed", sinusoidal(places.cpu(), config.d_model, config.rope_base).to(x))
        return self.embed_norm(x, tape, "embed_norm") if config.embed_norm else x

    @staticmethod
    def _across(n_query: int, device: torch.device, memory_mask: Tensor | None) -> Visibility:
        """What the encoder's output shows: everything that is no padding."""
        mask = None if memory_mask is None else memory_mask[:, None, None, :].to(device)
        return Visibility(mask=mask, is_causal=False, bias=None, angles=None, n_query=n_query, device=device)

    def _windows(self) -> dict[int | None, int]:
        """The windows there are, and the first layer with each."""
        windows: dict[int | None, int] = {}
        for i in range(len(self.blocks)):
            windows.setdefault(self.config.window_of(i), i)
        return windows

    def _see(
        self, query: Tensor, window: int | None, padding_mask: Tensor | None, mask: Tensor | None, cache: KVCache | None
    ) -> Visibility:
        """Who sees whom in this pass; nothing is written out where the fused kernel's causal flag is enough."""
        held = 0 if cache is None else cache.held(self._windows()[window])
        key = torch.arange(int(query[0]) - held, int(query[-1]) + 1, device=query.device)
        plain = mask is None and self.causal and held == 0
        if mask is not None:
            mask = mask.to(query.device)
        elif window is not None and window < len(key):
            back = query[:, None] - key[None, :]
            mask = back < window if self.causal else back.abs() < window
            mask = mask & (back >= 0) if self.causal else mask
        elif held and len(query) > 1:
            mask = key[None, :] <= query[:, None]
        if padding_mask is not None:
            if mask is None and plain:
                mask = key[None, :] <= query[:, None]
            seen = padding_mask[:, None, None, :].to(query.device) | (query[:, None] == key[None, :])
            given, mask = mask is not None, seen if mask is None else mask & seen
            if given and not bool(mask.any(-1).all()):
                raise ValueError("mask and padding_mask leave a token nothing to see; let each see at least itself")
        bias, angles = self._relations(query, key)
        return Visibility(mask=mask, is_causal=plain, bias=bias, angles=angles, n_query=len(query), device=query.device)

    def _relations(self, query: Tensor, key: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """What positions add to the scores, and how they turn queries and keys."""
        config = self.config
        if config.positions == "alibi":
            return alibi_bias(alibi_slopes(config.n_heads).to(query.device), query, key), None
        if config.positions == "relative":
            n, distance = config.relative_buckets, config.relative_distance
            bucket = relative_bucket(query, key, n, distance, both_ways=not self.causal)
            return self.relative_bias(bucket).permute(2, 0, 1), None  # (head, query, key)
        if config.positions == "rope":
            angles = rope_angles(query.cpu(), config.head_size, config.rope_base, config.rope_scaling)
            return None, angles.to(query.device)
        return None, None
