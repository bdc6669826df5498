"""Disentangled attention: where a query and a key stand to each other is scored apart from what they are."""

from jaxtyping import Float, Int
from torch import Tensor

from tfcore.attention import Attention, AttentionContext, Keys, Queries, attention_scores
from tfcore.config import ModelConfig
from tfcore.linear import Linear
from tfcore.onednn import linear

OfPlaces = Float[Tensor, "head bucket d_head"]


def disentangled_scores(
    q: Float[Tensor, "batch head query d_head"],
    k: Float[Tensor, "batch head key d_head"],
    place_q: OfPlaces | None,
    place_k: OfPlaces | None,
    bucket: Int[Tensor, "query key"],
    scale: float,
) -> Float[Tensor, "batch head query key"]:
    """What relative positions add to the scores: (q . place_k[r] + k . place_q[r]) * scale, r being the position of the
    query relative to the key.

    Args:
        place_q, place_k: queries and keys of relative positions; None leaves their product out.
        bucket: r of each query and key, from positions.disentangled_bucket.

    Source: arXiv:2006.03654, eq. 4: content to position, and position to content.
    """
    batch, products = q.shape[0], []
    bucket = bucket.expand(*q.shape[:2], -1, -1)
    if place_k is not None:  # (batch, head, query, bucket) -> (batch, head, query, key)
        products.append(attention_scores(q, place_k.expand(batch, -1, -1, -1), scale).gather(-1, bucket))
    if place_q is not None:  # (batch, head, key, bucket) -> (batch, head, key, query)
        products.append(attention_scores(k, place_q.expand(batch, -1, -1, -1), scale).gather(-1, bucket.mT).mT)
    return sum(products[1:], products[0])


class DisentangledAttention(Attention):
    """Attention whose scores are q . k, as ever, plus the products of queries with keys of relative positions, and of
    keys with queries of such (arXiv:2006.03654, section 3.1; DeBERTa v2 and v3, arXiv:2111.09543).

    These are made from vectors that all layers share, by matrices of the layer: its W_Q and W_K, or two of their own.
    """

    def _add_projections(self, config: ModelConfig) -> None:
        super()._add_projections(config)
        positions, d_q = config.positions, self.n_heads * self.d_head
        self.has_c2p, self.has_p2c, self.shared = positions.has_c2p, positions.has_p2c, positions.shared
        if not self.shared and self.has_p2c:
            self.place_q = Linear(config.d_model, d_q, bias=config.has_qkv_bias)
        if not self.shared and self.has_c2p:
            self.place_k = Linear(config.d_model, d_q, bias=config.has_qkv_bias)

    def position_bias(
        self, q: Queries, k: Keys, context: AttentionContext
    ) -> Float[Tensor, "batch head query key"] | None:
        assert context.places is not None  # as the config says
        vectors, bucket = context.places
        place_q = self.of_places(vectors, "q") if self.has_p2c else None
        place_k = self.of_places(vectors, "k") if self.has_c2p else None
        return disentangled_scores(q, k, place_q, place_k, bucket, self.scale)

    def of_places(self, vectors: Float[Tensor, "bucket d_model"], kind: str) -> OfPlaces:
        """The queries ("q") or keys ("k") of relative positions."""
        if self.shared:
            part = "qk".index(kind)
            bias = None if self.qkv.bias is None else self.qkv.bias.chunk(3)[part]
            product = linear(vectors, self.qkv.stored.chunk(3)[part], bias)
        else:
            product = (self.place_q if kind == "q" else self.place_k)(vectors)
        return self.heads(product[None], self.n_heads)[0][0]
