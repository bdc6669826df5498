"""Layers that stand in the place of attention: a state that is carried from token to token, or a short convolution."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from tfcore.attention import Attention, AttentionContext
from tfcore.config import ModelConfig
from tfcore.inspection.capture import ActivationRecorder
from tfcore.kv_cache import KVCache
from tfcore.linear import Linear
from tfcore.mixers import Rule, chunked, implied_matrix, positive, recurrent, short_convolution, unit
from tfcore.norms import rms_norm
from tfcore.part_configs import MixerConfig

Stream = Float[Tensor, "batch seq d_model"]
Heads = Float[Tensor, "batch head seq _"]
GATE_RANK = 16  # of the decay by channel (arXiv:2312.06635, section 4.4)
GATE_TEMPERATURE = 16  # of its logs, which keeps it near 1 at the start (same place)
FEW = 4  # new tokens, up to which going from token to token is quicker than a chunk


def without_padding(x: Stream, context: AttentionContext) -> Stream:
    """The stream, 0 at padding before a text, which then writes nothing; as `transformers` does it."""
    return x if context.padding is None else x * context.padding[..., None].to(x)


class StateMixer(nn.Module):
    """A mixer with a state: queries, keys and values as in attention, perhaps a short convolution over them, one of the
    rules of tfcore.mixers, and a gate on what comes out.

        q, k, v = conv(x W)            q, k -> elu + 1 (linear, no decay), length 1 (delta), or as they are
        o = rule(q, k, v)              out = (norm(o) * silu(x W_gate)) W_O

    Activations have the names of attention's. `attn.pattern` is the (query, key) matrix that the layer implies, made
    where it is asked for: rows need not sum to 1, and weights may be negative. There are no `attn.scores`.

    Sources: see MixerConfig and tfcore.mixers; the gated delta rule as in Qwen3-Next and SSD as in Mamba-2, in their
    published code.

    Args:
        layer: its place in the stack.
    """

    def __init__(self, config: ModelConfig, layer: int = 0) -> None:
        super().__init__()
        own = config.mixer or MixerConfig()
        self.kind, self.decay = config.carried_by(layer), own.decay
        self.norm, self.eps = own.norm, config.norm.eps
        self.least_step = own.least_step
        self.n_heads, self.key_heads = own.n_heads, own.key_heads
        self.d_key, self.d_value = config.mixer_sizes
        keys, values = self.key_heads * self.d_key, self.n_heads * self.d_value
        self.parts = keys, keys, values
        self.qkv = Linear(config.d_model, sum(self.parts), bias=own.bias)
        self.gate = Linear(config.d_model, values, bias=own.bias)
        if own.width > 1:
            self.conv_weight = nn.Parameter(torch.zeros(sum(self.parts), own.width))
            self.conv_bias = nn.Parameter(torch.zeros(sum(self.parts))) if own.conv_bias else None
        if self.kind == "delta":
            self.strength = Linear(config.d_model, self.n_heads, bias=own.bias)
        if self.decay == "token":
            self.step = Linear(config.d_model, self.n_heads, bias=own.bias)
            self.step_bias = nn.Parameter(torch.zeros(self.n_heads))
            self.log_rate = nn.Parameter(torch.zeros(self.n_heads))
        if self.decay == "channel":
            self.fade_down = Linear(config.d_model, GATE_RANK, bias=False)
            self.fade_up = Linear(GATE_RANK, self.n_heads * self.d_key, bias=True)
        if self.kind == "ssm":
            self.skip = nn.Parameter(torch.ones(self.n_heads))
        if self.norm is not None:
            self.norm_weight = nn.Parameter(torch.ones(values if self.norm == "group" else self.d_value))
        self.out = Linear(values, config.d_model, bias=own.bias)

    def forward(
        self,
        x: Stream,
        context: AttentionContext,
        recorder: ActivationRecorder,
        *,
        cache: KVCache | None = None,
        layer: int = 0,
    ) -> Stream:
        """The update of each token; arguments as of Attention."""
        x = without_padding(x, context)
        before, state = cache.state(layer) if cache is not None else (None, None)
        mixed, held = self.mixed(self.qkv(x), before)
        q, k, v = self.heads(mixed)
        if context.padding is not None:
            k = k * context.padding[:, None, :, None]
        q, k, v = recorder("q", q), recorder("k", k), recorder("v", v)
        rule = self.rule(x, recorder)
        form = recurrent if x.shape[1] <= FEW else chunked
        if recorder.wants("pattern"):
            if state is not None:
                raise ValueError(f"the pattern of layer {layer} needs a whole text: its state keeps no earlier keys")
            output, after = recorder("pattern", implied_matrix(q, k, rule)) @ v, None
            if cache is not None:
                _, after = form(q, k, v, rule)
        else:
            output, after = form(q, k, v, rule, state)
        if cache is not None:
            cache.write_state(layer, (held, after))
        if self.kind == "ssm":
            output = output + self.skip[:, None, None] * v
        z = recorder("z", self.gated(output, self.gate(x)))
        if recorder.wants("result"):
            summed = recorder("result", self.results(z)).sum(2)
            return summed if self.out.bias is None else summed + self.out.bias
        return self.out(z.transpose(1, 2).flatten(2))

    def mixed(
        self, product: Float[Tensor, "batch seq d_qkv"], before: Float[Tensor, "batch before d_qkv"] | None
    ) -> tuple[Float[Tensor, "batch seq d_qkv"], Float[Tensor, "batch before d_qkv"] | None]:
        """Queries, keys and values after the short convolution, where there is one, and what it carries on."""
        if not hasattr(self, "conv_weight"):
            return product, None
        mixed, held = short_convolution(product, self.conv_weight, self.conv_bias, before)
        return F.silu(mixed), held

    def heads(self, mixed: Float[Tensor, "batch seq d_qkv"]) -> tuple[Heads, Heads, Heads]:
        """Queries, keys and values of each head."""
        q, k, v = mixed.split(self.parts, dim=-1)
        q, k = (one.unflatten(-1, (self.key_heads, self.d_key)).transpose(1, 2) for one in (q, k))
        if self.kind == "delta":
            q, k = unit(q), unit(k)
        if self.kind != "ssm":
            q = q * self.d_key**-0.5
        if self.kind == "linear" and self.decay is None:
            q, k = positive(q), positive(k)
        group = self.n_heads // self.key_heads
        q, k = (one.repeat_interleave(group, dim=1) if group > 1 else one for one in (q, k))
        return q, k, v.unflatten(-1, (self.n_heads, self.d_value)).transpose(1, 2)

    def rule(self, x: Stream, recorder: ActivationRecorder) -> Rule:
        """What each token does to the state."""
        log_decay = strength = None
        if self.decay == "constant":  # from 1 - 1/32 on, each head half as fast (arXiv:2307.08621, eq. 8)
            rates = 1 - 2.0 ** (-5 - torch.arange(self.n_heads, device=x.device, dtype=x.dtype))
            log_decay = rates.log()[:, None, None].expand(x.shape[0], -1, x.shape[1], 1)
        elif self.decay == "channel":
            fade = F.logsigmoid(self.fade_up(self.fade_down(x))) / GATE_TEMPERATURE
            log_decay = fade.unflatten(-1, (self.n_heads, self.d_key)).transpose(1, 2)
        elif self.decay == "token":
            step = F.softplus(self.step(x) + self.step_bias).transpose(1, 2)  # (batch, head, seq)
            step = step.clamp(min=self.least_step) if self.least_step else step
            log_decay = -(self.log_rate.exp()[:, None] * step)[..., None]
            strength = step if self.kind == "ssm" else None
        if self.kind == "delta":
            strength = self.strength(x).sigmoid().transpose(1, 2)
        if log_decay is not None:
            log_decay = recorder("log_decay", log_decay)
        if strength is not None:
            strength = recorder("strength", strength)
        normalised = self.kind == "linear" and self.decay is None
        return Rule(log_decay=log_decay, strength=strength, erase=self.kind == "delta", normalised=normalised)

    def gated(self, output: Heads, gate: Float[Tensor, "batch seq d_out"]) -> Heads:
        """The outputs, multiplied with the gate, and normalised where the layer does it."""
        gate = F.silu(gate.unflatten(-1, (self.n_heads, self.d_value)).transpose(1, 2))
        if self.norm is None:
            return output * gate
        if self.norm == "head":
            return rms_norm(output, self.norm_weight, self.eps) * gate
        groups = (output * gate).transpose(1, 2).flatten(2).unflatten(-1, (self.key_heads, -1))
        whole = F.rms_norm(groups, groups.shape[-1:], eps=self.eps).flatten(2) * self.norm_weight
        return whole.unflatten(-1, (self.n_heads, self.d_value)).transpose(1, 2)

    def gains(self, output: Heads, gate: Float[Tensor, "batch seq d_out"]) -> Heads:
        """What each output is multiplied with by norm and gate, the scale of the norm held as it is here:
        gated(o) = o * gains(o). With them held the layer is linear in its outputs."""
        opened = F.silu(gate.unflatten(-1, (self.n_heads, self.d_value)).transpose(1, 2))
        if self.norm is None:
            return opened
        if self.norm == "head":
            return opened * self.norm_weight * (output.square().mean(-1, keepdim=True) + self.eps).rsqrt()
        groups = (output * opened).transpose(1, 2).flatten(2).unflatten(-1, (self.key_heads, -1))
        scale = (groups.square().mean(-1, keepdim=True) + self.eps).rsqrt().expand_as(groups).flatten(2)
        return opened * (scale * self.norm_weight).unflatten(-1, (self.n_heads, self.d_value)).transpose(1, 2)

    def results(self, z: Heads) -> Float[Tensor, "batch seq head d_model"]:
        """The output of each head alone to the residual stream."""
        w_out = self.out.weight.unflatten(1, (self.n_heads, self.d_value))
        return torch.einsum("bhqe,dhe->bqhd", z, w_out)


class AttentionBesideState(Attention):
    """Attention and a mixer with a state beside each other: both read the same stream, and what they write is summed
    (Falcon-H1, arXiv:2507.22448, section 2.1). What the state has is recorded under `state.`, its sum as `state_out`.

    Args:
        layer: its place in the stack.
    """

    def __init__(self, config: ModelConfig, layer: int = 0) -> None:
        super().__init__(config, layer)
        self.state = StateMixer(config, layer)

    def forward(
        self,
        x: Stream,
        context: AttentionContext,
        recorder: ActivationRecorder,
        *,
        cache: KVCache | None = None,
        layer: int = 0,
        memory: Float[Tensor, "batch key d_model"] | None = None,
    ) -> Stream:
        attended = super().forward(x, context, recorder, cache=cache, layer=layer, memory=memory)
        written = self.state(x, context, recorder.under("state."), cache=cache, layer=layer)
        return attended + recorder("state_out", written)


class ConvolutionMixer(nn.Module):
    """A short convolution between two gates, each channel by itself (LFM2, its published code): it has no heads.

        b, c, y = x W_in        out = (c * conv(b * y)) W_out

    Args:
        layer: its place in the stack.
    """

    def __init__(self, config: ModelConfig, layer: int = 0) -> None:  # noqa: ARG002 - all are alike
        super().__init__()
        own = config.mixer or MixerConfig()
        self.project = Linear(config.d_model, 3 * config.d_model, bias=own.bias)
        self.conv_weight = nn.Parameter(torch.zeros(config.d_model, own.width))
        self.conv_bias = nn.Parameter(torch.zeros(config.d_model)) if own.conv_bias else None
        self.out = Linear(config.d_model, config.d_model, bias=own.bias)

    def forward(
        self,
        x: Stream,
        context: AttentionContext,
        recorder: ActivationRecorder,
        *,
        cache: KVCache | None = None,
        layer: int = 0,
    ) -> Stream:
        """The update of each token; arguments as of Attention."""
        before, _ = cache.state(layer) if cache is not None else (None, None)
        gate, read, values = self.project(without_padding(x, context)).chunk(3, dim=-1)
        mixed, held = short_convolution(gate * values, self.conv_weight, self.conv_bias, before)
        if cache is not None:
            cache.write_state(layer, (held, None))
        return self.out(recorder("conv", read * mixed))
