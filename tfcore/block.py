"""One Transformer block: attention and feed-forward, each added to the residual stream."""

from jaxtyping import Float
from torch import Tensor, nn

from tfcore.attention import Attention, Visibility
from tfcore.capture import Tape
from tfcore.config import ModelConfig
from tfcore.feedforward import FeedForward
from tfcore.kv_cache import KVCache
from tfcore.norms import Norm


class Block(nn.Module):
    """x + attention(norm x), then x + feedforward(norm x): pre-norm (arXiv:2002.04745).

    Post-norm, as in 2017, is norm(x + attention(x)), then norm(x + feedforward(x)) (arXiv:1706.03762, section 3.1).
    With d_ff = 0 there is no feed-forward half.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.pre = config.norm_placement == "pre"
        self.ln1, self.attn = Norm(config), Attention(config)
        self.has_mlp = config.ff_size > 0
        if self.has_mlp:
            self.ln2, self.mlp = Norm(config), FeedForward(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch seq d_model"],
        see: Visibility,
        tape: Tape,
        cache: KVCache | None = None,
        layer: int = 0,
    ) -> Float[Tensor, "batch seq d_model"]:
        x = tape("resid_pre", x)
        h = tape("ln1.normalized", self.ln1(x)) if self.pre else x
        x = x + self.dropout(tape("attn_out", self.attn(h, see, tape, cache, layer)))
        if not self.pre:
            x = tape("ln1.normalized", self.ln1(x))
        if self.has_mlp:
            x = tape("resid_mid", x)
            h = tape("ln2.normalized", self.ln2(x)) if self.pre else x
            x = x + self.dropout(tape("mlp_out", self.mlp(h, tape)))
            if not self.pre:
                x = tape("ln2.normalized", self.ln2(x))
        return tape("resid_post", x)
