"""A stack of blocks - the encoder or the decoder - with its positions, masks and norms around it."""

from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfcore import masks
from tfcore.attention import AttentionContext
from tfcore.block import Block
from tfcore.config import ModelConfig
from tfcore.inspection.capture import ActivationRecorder
from tfcore.kv_cache import KVCache
from tfcore.linear import Embedding, Linear
from tfcore.norms import NoNorm, Norm
from tfcore.positions import (
    alibi_bias,
    alibi_bias_by_key,
    alibi_slopes,
    disentangled_bucket,
    relative_bucket,
    rotation_of,
    sinusoidal,
)


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
        if config.positions.learned:
            places = config.max_seq_len if causal else config.encoder_places
            self.pos_embed = Embedding(places, config.embed_size)
        if config.positions.kind == "relative" and config.positions.by_layer:
            tables = (Embedding(config.positions.buckets, config.attention.n_heads) for _ in range(n_layers))
            self.relative_biases = nn.ModuleList(tables)
        elif config.positions.kind == "relative":  # one table for all layers
            self.relative_bias = Embedding(config.positions.buckets, config.attention.n_heads)
        elif config.positions.kind == "disentangled":
            self.relative_embed = Embedding(config.positions.buckets, config.d_model)
            self.relative_norm = Norm(config) if config.positions.normed else NoNorm()
        self.embed_norm = Norm(config, config.embed_size) if config.norm.of_embeddings else NoNorm()
        if config.d_embed is not None:
            self.embed_project = Linear(config.d_embed, config.d_model, bias=config.bias)
        self.blocks = nn.ModuleList(Block(config, i, cross) for i in range(n_layers))
        own = config.positions.by_layer or (config.positions.by_key and config.attention.scale_by_layer)
        kinds = [
            (config.window_of(i), config.positions_of(i), config.attends(i), i if own else 0) for i in range(n_layers)
        ]
        self.alike = [kinds.index(kind) for kind in kinds]  # the first layer with its window and positions, for each
        # after a post-norm block the stream is normalised already
        self.ln_final: Norm = Norm(config) if config.norm.final else NoNorm()  # type: ignore[assignment]
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch seq d_embed"],
        recorder: ActivationRecorder,
        *,
        padding_mask: Bool[Tensor, "batch seq"] | None = None,
        mask: Bool[Tensor, "*layer query key"] | None = None,
        cache: KVCache | None = None,
        memory: Float[Tensor, "batch key d_model"] | None = None,
        memory_mask: Bool[Tensor, "batch key"] | None = None,
        first: int | None = None,
        until: int | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        """Hidden states, after the final norm where there is one.

        Args:
            x: token (and segment) embeddings; positions are added here.
            padding_mask: True at real tokens.
            mask: replaces the stack's own: True where a query may see a key; one for all layers, or for each its own.
                What a hybrid has in the place of attention looks back alone, whatever the mask.
            memory, memory_mask: the encoder's output, and its real tokens.
            first: the block to begin with; x is then the residual stream before it, positions included.
            until: the block to stop before; the residual stream before it is returned.
        """
        n = x.shape[1]
        start = cache.length if cache is not None else 0
        if first is None:
            x = self.dropout(self._with_positions(x, start, recorder))
        own = mask if mask is not None and mask.dim() == 3 else None
        alike = self.alike if own is None else range(len(self.blocks))
        contexts = {
            i: self._context(n, start, x.device, i, padding_mask, mask if own is None else own[i], cache)
            for i in set(alike)
        }
        cross_context = self._cross_context(n, x.device, memory_mask) if self.cross else None
        for i, block in list(enumerate(self.blocks))[first or 0 : until]:
            x = block(
                x,
                contexts[alike[i]],
                recorder.under(f"blocks.{i}."),
                cache=cache,
                padding_mask=padding_mask,
                memory=memory,
                cross_context=cross_context,
            )
        return x if until is not None else self.ln_final(x, recorder, "ln_final")

    def attention_context(self, n: int, layer: int) -> AttentionContext:
        """The mask of a layer for a text of n tokens, and the positions: for attention computed apart."""
        device = next(self.parameters()).device
        return self._context(n, 0, device, layer, None, None, None)

    def relative_table(self, layer: int) -> Float[Tensor, "bucket head"]:
        """The learned biases of relative positions in a layer."""
        if not self.config.positions.by_layer:
            return self.relative_bias.weight
        return cast("Embedding", self.relative_biases[layer]).weight

    def _with_positions(
        self, x: Float[Tensor, "batch seq d_embed"], start: int, recorder: ActivationRecorder
    ) -> Float[Tensor, "batch seq d_model"]:
        """The embeddings with the positions that are added to them, normalised and made as wide as the stream where the
        config says so."""
        config = self.config
        places = range(start, start + x.shape[1])
        if config.positions.learned:
            x = x + recorder("pos_embed", self.pos_embed.weight[places.start : places.stop])
        elif config.positions.kind == "sinusoidal":
            # computed on the CPU, in double precision, which not every device has
            kind = config.positions
            numbers = torch.arange(places.start, places.stop) + kind.first
            table = sinusoidal(numbers, config.embed_size, kind.base, kind.halves)
            x = x + recorder("pos_embed", table.to(x))
        x = self.embed_norm(x, recorder, "embed_norm")
        return x if config.d_embed is None else self.embed_project(x)

    @staticmethod
    def _cross_context(
        n_query: int, device: torch.device, memory_mask: Bool[Tensor, "batch key"] | None
    ) -> AttentionContext:
        """Every query may see every token of the encoder that is no padding."""
        mask = None if memory_mask is None else memory_mask[:, None, None, :].to(device)
        return AttentionContext(mask=mask, is_causal=False, bias=None, rotation=None, n_query=n_query, device=device)

    def _context(
        self,
        n: int,
        start: int,
        device: torch.device,
        layer: int,
        padding_mask: Bool[Tensor, "batch seq"] | None,
        mask: Bool[Tensor, "query key"] | None,
        cache: KVCache | None,
    ) -> AttentionContext:
        """Which key each of the n new tokens may see; no matrix is made where the kernel's causal flag is enough."""
        window = self.config.window_of(layer)
        n_cached = 0 if cache is None else cache.n_cached(layer)
        n_key, given = n_cached + n, mask is not None
        is_causal = not given and self.causal and n_cached == 0
        if mask is not None:
            mask = mask.to(device)
        elif window is not None and window < n_key:
            mask = masks.sliding_window(n, window, n_key, is_causal=self.causal, device=device)
        elif n_cached and n > 1:
            mask = masks.causal(n, n_key, device=device)
        if padding_mask is not None:
            if mask is None and is_causal:
                mask = masks.causal(n, device=device)
            seen = masks.padding(padding_mask.to(device), n)[:, None]  # (batch, 1, query, key)
            mask = seen if mask is None else mask & seen
            if given and not bool(mask.any(-1).all()):
                raise ValueError("mask and padding_mask leave a token nothing to see; let each see at least itself")
        query = torch.arange(start, start + n, device=device)
        key = torch.arange(start - n_cached, start + n, device=device)
        return AttentionContext(
            mask=mask,
            is_causal=is_causal,
            bias=self._bias(layer, query, key),
            rotation=rotation_of(
                self.config.positions_of(layer), torch.arange(start, start + n), self.config.head_size, device
            ),
            places=self._places(query, key),
            n_query=n,
            device=device,
            padding=None if padding_mask is None else padding_mask.to(device),
        )

    def _bias(
        self, layer: int, query: Int[Tensor, " query"], key: Int[Tensor, " key"]
    ) -> Float[Tensor, "head query key"] | None:
        """The bias that positions add to the scores, whatever the text."""
        positions = self.config.positions
        if positions.kind == "alibi":
            slopes = alibi_slopes(self.config.attention.n_heads, positions.steepness).to(query.device)
            if positions.by_key:
                return alibi_bias_by_key(slopes, query, key, self.config.scale_of(layer))
            return alibi_bias(slopes, query, key)
        if positions.kind == "relative":
            n, distance = positions.buckets, positions.distance
            bucket = relative_bucket(query, key, n, distance, both_ways=not self.causal)
            return F.embedding(bucket, self.relative_table(layer)).permute(2, 0, 1)  # (head, query, key)
        return None

    def _places(
        self, query: Int[Tensor, " query"], key: Int[Tensor, " key"]
    ) -> tuple[Float[Tensor, "bucket d_model"], Int[Tensor, "query key"]] | None:
        """The vectors of relative positions, and which of them belongs to a query and a key."""
        positions = self.config.positions
        if positions.kind != "disentangled":
            return None
        bucket = disentangled_bucket(query, key, positions.buckets, positions.distance, positions.linear)
        return self.relative_norm(self.relative_embed.weight), bucket
