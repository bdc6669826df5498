"""A run of the lab, so far: its curves, and what the model does with held-out rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.kv_cache import KVCache
from tfcore.model import Transformer

CHECKED = ("train_loss", "train_accuracy", "held_loss", "held_accuracy")
STEPPED = ("loss", "norm", "lr")


@dataclass(frozen=True, slots=True)
class Curves:
    """A training in numbers.

    Args:
        step: of every optimiser step, counted from 1.
        loss: what was minimised on its batch, nats, label smoothing and dropout included.
        norm: of the gradient, before it is clipped.
        lr: learning rate.
        at: after which steps the model was checked; 0 is before the first.
        train_loss, train_accuracy: on rows it has just trained on, plain, without dropout.
        held_loss, held_accuracy: on rows it never trains on.
    """

    step: Int[ndarray, " step"]
    loss: Float[ndarray, " step"]
    norm: Float[ndarray, " step"]
    lr: Float[ndarray, " step"]
    at: Int[ndarray, " check"]
    train_loss: Float[ndarray, " check"]
    train_accuracy: Float[ndarray, " check"]
    held_loss: Float[ndarray, " check"]
    held_accuracy: Float[ndarray, " check"]

    @classmethod
    def of(cls, steps: Sequence[tuple[float | int, ...]], checks: Sequence[tuple[float | int, ...]]) -> "Curves":
        """Curves from rows of (step, loss, norm, lr), and of (step, the four measures of a check)."""
        step, loss, norm, lr = np.array(steps, dtype=np.float32).reshape(len(steps), 4).T
        at, *measures = np.array(checks, dtype=np.float32).reshape(len(checks), 5).T
        train_loss, train_accuracy, held_loss, held_accuracy = measures
        return cls(
            step.astype(np.int32),
            loss,
            norm,
            lr,
            at.astype(np.int32),
            train_loss,
            train_accuracy,
            held_loss,
            held_accuracy,
        )

    def then(self, more: "Curves") -> "Curves":
        """These curves followed by later ones."""
        names = ("step", *STEPPED, "at", *CHECKED)
        return Curves(*(np.concatenate((getattr(self, name), getattr(more, name))) for name in names))

    @property
    def nbytes(self) -> int:
        """Memory of the numbers."""
        return sum(getattr(self, name).nbytes for name in ("step", *STEPPED, "at", *CHECKED))


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A model at one moment of its training.

    Args:
        step: optimiser steps done.
        ids: the first of the rows it is asked about.
        start: how many tokens of that row are given; the model predicts the rest.
        patterns: the attention of every head on that row.
        forced: prediction at each place under teacher forcing: all tokens before it are the right ones.
        sure: the probability it gives to the right token there.
        free: what it generates free-running: it reads its own output.
        by_place_forced, by_place_free: share of right tokens by place of the answer, over all rows.
    """

    step: int
    ids: Int[ndarray, " seq"]
    start: int
    patterns: Float[ndarray, "layer head query key"]
    forced: Int[ndarray, " answer"]
    sure: Float[ndarray, " answer"]
    free: Int[ndarray, " answer"]
    by_place_forced: Float[ndarray, " answer"]
    by_place_free: Float[ndarray, " answer"]

    @property
    def wanted(self) -> Int[ndarray, " answer"]:
        """The right answer."""
        return self.ids[self.start :]

    @property
    def nbytes(self) -> int:
        """Memory, nearly all of it maps."""
        return self.patterns.nbytes


@torch.no_grad()
def look(model: Transformer, step: int, ids: Int[Tensor, "row seq"], start: int) -> Evaluation:
    """The answers of a model to some rows, under teacher forcing and free-running, and its attention on the first.

    Not-a-number, of a model whose training diverged, becomes 0.

    Args:
        ids: whole rows; from each the first `start` tokens are given.
    """
    ids = ids.to(model.device)
    wanted, asked = ids[:, start:], ids[:, :-1]
    output = model(asked[:1], capture="blocks.*.attn.pattern")
    patterns = [output.activations[f"blocks.{layer}.attn.pattern"] for layer in range(model.config.n_layers)]
    probabilities = model(asked).logits[:, start - 1 :].softmax(-1)
    forced, free = probabilities.argmax(-1), free_running(model, ids[:, :start], wanted.shape[1])
    return Evaluation(
        step,
        ids[0].cpu().numpy(),
        start,
        torch.cat(patterns).nan_to_num().cpu().numpy(),
        forced[0].cpu().numpy(),
        probabilities[0].gather(1, wanted[0, :, None]).flatten().nan_to_num().cpu().numpy(),
        free[0].cpu().numpy(),
        by_place(forced == wanted),
        by_place(free == wanted),
    )


def by_place(right: Bool[Tensor, "row answer"]) -> Float[ndarray, " answer"]:
    """The share of rows that are right, for each place of the answer."""
    shares: ndarray = right.float().mean(0).cpu().numpy()
    return shares


@torch.no_grad()
def free_running(model: Transformer, ids: Int[Tensor, "row given"], count: int) -> Int[Tensor, "row answer"]:
    """Greedy generation of `count` tokens, for all rows at once, with a KV cache."""
    cache = KVCache(model.config, len(ids), capacity=ids.shape[1] + count - 1, device=model.device, dtype=model.dtype)
    written = []
    for _ in range(count):
        ids = model(ids, cache=cache).logits[:, -1:].argmax(-1)
        written.append(ids)
    return torch.cat(written, dim=1)
