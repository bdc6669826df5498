"""Continue a text token by token, each new token read with a KV cache."""

from collections.abc import Iterator, Sequence

import torch

from tfcore.kv_cache import KVCache
from tfcore.model import Transformer
from tfcore.sampling import distribution


def generate(
    model: Transformer,
    ids: Sequence[int],
    *,
    max_new_tokens: int = 64,
    temperature: float | int = 1.0,
    top_k: int | None = None,
    top_p: float | int = 1.0,
    seed: int = 0,
) -> list[int]:
    """The ids that continue `ids`, at most max_new_tokens of them; fewer where the context is full.

    Args:
        temperature: 0 is greedy.
        seed: of the draws; the same seed gives the same text.

    Raises:
        ValueError: nothing to continue, or a setting outside its range.
    """
    settings = {"temperature": temperature, "top_p": top_p}
    return list(stream(model, ids, max_new_tokens=max_new_tokens, top_k=top_k, seed=seed, **settings))


@torch.no_grad()
def stream(
    model: Transformer,
    ids: Sequence[int],
    *,
    max_new_tokens: int,
    temperature: float | int = 1.0,
    top_k: int | None = None,
    top_p: float | int = 1.0,
    seed: int = 0,
) -> Iterator[int]:
    """The same, one id at a time, as soon as it is drawn."""
    if not ids:
        raise ValueError("there is nothing to continue; give at least one id")
    device = next(model.parameters()).device
    generator = torch.Generator().manual_seed(seed)
    cache = KVCache(model.config, device=device)
    new = torch.tensor([list(ids)], dtype=torch.int64, device=device)
    for _ in range(min(max_new_tokens, model.config.max_seq_len - len(ids))):
        logits = model(new, cache=cache).logits[0, -1].float().cpu()
        p = distribution(logits, temperature=temperature, top_k=top_k, top_p=top_p)
        chosen = int(torch.multinomial(p, 1, generator=generator))
        yield chosen
        new = torch.tensor([[chosen]], dtype=torch.int64, device=device)
