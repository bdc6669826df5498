"""Two tests that tell an induction head from its weights in action: does it find the place, does it copy what is there
(arXiv:2209.11895, appendix "Head activation evaluators")."""

from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.inside.copying import random_rows, scores_of
from tfcore.block import Block
from tfcore.model import Transformer

TOKENS, COPIES, EXAMPLES = 25, 4, 10  # as in the paper


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Every head under both tests.

    Args:
        prefix: prefix matching, 0 to 1: mean weight on the tokens that came after earlier occurrences of the present
            one, summed over the earlier copies.
        copying: -1 to 1: 1 if a head that looks at a token raises, of all tokens of the text, that one alone.
    """

    prefix: Float[ndarray, "layer head"]
    copying: Float[ndarray, "layer head"]


@torch.no_grad()
def evaluate_heads(model: Transformer, seed: int = 0, examples: int = EXAMPLES) -> Evaluated:
    """Both tests on random tokens: 25, said four times, for the prefix; 25, said once, for copying.

    Where we differ: tokens are drawn from the whole vocabulary, none twice, and no start token is put before them, for
    not every model has one. Models with a short context get fewer tokens.
    """
    config = model.config
    tokens = min(TOKENS, config.vocab_size, config.max_seq_len // COPIES)
    patterns, values = ([f"blocks.{i}.attn.{what}" for i in range(config.n_layers)] for what in ("pattern", "v"))
    prefix, copied = [], []
    for row in random_rows(config.vocab_size, tokens, examples, seed).to(model.embed.weight.device):
        again = row.repeat(COPIES)
        looked = torch.cat(list(model(again[None], capture=patterns).activations.values()))
        prefix.append(scores_of(looked.float().cpu().numpy(), again.cpu().numpy())["induction"])
        read = model(row[None], capture=values).activations
        copied.append(torch.stack([copying_score(raised(model, i, read[name], row)) for i, name in enumerate(values)]))
    return Evaluated(np.mean(prefix, axis=0), torch.stack(copied).mean(0).float().cpu().numpy())


def raised(
    model: Transformer, layer: int, values: Float[Tensor, "1 kv_head key d_head"], ids: Int[Tensor, " key"]
) -> Float[Tensor, "key head token"]:
    """By how much a head that looks at a token raises the logit of each token of the text, along the direct path:
    value, W_O, the scale of the last norm, unembedding. What lies below the mean over the vocabulary counts as 0."""
    config = model.config
    z = values.repeat_interleave(config.n_heads // config.kv_heads, dim=1)  # (1, head, key, d_head)
    written = cast("Block", model.decoder.blocks[layer]).attn.results(z)[0]  # (key, head, d_model)
    if config.norm_placement != "post":
        written = written * model.decoder.ln_final.weight
    logits = F.linear(written, model.embed.weight if config.tie_embeddings else model.unembed.weight)
    return (logits - logits.mean(-1, keepdim=True)).relu()[..., ids]


def copying_score(raised: Float[Tensor, "key head token"]) -> Float[Tensor, " head"]:
    """Of the amount by which a head raises tokens of the text, the share that goes to the token it looks at, brought
    from 0..1 to -1..1; mean over the tokens."""
    own = raised.diagonal(dim1=0, dim2=2)  # (head, key)
    return (2 * own / raised.sum(-1).T.clamp(min=1e-9) - 1).mean(-1)
