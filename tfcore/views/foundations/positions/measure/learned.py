"""Learned position vectors: while a one-layer Transformer is trained on the spot, and those of a trained model."""

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
from tfcore.measures.statistics import colour_end, principal_components
from tfcore.model import Transformer
from tfcore.part_configs import AttentionConfig, FeedForwardConfig, PositionsConfig

Task = Literal["nearby", "previous"]
REACH = 4  # "nearby" asks for one of this many tokens before
SEQ = 32  # tokens of a sequence
VOCAB = 16
ROWS = 16  # sequences of a training step
LR = 6e-3  # at the first step; it falls to 0
STEPS = 200
EVERY = 10  # steps between two looks
TABLE_ROWS = 16  # of random tokens, over which the attention of a trained model is averaged
DIMENSIONS = 128  # of a table that are shown
COMPONENTS = 3  # principal components of a table that are kept


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
        attention=AttentionConfig(n_heads=1),
        feed_forward=FeedForwardConfig(d_ff=0),
        max_seq_len=SEQ,
        positions=PositionsConfig(kind="learned"),
        tie_embeddings=False,
    )
    model, generator = Transformer(config, seed), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
    (group,) = optimizer.param_groups
    ids, targets = draw_batch(task, 64, generator)
    looks = []
    for step in range(STEPS + 1):
        if step % EVERY == 0:
            looks.append(_look(model, ids, targets))
        group["lr"] = LR * (1 - step / (STEPS + 1))
        optimizer.zero_grad()
        _loss(model, *draw_batch(task, ROWS, generator)).backward()
        optimizer.step()
    tables, similarity, patterns, losses = (np.stack(part) for part in zip(*looks, strict=True))
    steps = EVERY * np.arange(len(looks))
    return LearnedPositions(steps, tables, similarity, patterns, losses, best_loss(task, ids, targets))


def draw_batch(
    task: Task, rows: int, generator: torch.Generator
) -> tuple[Int[Tensor, "row seq"], Int[Tensor, "row seq"]]:
    """Random tokens and, at each position from 4 on, the token to say: one of those just before."""
    ids = torch.randint(VOCAB, (rows, SEQ), generator=generator)
    reach = REACH if task == "nearby" else 1
    back = torch.randint(1, reach + 1, (rows, SEQ), generator=generator)
    return ids, ids.gather(1, (torch.arange(SEQ) - back).clamp(min=0))


def best_loss(task: Task, ids: Int[Tensor, "row seq"], targets: Int[Tensor, "row seq"]) -> float:
    """Mean of -ln(share of the candidate tokens that equal the target): the lowest loss on these texts, in nats."""
    if task == "previous":
        return 0.0
    candidates = ids.unfold(1, REACH, 1)[:, : SEQ - REACH]  # (row, seq - 4, 4): those before positions 4, 5, ...
    share = (candidates == targets[:, REACH:, None]).float().mean(-1)
    return -float(share.log().mean())


def uniform_loss() -> float:
    """The loss of a uniform guess, ln of the vocabulary, in nats."""
    return math.log(VOCAB)


def _loss(model: Transformer, ids: Tensor, targets: Tensor) -> Float[Tensor, ""]:
    logits = model(ids).logits[:, REACH:]
    return F.cross_entropy(logits.flatten(0, 1), targets[:, REACH:].flatten())


@torch.no_grad()
def _look(model: Transformer, ids: Tensor, targets: Tensor) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Copies of table (seq, d_model), similarity (seq, seq) and mean pattern (query, key), and the loss."""
    table = model.decoder.pos_embed.weight.detach().clone()
    unit = F.normalize(table, dim=1)
    name = "blocks.0.attn.pattern"
    pattern = model(ids, capture=(name,)).activations[name].mean((0, 1))
    loss = _loss(model, ids, targets)
    return table.numpy(), (unit @ unit.T).numpy(), pattern.numpy(), loss.numpy()


@dataclass(frozen=True, slots=True)
class PositionTable:
    """The first n position vectors of a model, and all of them on their principal components.

    Args:
        table: the first n vectors.
        similarity: cosine between any two of these.
        patterns: attention of each head of the first layer, averaged over rows of random tokens: what is common to
            them is where a token stands.
        waves: all positions on the directions in which their vectors vary most.
        explained: the share of the variance along each of these.
    """

    table: Float[ndarray, "n d_model"]
    similarity: Float[ndarray, "n n"]
    patterns: Float[ndarray, "head n n"]
    waves: Float[ndarray, "position 3"]
    explained: Float[ndarray, " 3"]

    @property
    def shown(self) -> Float[ndarray, "n dimension"]:
        """The vectors that a picture shows, up to their first dimensions."""
        return self.table[:, :DIMENSIONS]

    @property
    def scale(self) -> float:
        """The value, of either sign, at which the colours of that picture end."""
        return colour_end(self.shown)

    def back(self, head: int) -> Float[ndarray, " distance"]:
        """Mean weight that a head gives to the token this far back, 0 being itself."""
        return np.array([np.diagonal(self.patterns[head], -k).mean() for k in range(len(self.table))])


@torch.no_grad()
def position_table(model: Transformer, n: int, seed: int = 0) -> PositionTable:
    """Read a model's position table.

    Args:
        model: one stack, positions="learned".
        n: how many positions, at most max_seq_len.
        seed: of the random tokens.

    Raises:
        ValueError: when the model has no such table.
    """
    if not model.config.positions.learned:
        raise ValueError(
            f"positions={model.config.positions.kind!r} has no table; take a model with positions='learned'"
        )
    whole = model.stack.pos_embed.weight.detach().float().cpu()
    table = whole[:n]
    unit = F.normalize(table, dim=1)
    ids = torch.randint(
        0, model.config.vocab_size, (TABLE_ROWS, len(table)), generator=torch.Generator().manual_seed(seed)
    ).to(model.device)
    # Row by row: the scores of a large vocabulary for all of them at once would take hundreds of megabytes.
    patterns = torch.stack([_first_pattern(model, row[None]) for row in ids]).mean(0)
    waves, explained = principal_components(whole, COMPONENTS)
    return PositionTable(
        table.numpy(), (unit @ unit.T).numpy(), patterns.numpy(), waves.numpy(), explained[:COMPONENTS].numpy()
    )


def _first_pattern(model: Transformer, ids: Tensor) -> Float[Tensor, "head n n"]:
    """Attention of the first layer on one row."""
    name = "blocks.0.attn.pattern"
    (pattern,) = model.activations(ids, name)[name].float().cpu()
    return pattern
