"""Multi-head latent attention: the keys and values of all heads are made from one short vector of each token."""

import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.attention import Attention, AttentionContext, Keys, Queries, Values
from tfcore.config import ModelConfig
from tfcore.inspection.capture import ActivationRecorder
from tfcore.kv_cache import KVCache
from tfcore.linear import Linear
from tfcore.norms import Norm
from tfcore.positions import apply_rope

EPS = 1e-6  # of the norms of latents: of their own in the published code, whatever the model's other norms have


class LatentAttention(Attention):
    """Attention whose keys and values are made from one latent vector of each token, which alone is kept in the cache
    (arXiv:2405.04434, section 2.1.2 and 2.1.3).

    The stream is projected to the latent and to one key that is rotated and shared by all heads. The normalised latent
    is projected to the rest of each head's key, which is not rotated, and to its value. In our heads the rotated part
    stands first. Queries may have a latent of their own.

    Captured and edited besides: `latent`, after its norm. With a cache the latents are stored as they are edited; edits
    of keys and values hold for the tokens of the pass alone.
    """

    def _add_projections(self, config: ModelConfig) -> None:
        latent, own, biased = config.attention.kv_latent or 0, config.attention.q_latent, config.has_qkv_bias
        self.latent, self.rotated = latent, config.positions.rotated or 0
        d_q = self.n_heads * self.d_head
        if own is None:
            self.q = Linear(config.d_model, d_q, bias=False)
        else:
            self.q_down = Linear(config.d_model, own, bias=biased)
            self.q_latent_norm = Norm(config, own, "rmsnorm", EPS)
            self.q_up = Linear(own, d_q, bias=False)
        self.kv_down = Linear(config.d_model, self.rotated + latent, bias=biased)  # the shared key, then the latent
        self.latent_norm = Norm(config, latent, "rmsnorm", EPS)
        # of each head the part of its key that is not rotated, then its value
        self.kv_up = Linear(latent, self.n_heads * (self.d_head - self.rotated + self.d_value), bias=False)

    def _within(
        self,
        x: Float[Tensor, "batch seq d_model"],
        context: AttentionContext,
        recorder: ActivationRecorder,
        cache: KVCache | None,
        layer: int,
    ) -> tuple[Queries, Keys, Values]:
        assert context.rotation is not None  # as the config says
        cos, sin = (table.to(x.dtype) for table in context.rotation)
        (q,) = self.heads(self.queries(x), self.n_heads)
        key, latent = self.kv_down(x).split((self.rotated, self.latent), dim=-1)
        latent = recorder("latent", self.latent_norm(latent))
        k, v = self.keys_and_values(key, latent)
        q, k, v = recorder("q", q), recorder("k", k), recorder("v", v)
        q, k = recorder("rot_q", apply_rope(q, cos, sin)), recorder("rot_k", apply_rope(k, cos, sin))
        if cache is not None:
            (held,) = cache.extend(layer, torch.cat((apply_rope(key, cos, sin), latent), dim=-1)[:, None])
            earlier = held[:, 0, : -x.shape[1]]
            before = self.keys_and_values(*earlier.split((self.rotated, self.latent), dim=-1))
            k, v = (torch.cat(parts, dim=2) for parts in zip(before, (k, v), strict=True))
        return q, k, v

    def queries(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_q"]:
        """The queries of all heads side by side, from the stream or from a latent of their own."""
        return self.q_up(self.q_latent_norm(self.q_down(x))) if hasattr(self, "q_down") else self.q(x)

    def keys_and_values(
        self, key: Float[Tensor, "batch key rotated"], latent: Float[Tensor, "batch key latent"]
    ) -> tuple[Float[Tensor, "batch head key d_head"], Float[Tensor, "batch head key d_value"]]:
        """Keys and values of all heads: the shared part of the key first, then what each head makes of the latent
        (arXiv:2405.04434, eq. 10, 11 and 17)."""
        made = self.kv_up(latent).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)  # (batch, head, key, _)
        own, v = made.split((self.d_head - self.rotated, self.d_value), dim=-1)
        return torch.cat((key[:, None].expand(-1, self.n_heads, -1, -1), own), dim=-1), v
