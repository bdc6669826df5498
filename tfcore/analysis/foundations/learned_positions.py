"""Learned position vectors, caught while they are learned: a one-layer Transformer trained here and now."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.model import Transformer

Task = Literal["nearby", "previous"]
REACH = 4  # "nearby" asks for one of this many tokens before
SEQ, VOCAB, ROWS, LR = 32, 16, 16, 6e-3
STEPS, EVERY = 200, 10


@dataclass(frozen=True, slots=True)
class LearnedPositions:
    """One training run, looked at every 10 steps.

    Args:
        steps: training steps done at each look; the first is 0, random vectors.
        tables: the position vectors.
        similarity: cosine between the vectors of two positions.
        patterns: attention weights, averaged over texts that were not trained on.
        losses: cross-entropy on these texts, nats per token.
        floor: the lowest loss that any model can have on these texts.
    """

    steps: Int[ndarray, " look"]
    tables: Float[ndarray, "look seq d_model"]
    similarity: Float[ndarray, "look seq seq"]
    patterns: Float[ndarray, "look query key"]
    losses: Float[ndarray, " look"]
    floor: float


def learn_positions(task: Task, seed: int = 0) -> LearnedPositions:
    """Train a one-layer attention-only Transformer with learned positions on random tokens; takes about a second.

    All tokens are equally likely everywhere, so nothing but positions can tell where to look.

    Args:
        task: "previous": say the token before. "nearby": say one of the 4 tokens before, drawn anew each time, so
            that the best answer gives each of them a quarter.
        seed: of weights and data.
    """
    config = ModelConfig(
        vocab_size=VOCAB,
        d_model=32,
        n_layers=1,
        n_heads=1,
        d_ff=0,
        max_seq_len=SEQ,
        positions="learned",
        tie_embeddings=False,
    )
    model, generator = Transformer(config, seed), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
    ids, targets = batch(task, 64, generator)
    looks = []
    for step in range(STEPS + 1):
        if step % EVERY == 0:
            looks.append(_look(model, ids, targets))
        optimizer.param_groups[0]["lr"] = LR * (1 - step / (STEPS + 1))
        optimizer.zero_grad()
        _loss(model, *batch(task, ROWS, generator)).backward()
        optimizer.step()
    tables, similarity, patterns, losses = (np.stack(part) for part in zip(*looks, strict=True))
    steps = np.arange(0, STEPS + 1, EVERY)
    return LearnedPositions(steps, tables, similarity, patterns, losses, best_loss(task, ids, targets))


def batch(task: Task, rows: int, generator: torch.Generator) -> tuple[Int[Tensor, "row seq"], Int[Tensor, "row seq"]]:
    """Random tokens and, at each position from 4 on, the token to say: one of those just before."""
    ids = torch.randint(0, VOCAB, (rows, SEQ), generator=generator)
    reach = REACH if task == "nearby" else 1
    back = torch.randint(1, reach + 1, (rows, SEQ), generator=generator)
    return ids, ids.gather(1, (torch.arange(SEQ) - back).clamp(min=0))


def best_loss(task: Task, ids: Int[Tensor, "row seq"], targets: Int[Tensor, "row seq"]) -> float:
    """Mean of -ln(share of the candidate tokens that equal the target): what who knows the task can reach."""
    if task == "previous":
        return 0.0
    candidates = ids.unfold(1, REACH, 1)[:, : SEQ - REACH]  # (row, seq - 4, 4): those before positions 4, 5, ...
    share = (candidates == targets[:, REACH:, None]).float().mean(-1)
    return -float(share.log().mean())


def chance_loss() -> float:
    """The loss of who knows nothing, ln of the vocabulary."""
    return math.log(VOCAB)


def _loss(model: Transformer, ids: Tensor, targets: Tensor) -> Float[Tensor, ""]:
    logits = model(ids).logits[:, REACH:]
    return F.cross_entropy(logits.flatten(0, 1), targets[:, REACH:].flatten())


@torch.no_grad()
def _look(model: Transformer, ids: Tensor, targets: Tensor) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Copies of table (seq, d_model), similarity (seq, seq) and mean pattern (query, key), and the loss."""
    table = model.decoder.pos_embed.weight.detach().clone()
    unit = F.normalize(table, dim=-1)
    name = "blocks.0.attn.pattern"
    pattern = model(ids, capture=(name,)).activations[name].mean((0, 1))
    loss = _loss(model, ids, targets)
    return table.numpy(), (unit @ unit.T).numpy(), pattern.numpy(), loss.numpy()
