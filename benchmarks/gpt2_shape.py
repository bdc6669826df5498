"""A model of GPT-2's shape with random weights, the same in `transformers`, and its matrix products alone."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.model import Transformer

GPT2_SMALL = ModelConfig(
    vocab_size=50_257,
    d_model=768,
    n_layers=12,
    n_heads=12,
    max_seq_len=1024,
    positions="learned",
    norm="layernorm",
    activation="gelu_tanh",
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
        n_head=config.n_heads,
        n_inner=config.ff_size,
        layer_norm_epsilon=config.norm_eps,
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
    """Our state under GPT-2's names; its Conv1D keeps matrices the other way round (in, out)."""
    names = {
        "embed": "wte",
        "pos_embed": "wpe",
        "ln_final": "ln_f",
        "blocks": "h",
        "ln1": "ln_1",
        "ln2": "ln_2",
        "attn.qkv": "attn.c_attn",
        "attn.out": "attn.c_proj",
        "mlp.up": "mlp.c_fc",
        "mlp.down": "mlp.c_proj",
    }
    state = {}
    for name, tensor in model.state_dict().items():
        name = name.removeprefix("decoder.")
        turned = name.endswith(("qkv.weight", "out.weight", "up.weight", "down.weight"))
        first, _, rest = name.partition(".")
        layer, _, inside = rest.partition(".") if first == "blocks" else ("", "", rest)
        part, _, kind = inside.rpartition(".") if first == "blocks" else (first, "", rest)
        prefix = f"transformer.h.{layer}." if first == "blocks" else "transformer."
        state[f"{prefix}{names[part]}.{kind}"] = tensor.T.contiguous() if turned else tensor
    return state


def products(model: Transformer, n: int) -> Callable[[], Tensor]:
    """A call that does the matrix products of a forward pass over n tokens and nothing else.

    They use each layer's own weights: the same weights twelve times would stay in the processor's cache.
    """
    config = model.config
    generator = torch.Generator().manual_seed(0)
    shapes: list[tuple[int, ...]] = [(n, config.d_model), (n, config.ff_size)]
    shapes += [(config.n_heads, n, config.head_size), (config.n_heads, n, n)]
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
