"""One Transformer block: attention, perhaps cross-attention, feed-forward, each added to the residual stream."""

from collections.abc import Callable
from typing import Any

from jaxtyping import Bool, Float
from torch import Tensor, nn

from tfcore.attention import Attention, AttentionContext
from tfcore.config import ModelConfig
from tfcore.disentangled_attention import DisentangledAttention
from tfcore.experts import Experts
from tfcore.feedforward import FeedForward
from tfcore.input_convolution import InputConvolution
from tfcore.inspection.capture import ActivationRecorder
from tfcore.kv_cache import KVCache
from tfcore.latent_attention import LatentAttention
from tfcore.mixing_layers import AttentionBesideState, ConvolutionMixer, StateMixer
from tfcore.norms import NoNorm, Norm

Stream = Float[Tensor, "batch seq d_model"]


class Block(nn.Module):
    """Attention and a feed-forward layer, each added to the residual stream; in five wirings:

        pre          x -> norm -> attn ----------> + -> norm -> mlp ----------> +
        post         x ---------> attn -> + -> norm --------> mlp -> + -> norm
        sandwich     x -> norm -> attn -> norm -> + -> norm -> mlp -> norm -> +
        after        x ---------> attn -> norm -> + ---------> mlp -> norm -> +
        parallel     x -> norm -> attn + mlp ----> +

    Sources: pre arXiv:2002.04745; post arXiv:1706.03762, section 3.1; sandwich arXiv:2105.13290, section 2.4; after
    arXiv:2501.00656, section 3.2; parallel arXiv:2204.02311, section 2 (with two norms, one for attention and one for
    the feed-forward layer: arXiv:2204.06745, section 2.1 and its published code). Cross-attention, where there is any,
    stands between the two and is wired as they are. With d_ff = 0 there is no feed-forward layer; with norm.first=False
    the first block's attention reads the stream without a norm. With an input convolution the first block, wired as
    post, ends with + conv(what the block reads) -> norm.

    Args:
        layer: its place in the stack.
        cross: with cross-attention to the encoder's output.
    """

    def __init__(self, config: ModelConfig, layer: int = 0, cross: bool = False) -> None:
        super().__init__()
        self.layer = layer
        self.norm_first = config.norm.placement != "post"
        self.parallel, self.shared_norm = config.parallel, config.shared_norm
        self.cross = cross
        self.routed = config.is_routed(layer)
        self.has_mixer = config.mixer_of(layer) != "none"
        self.has_mlp = self.routed or config.is_plain(layer)

        def of_stream(there: bool = True) -> Any:
            return Norm(config) if there and config.norm.placement != "after" else NoNorm()

        def after() -> Norm | NoNorm:
            return Norm(config) if config.norm.of_outputs else NoNorm()

        if self.has_mixer:
            self.ln1: Norm = of_stream(config.norm.first or layer > 0)
            self.attn: Attention = _mixer_of(config, layer)(config, layer)  # type: ignore[assignment]
            self.ln1_post = after()
        if cross:
            self.ln_cross: Norm = of_stream()
            self.cross_attn = Attention(config, layer, cross=True)
            self.ln_cross_post = after()
        if self.has_mlp:
            shared = config.parallel and config.shared_norm
            self.ln2: Norm = NoNorm() if shared else of_stream()  # type: ignore[assignment]
            self.mlp = Experts(config) if self.routed else FeedForward(config)
            self.ln2_post = after()
        self.has_convolution = config.convolves_input(layer)
        if self.has_convolution and config.input_convolution is not None:
            self.conv = InputConvolution(config, config.input_convolution)
            self.ln_conv: Norm = Norm(config)
            self.ln_conv_post = NoNorm()
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Stream,
        context: AttentionContext,
        recorder: ActivationRecorder,
        *,
        cache: KVCache | None = None,
        padding_mask: Bool[Tensor, "batch seq"] | None = None,
        memory: Float[Tensor, "batch key d_model"] | None = None,
        cross_context: AttentionContext | None = None,
    ) -> Stream:
        """The residual stream after this block.

        Args:
            recorder: its names under this block.
            padding_mask: False at padding, which no expert computes.
            memory: the encoder's output; not needed once the cache holds its keys and values.
            cross_context: which tokens of the encoder each query may see; None skips the cross-attention.
        """

        def attend(h: Stream) -> Stream:
            return self.attn(h, context, recorder.under("attn."), cache=cache, layer=self.layer)

        def attend_across(h: Stream) -> Stream:
            assert cross_context is not None
            under = recorder.under("cross_attn.")
            return self.cross_attn(h, cross_context, under, cache=cache, layer=self.layer, memory=memory)

        def feed(h: Stream) -> Stream:
            return self.mlp(h, recorder, padding_mask)

        def convolve(_: Stream) -> Stream:
            return self.conv(start, padding_mask)

        start = x = recorder("resid_pre", x)
        if self.parallel:
            h = self.ln1(x, recorder, "ln1")
            attended = recorder("attn_out", attend(h))
            h = h if self.shared_norm else self.ln2(x, recorder, "ln2")
            x = x + self.dropout(attended) + self.dropout(recorder("mlp_out", feed(h)))
            return recorder("resid_post", x)
        if self.has_mixer:
            x = self._add(x, attend, "ln1", "attn_out", recorder)
        if cross_context is not None:
            x = self._add(recorder("resid_mid", x), attend_across, "ln_cross", "cross_attn_out", recorder)
        if self.has_mlp:
            x = recorder("resid_mid_cross" if self.cross else "resid_mid", x)
            x = self._add(x, feed, "ln2", "mlp_out", recorder)
        if self.has_convolution:
            x = self._add(recorder("resid_mid_conv", x), convolve, "ln_conv", "conv_out", recorder)
        return recorder("resid_post", x)

    def _add(
        self, x: Stream, layer: Callable[[Stream], Stream], norm: str, name: str, recorder: ActivationRecorder
    ) -> Stream:
        """The residual stream plus what a layer makes of it, with the norm before the layer or after the sum, and
        perhaps one between (`NORM_post`)."""
        normalise: Norm = getattr(self, norm)
        y = layer(normalise(x, recorder, norm) if self.norm_first else x)
        y = recorder(name, getattr(self, f"{norm}_post")(y, recorder, f"{norm}_post"))
        x = x + self.dropout(y)
        return x if self.norm_first else normalise(x, recorder, norm)


def _mixer_of(config: ModelConfig, layer: int) -> type[Attention | StateMixer | ConvolutionMixer]:
    """What mixes the tokens in a layer: attention of some kind, or what stands in its place."""
    if config.carried_by(layer) is not None:
        beside = AttentionBesideState if config.attends(layer) else StateMixer
        return ConvolutionMixer if config.mixer_of(layer) == "conv" else beside
    if config.positions.kind == "disentangled":
        return DisentangledAttention
    return Attention if config.attention.kv_latent is None else LatentAttention
