"""What grows in training besides the loss: attention scores, the weight on the first token, the residual stream."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfcore.model import Transformer


@dataclass(frozen=True, slots=True)
class AttentionSizes:
    """Sizes of a decoder on some texts.

    Args:
        score: the largest absolute score of a text that a query may see, over all layers and heads; the mean over the
            texts.
        first: mean attention weight on the first token of the text, of the queries in its second half.
        sunk: mean weight of the same queries that no token of the text has: of learned sinks, or of registers.
        stream: root mean square of the residual stream after the last layer.
    """

    score: float
    first: float
    sunk: float
    stream: float


@torch.no_grad()
def attention_sizes(model: Transformer, ids: Int[Tensor, "row seq"], registers: int = 0) -> AttentionSizes:
    """Sizes of a decoder all of whose layers have attention.

    Args:
        ids: texts of the same length.
        registers: how many of their first ids are no text.
    """
    last = f"blocks.{model.config.n_layers - 1}.resid_post"
    names = ("blocks.*.attn.scores", "blocks.*.attn.pattern", last)
    record = model.activations(ids.to(model.device), names)
    scores = torch.stack([value for name, value in record.items() if name.endswith("scores")])
    pattern = torch.stack([value for name, value in record.items() if name.endswith("pattern")])
    later: Float[Tensor, "layer row head query key"] = pattern[..., (registers + ids.shape[1]) // 2 :, registers:]
    return AttentionSizes(
        score=float(scores.tril().abs().amax((0, 2, 3, 4)).mean()),
        first=float(later[..., 0].mean()),
        sunk=float(1 - later.sum(-1).mean()),
        stream=float(record[last].square().mean().sqrt()),
    )
