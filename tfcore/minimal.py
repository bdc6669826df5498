"""A whole decoder in one file, straight down: the first file to read.

    decoder, tokenizer = load("stories")
    print(tokenizer.decode(decoder.write(tokenizer.encode("One day, a little dog"), 20)))

It is LLaMA (arXiv:2302.13971) with its weights named as in `tfcore.Transformer`; `stories` and `smollm2` are such
models. The rest of the library is this computation with switches for other models, names for what is computed on the
way, a cache, and kernels that are faster. Both give the same logits.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tfcore.config import ModelConfig
from tfcore.loading.checkpoints import load as load_checkpoint
from tfcore.tokenizers.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The numbers that a decoder is made from.

    Args:
        d_model: width of the residual stream.
        n_heads, n_kv_heads: heads of queries, and of keys and values, which groups of queries share.
        d_head, d_ff: width of a head and of the feed-forward layer.
        rope_base: the base of the rotations' wavelengths.
        eps: keeps the normalisation from dividing by 0.
    """

    vocab_size: int
    d_model: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_head: int
    d_ff: int
    rope_base: float
    eps: float


class RMSNorm(nn.Module):
    """x / sqrt(mean(x^2) + eps) * weight (arXiv:1910.07467, eq. 4)."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x: Float[Tensor, "seq d_model"]) -> Float[Tensor, "seq d_model"]:
        """The vectors, each scaled to a mean square of 1, times the weight."""
        return x / (x.pow(2).mean(-1, keepdim=True) + self.eps).sqrt() * self.weight


def rotate(x: Float[Tensor, "head seq d_head"], base: float) -> Float[Tensor, "head seq d_head"]:
    """Rotary positions: pair i of the vector at place m turned by the angle m / base^(2i / d_head) (arXiv:2104.09864,
    eq. 34), so that the product of a query and a key depends on how far apart they are."""
    _, seq, d_head = x.shape
    frequencies = base ** (-torch.arange(0, d_head, 2) / d_head)  # (d_head / 2)
    angles = torch.arange(seq)[:, None] * frequencies  # (seq, d_head / 2)
    one, other = x.chunk(2, dim=-1)  # the pairs: (x_i, x_{i + d_head / 2})
    cos, sin = angles.cos(), angles.sin()
    return torch.cat((one * cos - other * sin, other * cos + one * sin), dim=-1)


class Attention(nn.Module):
    """Each token takes in what it looks for of the tokens before it (arXiv:1706.03762, eq. 1)."""

    def __init__(self, s: Sizes) -> None:
        super().__init__()
        self.s = s
        self.qkv = nn.Linear(s.d_model, (s.n_heads + 2 * s.n_kv_heads) * s.d_head, bias=False)
        self.out = nn.Linear(s.n_heads * s.d_head, s.d_model, bias=False)

    def forward(self, x: Float[Tensor, "seq d_model"]) -> Float[Tensor, "seq d_model"]:
        """The update that attention adds to the residual stream."""
        s, seq = self.s, len(x)
        heads = self.qkv(x).view(seq, -1, s.d_head).transpose(0, 1)  # (n_heads + 2 n_kv_heads, seq, d_head)
        q, k, v = heads.split((s.n_heads, s.n_kv_heads, s.n_kv_heads))
        q, k = rotate(q, s.rope_base), rotate(k, s.rope_base)
        k, v = (one.repeat_interleave(s.n_heads // s.n_kv_heads, dim=0) for one in (k, v))  # (n_heads, seq, d_head)
        scores = q @ k.mT / s.d_head**0.5  # (n_heads, query, key)
        future = torch.ones(seq, seq, dtype=torch.bool).triu(1)  # (query, key): a key after its query
        weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)  # each row sums to 1
        mixed = weights @ v  # (n_heads, seq, d_head): values, averaged by the weights
        return self.out(mixed.transpose(0, 1).flatten(1))  # heads side by side, (seq, n_heads d_head), then mixed


class FeedForward(nn.Module):
    """Each token by itself: down(silu(gate x) * up x) (SwiGLU, arXiv:2002.05202, eq. 6)."""

    def __init__(self, s: Sizes) -> None:
        super().__init__()
        self.up = nn.Linear(s.d_model, 2 * s.d_ff, bias=False)  # gate and up in one matrix
        self.down = nn.Linear(s.d_ff, s.d_model, bias=False)

    def forward(self, x: Float[Tensor, "seq d_model"]) -> Float[Tensor, "seq d_model"]:
        """The update that the layer adds to the residual stream."""
        gate, up = self.up(x).chunk(2, dim=-1)  # each (seq, d_ff)
        return self.down(nn.functional.silu(gate) * up)


class Block(nn.Module):
    """Attention, then a feed-forward layer; each reads the normalised residual stream and adds to it."""

    def __init__(self, s: Sizes) -> None:
        super().__init__()
        self.ln1, self.attn = RMSNorm(s.d_model, s.eps), Attention(s)
        self.ln2, self.mlp = RMSNorm(s.d_model, s.eps), FeedForward(s)

    def forward(self, x: Float[Tensor, "seq d_model"]) -> Float[Tensor, "seq d_model"]:
        """The residual stream after the block."""
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class Decoder(nn.Module):
    """Token ids in; out, at every place, a score for every token that could come next."""

    def __init__(self, s: Sizes) -> None:
        super().__init__()
        self.embed = nn.Embedding(s.vocab_size, s.d_model)
        self.blocks = nn.ModuleList(Block(s) for _ in range(s.n_layers))
        self.ln_final = RMSNorm(s.d_model, s.eps)

    def forward(self, ids: Int[Tensor, " seq"]) -> Float[Tensor, "seq vocab"]:
        """The logits of the next token at every place."""
        x = self.embed(ids)  # (seq, d_model): the residual stream
        for block in self.blocks:
            x = block(x)
        return self.ln_final(x) @ self.embed.weight.T  # the table of embeddings again: how well each token fits

    @torch.no_grad()
    def write(self, ids: list[int], count: int) -> list[int]:
        """The ids with so many more, each the one with the highest logit after those before it."""
        for _ in range(count):
            ids = [*ids, int(self(torch.tensor(ids))[-1].argmax())]
        return ids


# What a model's config has to say, besides its sizes; what adds weights or lacks some is found when these are loaded.
KIND = {
    "architecture": "decoder",
    "positions": "rope",
    "rope_scaling": None,
    "norm": "rmsnorm",
    "rotated": None,
    "activation": "swiglu",
    "ff_gain": 1.0,
    "ff_limit": None,
    "ff_shift": 0.0,
    "layers": (),
    "parallel": False,
    "attn_scale": None,
    "attn_scale_by_layer": False,
    "attn_softcap": None,
    "attn_clip": None,
    "embed_scale": 1.0,
    "logit_scale": 1.0,
    "logit_softcap": None,
    "head": "lm",
}


def differences(config: ModelConfig) -> list[str]:
    """The settings by which a model is of another kind, as far as its config says so, as in "embed_scale=2.0"."""
    return [f"{key}={config.setting(key)!r}" for key, value in KIND.items() if config.setting(key) != value]


def load(name: str) -> tuple[Decoder, Tokenizer | None]:
    """A decoder with the weights of a model, such as "stories" or "smollm2", and the tokenizer that came with it.

    Raises:
        CheckpointError: there is no such model.
        ValueError, RuntimeError: it is of another kind.
    """
    model, tokenizer = load_checkpoint(name)
    c = model.config
    if other := differences(c):
        raise ValueError(f"{name} is no decoder of this kind ({', '.join(other)}); tfcore.load opens it")
    sizes = Sizes(
        vocab_size=c.vocab_size,
        d_model=c.d_model,
        n_layers=c.n_layers,
        n_heads=c.attention.n_heads,
        n_kv_heads=c.attention.kv_heads,
        d_head=c.head_size,
        d_ff=c.ff_size,
        rope_base=c.positions.base,
        eps=c.norm.eps,
    )
    decoder = Decoder(sizes)
    decoder.load_state_dict({key.removeprefix("decoder."): value for key, value in model.state_dict().items()})
    return decoder, tokenizer
