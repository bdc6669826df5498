"""Draft models for speculative decoding made of the model itself: its first blocks, or a table of its logits."""

from collections.abc import Iterable
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.inspection.edits import Edit
from tfcore.kv_cache import KVCache
from tfcore.model import Output, Transformer
from tfcore.part_configs import AttentionConfig, FeedForwardConfig

LARGEST_TABLE = 4096  # ids; the table has their number squared
ROWS = 256  # tokens that are read at once


def early_exit(model: Transformer, n_layers: int) -> Transformer:
    """The first blocks of a decoder, then its own final norm and unembedding; no weight is copied.

    Nobody trained the model to be read that early, so the first blocks alone guess badly.

    Args:
        n_layers: blocks to keep.

    Raises:
        ValueError: not a decoder, or not between 1 block and all but one.
    """
    config = model.config
    if config.architecture != "decoder" or not 1 <= n_layers < config.n_layers:
        raise ValueError(
            f"n_layers={n_layers} of a {config.architecture} of {config.n_layers}: take a decoder, and from 1 to "
            f"{config.n_layers - 1} of its blocks"
        )
    above = tuple(f"decoder.blocks.{i}." for i in range(n_layers, config.n_layers))
    kept = {name: one for name, one in model.state_dict().items() if not name.startswith(above)}
    return model.with_weights(replace(config, n_layers=n_layers), kept)


class SingleTokenTable:
    """The model's next-token logits after each token that stands alone, looked up: a bigram table as draft model.

    Args:
        model: a decoder with a vocabulary of at most LARGEST_TABLE ids.

    Raises:
        ValueError: another kind of model, or one with a larger vocabulary.
    """

    device = torch.device("cpu")
    dtype = torch.float32

    def __init__(self, model: Transformer) -> None:
        config = model.config
        kind, n = config.architecture, config.vocab_size
        if kind != "decoder" or n > LARGEST_TABLE:
            raise ValueError(f"a table of a {kind} of {n} ids: take a decoder of at most {LARGEST_TABLE}")
        context = config.max_seq_len
        self.config = ModelConfig(
            vocab_size=n,
            max_seq_len=context,
            d_model=2,
            n_layers=1,
            attention=AttentionConfig(n_heads=1),
            feed_forward=FeedForwardConfig(d_ff=2),
        )
        self.table = single_token_logits(model)

    def __call__(
        self,
        ids: Int[Tensor, "batch seq"],
        *,
        cache: KVCache,
        edits: Iterable[Edit] = (),  # noqa: ARG002 - there is nothing to edit
    ) -> Output:
        """The row of each token; the cache only counts the tokens."""
        cache.advance(ids.shape[1])
        rows = self.table[ids]  # (batch, seq, vocab)
        return Output(rows, rows, {})


@torch.inference_mode()
def single_token_logits(model: Transformer) -> Float[Tensor, "vocab vocab"]:
    """The model's next-token logits after each text of one token."""
    every = torch.arange(model.config.vocab_size, device=model.device)
    return torch.cat([model(part[:, None]).logits[:, 0].float().cpu() for part in every.split(ROWS)])
