"""One Transformer block: attention, perhaps cross-attention, feed-forward, each added to the residual stream."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from tfcore.attention import Attention, Visibility
from tfcore.config import ModelConfig
from tfcore.experts import Experts
from tfcore.feedforward import FeedForward
from tfcore.generation.kv_cache import KVCache
from tfcore.inspection.capture import Tape
from tfcore.norms import Norm


class Block(nn.Module):
    """x + attention(norm x), then x + feedforward(norm x): pre-norm (arXiv:2002.04745).

    Post-norm, as in 2017, is norm(x + attention(x)), then norm(x + feedforward(x)) (arXiv:1706.03762, section 3.1).
    Sandwich is x + norm(attention(norm x)), and so on (arXiv:2105.13290, section 2.4). Parallel is
    x + attention(norm x) + feedforward(norm x) (arXiv:2204.02311, section 2). With d_ff = 0 there is no feed-forward
    part.

    Args:
        layer: its place in the stack.
        cross: with cross-attention to the encoder's output between the two.
    """

    def __init__(self, config: ModelConfig, layer: int = 0, cross: bool = False) -> None:
        super().__init__()
        self.layer, self.placement, self.parallel, self.cross = layer, config.norm_placement, config.parallel, cross
        routed = config.is_routed(layer)
        self.routed, self.has_mlp = routed, routed or config.ff_size > 0
        sandwich = self.placement == "sandwich"
        self.ln1, self.attn = Norm(config), Attention(config, layer)
        if sandwich:
            self.ln1_post = Norm(config)
        if cross:
            self.ln_cross, self.cross_attn = Norm(config), Attention(config, layer, cross=True)
            if sandwich:
                self.ln_cross_post = Norm(config)
        if self.has_mlp:
            self.mlp = Experts(config) if routed else FeedForward(config)
            if not self.parallel:
                self.ln2 = Norm(config)
            if sandwich:
                self.ln2_post = Norm(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch seq d_model"],
        see: Visibility,
        tape: Tape,
        cache: KVCache | None = None,
        real: Bool[Tensor, "batch seq"] | None = None,
        memory: Float[Tensor, "batch key d_model"] | None = None,
        see_memory: Visibility | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        """The stream after this block.

        Args:
            tape: its names under this block.
            real: False at padding, which no expert computes.
            memory, see_memory: the encoder's output and who sees what of it.
        """
        x = tape("resid_pre", x)
        h = self._before("ln1", x, tape)
        attended = self._after("ln1", self.attn(h, see, tape.under("attn."), cache, self.layer), tape)
        if self.parallel:
            x = x + self._drop(tape("attn_out", attended))
            return tape("resid_post", x + self._drop(tape("mlp_out", self._mlp(h, tape, real))))
        x = self._add("ln1", x, tape("attn_out", attended), tape)
        if see_memory is not None:
            x = tape("resid_mid", x)
            h = self._before("ln_cross", x, tape)
            found = self.cross_attn(h, see_memory, tape.under("cross_attn."), cache, self.layer, memory)
            x = self._add("ln_cross", x, tape("cross_attn_out", self._after("ln_cross", found, tape)), tape)
        if self.has_mlp:
            x = tape("resid_mid_cross" if self.cross else "resid_mid", x)
            h = self._before("ln2", x, tape)
            x = self._add("ln2", x, tape("mlp_out", self._after("ln2", self._mlp(h, tape, real), tape)), tape)
        return tape("resid_post", x)

    def _mlp(self, h: Tensor, tape: Tape, real: Tensor | None) -> Tensor:
        return self.mlp(h, tape, real) if self.routed else self.mlp(h, tape)

    def _before(self, name: str, x: Tensor, tape: Tape) -> Tensor:
        """What a sublayer reads."""
        return x if self.placement == "post" else getattr(self, name)(x, tape, name)

    def _after(self, name: str, y: Tensor, tape: Tape) -> Tensor:
        """What a sublayer adds."""
        return getattr(self, f"{name}_post")(y, tape, f"{name}_post") if self.placement == "sandwich" else y

    def _add(self, name: str, x: Tensor, y: Tensor, tape: Tape) -> Tensor:
        """The stream with what a sublayer adds."""
        x = x + self._drop(y)
        return getattr(self, name)(x, tape, name) if self.placement == "post" else x

    def _drop(self, y: Tensor) -> Tensor:
        return self.dropout(y) if self.training else y
