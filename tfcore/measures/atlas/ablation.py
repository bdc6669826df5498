"""What each head adds: the change of the loss when it writes its mean instead, over a sample of texts."""

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.inspection.edits import Edit
from tfcore.measures.shared_layers import plain_run, run_above
from tfcore.measures.text_loss import next_losses
from tfcore.model import Transformer

DRAWS = 2_000  # of texts, for an interval
LEVEL = 0.95  # of an interval
AT_ONCE = 4  # rows whose logits are held at a time


@torch.no_grad()
def ablate_heads(
    model: Transformer, ids: Sequence[int], means: Float[ndarray, "layer head d_value"]
) -> Float[ndarray, "layer head"]:
    """The change of the mean loss of a text's tokens, in nats, when each head alone is ablated; of an encoder, and any
    other model that predicts no next token, 1 - the cosine of its vector (the mean of its last states) with what it is
    otherwise.

    The head writes its mean z over many texts at every token, but for the first of a decoder, which is no token like
    others: every head sees it alone there, and many keep their sink on it.

    The layers below the head run once for all heads; see tfcore.measures.shared_layers.
    """
    run, heads = plain_run(model, ids), range(model.config.attention.n_heads)
    where = {} if model.config.architecture == "encoder" else {"positions": range(1, len(ids))}
    predicts = model.config.architecture == "decoder" and model.config.scores_tokens
    whole = _losses(model, run.hidden, ids) if predicts else run.hidden.mean(1)
    changes = np.empty(means.shape[:2])
    for layer, of_layer in enumerate(torch.tensor(means)):
        name = f"blocks.{layer}.attn.z"
        sets = [[Edit.replace(name, of_layer[head], heads=[head], **where)] for head in heads]
        hidden = torch.cat(list(run_above(model, run, layer, sets)))
        if predicts:
            change = _losses(model, hidden, ids) - whole
        else:
            change = 1 - F.cosine_similarity(hidden.mean(1), whole, dim=-1)
        changes[layer] = change.double().cpu().numpy()
    return changes


def _losses(model: Transformer, hidden: Float[Tensor, "row seq d_model"], ids: Sequence[int]) -> Float[Tensor, " row"]:
    """Mean loss over the tokens of each row, few rows at a time: their logits are the largest tensors here."""
    logits = (cast("Tensor", model.to_logits(rows)) for rows in hidden.split(AT_ONCE))
    return torch.cat([next_losses(one, ids).mean(1) for one in logits])


def interval(by_text: Float[ndarray, "layer head text"], seed: int = 0) -> Float[ndarray, "2 layer head"]:
    """The bounds of a bootstrap interval of the mean over texts: texts are drawn with replacement, the same for all
    heads."""
    texts = by_text.shape[-1]
    drawn = np.random.default_rng(seed).integers(texts, size=(DRAWS, texts))
    counts = np.stack([np.bincount(one, minlength=texts) for one in drawn])  # (draw, text)
    means = by_text @ counts.T / texts
    return np.quantile(means, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), axis=-1)


def sampled(windows: Sequence[Sequence[int]], count: int) -> Iterator[int]:
    """Indices of `count` windows that are spread evenly over all, in an order in which the first few are, too."""
    chosen = np.linspace(0, len(windows) - 1, min(count, len(windows))).round().astype(int)
    return iter(np.random.default_rng(0).permutation(np.unique(chosen)).tolist())
