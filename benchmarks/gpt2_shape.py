"""A model of GPT-2's shape with random weights, the same in `transformers`, and its matrix products alone."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.loading.families.gpt2 import GPT2
from tfcore.model import Transformer
from tfcore.part_configs import AttentionConfig, FeedForwardConfig, NormConfig, PositionsConfig

GPT2_SMALL = ModelConfig(
    vocab_size=50_257,
    d_model=768,
    n_layers=12,
    attention=AttentionConfig(n_heads=12),
    max_seq_len=1024,
    positions=PositionsConfig(kind="learned"),
    norm=NormConfig(kind="layernorm"),
    feed_forward=FeedForwardConfig(activation="gelu_tanh"),
    bias=True,
    tie_embeddings=True,
)


def ours(config: ModelConfig = GPT2_SMALL, seed: int = 0) -> Transformer:
    """Ready to answer, like a model from tfcore.load."""
    return Transformer(config, seed).eval().requires_grad_(False)


def peer(model: Transformer) -> torch.nn.Module:
    """The GPT-2 of `transformers` with the weights of our model, set to its explicit ("eager") attention."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = model.config
    shape: dict[str, Any] = dict(  # noqa: C408
        vocab_size=config.vocab_size,
        n_positions=config.max_seq_len,
        n_embd=config.d_model,
        n_layer=config.n_layers,
        n_head=config.attention.n_heads,
        n_inner=config.ff_size,
        layer_norm_epsilon=config.norm.eps,
        bos_token_id=0,
        eos_token_id=0,
        use_cache=False,
        attn_implementation="eager",
    )
    other = GPT2LMHeadModel(GPT2Config(**shape))
    missing, unexpected = other.load_state_dict(_renamed(model), strict=False)
    if unexpected or set(missing) - {"lm_head.weight"}:
        raise RuntimeError(f"the peer does not take our weights: {unexpected or missing}")
    return other.eval().requires_grad_(False)


def _renamed(model: Transformer) -> dict[str, Tensor]:
    """Our state under GPT-2's names, by the table that reads its checkpoints the other way."""
    state = {}
    for name, tensor in model.state_dict().items():
        source = GPT2.sources(name)[0]
        transposed = source.transposed and tensor.ndim > 1
        state[GPT2.prefix + source.names[0]] = tensor.T.contiguous() if transposed else tensor
    return state


def text(model: Transformer, n: int) -> Int[Tensor, "1 n"]:
    """n random tokens, where the model is."""
    ids = torch.randint(0, model.config.vocab_size, (1, n), generator=torch.Generator().manual_seed(n))
    return ids.to(model.embed.weight.device)


def products(model: Transformer, n: int) -> Callable[[], Tensor]:
    """A call that does the matrix products of a forward pass over n tokens and nothing else.

    They use each layer's own weights: the same weights twelve times would stay in the processor's cache.
    """
    config = model.config
    generator = torch.Generator().manual_seed(0)
    shapes: list[tuple[int, ...]] = [(n, config.d_model), (n, config.ff_size)]
    shapes += [(config.attention.n_heads, n, config.head_size), (config.attention.n_heads, n, n)]
    weights, device = model.state_dict(), model.embed.weight.device
    x, h, q, pattern = (torch.randn(1, *shape, generator=generator).to(device) for shape in shapes)

    def run() -> Tensor:
        for i in range(config.n_layers):
            F.linear(x, weights[f"decoder.blocks.{i}.attn.qkv.weight"])
            q @ q.mT
            pattern @ q
            F.linear(x, weights[f"decoder.blocks.{i}.attn.out.weight"])
            F.linear(x, weights[f"decoder.blocks.{i}.mlp.up.weight"])
            F.linear(h, weights[f"decoder.blocks.{i}.mlp.down.weight"])
        return F.linear(x, weights["embed.weight"])

    return run
