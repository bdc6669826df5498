"""One Transformer block: attention, perhaps cross-attention, feed-forward, each added to the residual stream."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from tfcore.attention import Attention, AttentionMask
from tfcore.config import ModelConfig
from tfcore.experts import Experts
from tfcore.feedforward import FeedForward
from tfcore.generation.kv_cache import KVCache
from tfcore.inspection.capture import ActivationRecorder
from tfcore.norms import NoNorm, Norm


class Block(nn.Module):
    """Attention and a feed-forward layer, each added to the residual stream; in four wirings:

        pre          x -> norm -> attn ----------> + -> norm -> mlp ----------> +
        post         x ---------> attn -> + -> norm --------> mlp -> + -> norm
        sandwich     x -> norm -> attn -> norm -> + -> norm -> mlp -> norm -> +
        parallel     x -> norm -> attn + mlp ----> +

    Sources: pre arXiv:2002.04745; post arXiv:1706.03762, section 3.1; sandwich arXiv:2105.13290, section 2.4; parallel
    arXiv:2204.02311, section 2. Cross-attention, where there is any, stands between the two and is wired as they are.
    With d_ff = 0 there is no feed-forward layer.

    Args:
        layer: its place in the stack.
        cross: with cross-attention to the encoder's output.
    """

    def __init__(self, config: ModelConfig, layer: int = 0, cross: bool = False) -> None:
        super().__init__()
        self.layer = layer
        self.norm_first = config.norm_placement != "post"
        self.parallel = config.parallel
        self.cross = cross
        self.routed = config.is_routed(layer)
        self.has_mlp = self.routed or config.ff_size > 0

        def after() -> Norm | NoNorm:
            return Norm(config) if config.norm_placement == "sandwich" else NoNorm()

        self.ln1 = Norm(config)
        self.attn = Attention(config, layer)
        self.ln1_post = after()
        if cross:
            self.ln_cross = Norm(config)
            self.cross_attn = Attention(config, layer, cross=True)
            self.ln_cross_post = after()
        if self.has_mlp:
            self.ln2 = NoNorm() if config.parallel else Norm(config)
            self.mlp = Experts(config) if self.routed else FeedForward(config)
            self.ln2_post = after()
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch seq d_model"],
        attn_mask: AttentionMask,
        recorder: ActivationRecorder,
        *,
        cache: KVCache | None = None,
        padding_mask: Bool[Tensor, "batch seq"] | None = None,
        memory: Float[Tensor, "batch key d_model"] | None = None,
        cross_attn_mask: AttentionMask | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        """The residual stream after this block.

        Args:
            recorder: its names under this block.
            padding_mask: False at padding, which no expert computes.
            memory: the encoder's output; not needed once the cache holds its keys and values.
            cross_attn_mask: which tokens of the encoder each query may see; None skips the cross-attention.
        """
        x = recorder("resid_pre", x)
        h = self.ln1(x, recorder, "ln1") if self.norm_first else x
        attended = self.attn(h, attn_mask, recorder.under("attn."), cache=cache, layer=self.layer)
        attended = recorder("attn_out", self.ln1_post(attended, recorder, "ln1_post"))
        if self.parallel:
            fed = recorder("mlp_out", self.mlp(h, recorder, padding_mask))
            return recorder("resid_post", x + self.dropout(attended) + self.dropout(fed))
        x = x + self.dropout(attended)
        x = x if self.norm_first else self.ln1(x, recorder, "ln1")

        if cross_attn_mask is not None:
            x = recorder("resid_mid", x)
            h = self.ln_cross(x, recorder, "ln_cross") if self.norm_first else x
            under = recorder.under("cross_attn.")
            found = self.cross_attn(h, cross_attn_mask, under, cache=cache, layer=self.layer, memory=memory)
            found = recorder("cross_attn_out", self.ln_cross_post(found, recorder, "ln_cross_post"))
            x = x + self.dropout(found)
            x = x if self.norm_first else self.ln_cross(x, recorder, "ln_cross")

        if self.has_mlp:
            x = recorder("resid_mid_cross" if self.cross else "resid_mid", x)
            h = self.ln2(x, recorder, "ln2") if self.norm_first else x
            fed = self.mlp(h, recorder, padding_mask)
            fed = recorder("mlp_out", self.ln2_post(fed, recorder, "ln2_post"))
            x = x + self.dropout(fed)
            x = x if self.norm_first else self.ln2(x, recorder, "ln2")
        return recorder("resid_post", x)
