"""The whole Transformer, top to bottom: embed, add positions, blocks, final norm, unembed."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from tfcore.attention import Visibility
from tfcore.block import Block
from tfcore.capture import Capture, Edit, Tape
from tfcore.config import ModelConfig
from tfcore.kv_cache import KVCache
from tfcore.norms import Norm
from tfcore.positions import alibi_bias, alibi_slopes, rope_angles, sinusoidal


@dataclass(frozen=True, slots=True)
class Output:
    """What a forward pass returns.

    Args:
        logits: (batch, seq, vocab), the score of every token id as the next token at every position.
        activations: name -> tensor for the names asked for; shapes in tfcore.capture.SHAPES.
    """

    logits: Float[Tensor, "batch seq vocab"]
    activations: dict[str, Tensor]


class Transformer(nn.Module):
    """A decoder-only Transformer (arXiv:1706.03762 without the encoder; arXiv:2302.13971 for the modern parts).

    Args:
        config: everything about its shape.
        seed: of the initial weights; the same seed gives the same weights.
    """

    def __init__(self, config: ModelConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        with _Blank():
            self.embed = nn.Embedding(config.vocab_size, config.d_model)
            if config.positions == "learned":
                self.pos_embed = nn.Embedding(config.max_seq_len, config.d_model)
            self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
            if config.norm_placement == "pre":  # after a post-norm block the stream is normalised already
                self.ln_final = Norm(config)
            if not config.tie_embeddings:
                self.unembed = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        initialise(self, seed)

    def forward(
        self,
        ids: Int[Tensor, "batch seq"],
        *,
        padding_mask: Bool[Tensor, "batch seq"] | None = None,
        mask: Bool[Tensor, "query key"] | None = None,
        capture: Capture = (),
        edits: Iterable[Edit] = (),
        cache: KVCache | None = None,
    ) -> Output:
        """Scores for the next token at every position.

        Args:
            ids: token ids.
            padding_mask: True at real tokens; padding is seen by no other token.
            mask: replaces the causal (or window) mask: True where a query may see a key.
            capture: names or patterns of activations to return, such as "blocks.*.attn.pattern".
            edits: changes to activations, for this pass only.
            cache: keys and values of the tokens before `ids`; the new ones are added to it.

        Raises:
            ValueError: ids outside the vocabulary, too long, or options that do not go together.
        """
        start = cache.length if cache is not None else 0
        self._check(ids, start, cache, padding_mask, mask)
        tape = Tape.of(capture, edits, self.config.n_layers)
        see = self._visibility(ids, start, padding_mask, mask)
        x = self.dropout(self._embed(ids, start, tape))  # (batch, seq, d_model)
        for i, block in enumerate(self.blocks):
            x = block(x, see, tape.layer(i), cache, i)
        if cache is not None:
            cache.advance(ids.shape[1])
        if self.config.norm_placement == "pre":
            x = self.ln_final(x)
        x = tape("ln_final.normalized", x)
        table = self.embed.weight if self.config.tie_embeddings else self.unembed.weight
        return Output(F.linear(x, table), tape.record)

    def _embed(self, ids: Tensor, start: int, tape: Tape) -> Float[Tensor, "batch seq d_model"]:
        config = self.config
        x = self.embed(ids)
        if config.scale_embeddings:
            x = x * math.sqrt(config.d_model)
        x = tape("embed", x)
        positions = torch.arange(start, start + ids.shape[1], device=ids.device)
        if config.positions == "learned":
            x = x + tape("pos_embed", self.pos_embed(positions))
        elif config.positions == "sinusoidal":
            table = sinusoidal(positions.cpu(), config.d_model, config.rope_base)
            x = x + tape("pos_embed", table.to(x))
        return x

    def _visibility(self, ids: Tensor, start: int, padding_mask: Tensor | None, mask: Tensor | None) -> Visibility:
        """Who sees whom in this pass; nothing is written out where the fused kernel's causal flag is enough."""
        config, device = self.config, ids.device
        end = start + ids.shape[1]
        query, key = torch.arange(start, end, device=device), torch.arange(end, device=device)
        is_causal, given = mask is None, mask is not None
        if mask is not None:
            mask = mask.to(device)
        elif config.window is not None and config.window < end:
            back = query[:, None] - key[None, :]
            mask = (back >= 0) & (back < config.window)
        elif start > 0:
            mask = key[None, :] <= query[:, None]
        if padding_mask is not None:
            mask = key[None, :] <= query[:, None] if mask is None else mask
            mask = mask & (padding_mask[:, None, None, :].to(device) | (query[:, None] == key[None, :]))
        if given and mask is not None and not bool(mask.any(dim=-1).all()):
            raise ValueError("a row of the mask is empty: each token must see at least one, for example itself")
        bias = angles = None
        if config.positions == "alibi":
            bias = alibi_bias(alibi_slopes(config.n_heads).to(device), query, key)
        elif config.positions == "rope":
            angles = rope_angles(query.cpu(), config.head_size, config.rope_base).to(device)
        return Visibility(mask=mask, is_causal=is_causal, bias=bias, angles=angles)

    def _check(
        self, ids: Tensor, start: int, cache: KVCache | None, padding_mask: Tensor | None, mask: Tensor | None
    ) -> None:
        config = self.config
        if ids.ndim != 2 or ids.is_floating_point():
            raise ValueError(f"ids {tuple(ids.shape)} of {ids.dtype} must be whole numbers of shape (batch, seq)")
        if ids.numel() == 0:
            raise ValueError("there is no token to compute on; give at least one id")
        batch, seq = ids.shape
        if start + seq > config.max_seq_len:
            raise ValueError(f"{start + seq} tokens are more than max_seq_len={config.max_seq_len}; give fewer")
        low, high = (0, 0) if torch.compiler.is_compiling() else (int(bound) for bound in torch.aminmax(ids))
        if low < 0 or high >= config.vocab_size:
            raise ValueError(f"ids from {low} to {high} do not fit a vocabulary of {config.vocab_size}")
        if cache is not None and (padding_mask is not None or mask is not None):
            raise ValueError("a cache goes with the model's own causal mask alone; leave padding_mask and mask out")
        if cache is not None and cache.batch != batch:
            raise ValueError(f"a cache made for batch={cache.batch} does not fit ids of batch={batch}")
        for name, given in (("padding_mask", padding_mask), ("mask", mask)):
            if given is not None and given.dtype != torch.bool:
                raise ValueError(f"{name} is {given.dtype}, it must be bool: True where there is something to see")
        if padding_mask is not None and padding_mask.shape != ids.shape:
            raise ValueError(f"padding_mask {tuple(padding_mask.shape)} must have the shape of ids {tuple(ids.shape)}")
        if mask is not None and mask.shape != (seq, seq):
            raise ValueError(f"mask {tuple(mask.shape)} must be (query, key) = ({seq}, {seq})")


class _Blank(TorchFunctionMode):
    """While on, torch's layers draw no weights of their own: that would take time, and torch's global generator."""

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if getattr(function, "__module__", None) == nn.init.__name__:
            return args[0] if args else (kwargs or {})["tensor"]
        return function(*args, **(kwargs or {}))


def initialise(model: Transformer, seed: int) -> None:
    """Draw the initial weights from one seeded generator.

    normal: every matrix from N(0, init_std^2). gpt2: the same, and the matrices that write to the residual stream
    divided by sqrt(2 n_layers) (GPT-2 report, section 2.3). xavier: uniform in +-sqrt(6 / (fan_in + fan_out))
    (Glorot and Bengio 2010, eq. 16), embeddings normal. Biases 0, norm scales 1.
    """
    config = model.config
    if model.embed.weight.is_meta:
        return
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(parameter)
        elif parameter.ndim == 2 and config.init == "xavier" and "embed" not in name:
            nn.init.xavier_uniform_(parameter, generator=generator)
        elif parameter.ndim == 2:
            writes = config.init == "gpt2" and name.endswith(("attn.out.weight", "mlp.down.weight"))
            std = config.init_std / math.sqrt(2 * config.n_layers) if writes else config.init_std
            nn.init.normal_(parameter, std=std, generator=generator)
