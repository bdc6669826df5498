"""A scan of a corpus: which tokens each expert of a mixture prefers, counted once and kept beside the weights."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Integer
from numpy import ndarray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from tfcore.files import CheckpointError
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.measures.one_text import one_text
from tfcore.model import Transformer

FILE = "experts.safetensors"
PADDING = 65_535  # after the end of a shorter excerpt
BEFORE = 15  # tokens of an excerpt before the one with the largest probability
AFTER = 5  # tokens of it after that one
MAKE = "python -m tfcore.training experts"


@dataclass(frozen=True, slots=True)
class ExpertScan:
    """Which tokens go to which experts, over a corpus. The first axis counts the layers that have experts.

    Args:
        ids: tokens seen often enough to say something, the most frequent first.
        seen: how often each was seen.
        sent: how many of these times it went to each expert, in whatever place among its top k.
        load: tokens that went to each expert, rare ones included.
        tokens: read in all.
        excerpts: for each expert pieces of the texts with the tokens it was given the largest probability for, each
            token once; PADDING after a shorter one's end.
        place: where in its excerpt that token is.
        prob: the probability there.
    """

    ids: Integer[ndarray, " token"]
    seen: Integer[ndarray, " token"]
    sent: Integer[ndarray, "layer token expert"]
    load: Integer[ndarray, "layer expert"]
    tokens: int
    excerpts: Integer[ndarray, "layer expert rank seq"]
    place: Integer[ndarray, "layer expert rank"]
    prob: Float[ndarray, "layer expert rank"]

    @property
    def share(self) -> Float[ndarray, "layer token expert"]:
        """Which part of a token's occurrences goes to the expert."""
        return self.sent / self.seen[:, None]

    @property
    def choices(self) -> Float[ndarray, "layer expert"]:
        """Which part of all choices falls on the expert; a layer sums to 1."""
        return self.load / self.load.sum(1, keepdims=True)

    def excerpt(self, layer: int, expert: int, rank: int) -> list[int]:
        """The tokens of an excerpt."""
        row = self.excerpts[layer, expert, rank]
        return row[row != PADDING].tolist()

    def share_of(self, layer: int, token: int) -> Float[ndarray, " expert"] | None:
        """Which part of the occurrences of one token goes to each expert; None for a token seen too rarely."""
        return next(iter(self.share[layer, self.ids == token]), None)


@torch.no_grad()
def scan(model: Transformer, texts: Sequence[Sequence[int]], kept: int, least: int) -> ExpertScan:
    """Count who takes which token of the texts, each read by itself up to the model's context.

    Args:
        model: a decoder with experts.
        kept: excerpts of each expert.
        least: occurrences below which a token is left out.

    Raises:
        ValueError: the model has no experts, or the texts no token.
    """
    config = model.config
    if config.experts is None:
        raise ValueError("this model has no experts to scan; take one with config.experts")
    rows = [np.asarray(ids[: config.max_seq_len]) for ids in texts if len(ids)]
    if not rows:
        raise ValueError("there are no tokens to scan; give at least one")
    layers = config.routed_layers
    n, shape = config.experts.n_experts, (len(layers), config.vocab_size, config.experts.n_experts)
    sent, best = np.zeros(shape, np.int64), np.zeros(shape)
    where = np.zeros((*shape, 2), np.int64)  # the text and the place with the largest probability
    for number, ids in enumerate(rows):
        routed = model(one_text(model, ids.tolist()), capture=("blocks.*.mlp.router.*",)).activations
        for at, layer in enumerate(layers):
            (indices,), (probs,) = (routed[f"blocks.{layer}.mlp.router.{name}"].cpu() for name in ("indices", "probs"))
            chosen = np.zeros((len(ids), n), dtype=bool)
            np.put_along_axis(chosen, indices.numpy(), True, axis=-1)
            np.add.at(sent[at], ids, chosen)
            _remember(best[at], where[at], ids, np.where(chosen, probs.numpy(), 0.0), number)
    seen = np.bincount(np.concatenate(rows), minlength=config.vocab_size)
    often = np.flatnonzero(seen >= least)
    often = often[np.argsort(-seen[often], kind="stable")]
    best[:, seen < least] = 0
    return ExpertScan(
        often, seen[often], sent[:, often], sent.sum(1), int(seen.sum()), *_excerpts(rows, best, where, kept)
    )


def _remember(
    best: Float[ndarray, "vocab expert"],
    where: Int[ndarray, "vocab expert 2"],
    ids: ndarray,
    probs: Float[ndarray, "seq expert"],
    number: int,
) -> None:
    """Note where a text gives a token a larger probability for an expert than all before."""
    for expert in range(probs.shape[1]):
        order = probs[:, expert].argsort(kind="stable")  # of a repeated token the largest comes last, and stays
        order = order[probs[order, expert] > best[ids[order], expert]]
        best[ids[order], expert] = probs[order, expert]
        where[ids[order], expert, 0], where[ids[order], expert, 1] = number, order


def _excerpts(rows: Sequence[ndarray], best: ndarray, where: ndarray, kept: int) -> tuple[ndarray, ndarray, ndarray]:
    """For each expert the tokens it was surest of, with what stands around them."""
    layers, vocab, n = best.shape
    kept = min(kept, vocab)
    excerpts = np.full((layers, n, kept, BEFORE + 1 + AFTER), PADDING, np.int64)
    place, prob = np.zeros((layers, n, kept), np.int64), np.zeros((layers, n, kept), np.float32)
    for layer, expert in np.ndindex(layers, n):
        order = np.argsort(-best[layer, :, expert], kind="stable")[:kept]
        for rank, token in enumerate(order[best[layer, order, expert] > 0]):
            number, at = where[layer, token, expert]
            start = max(0, at - BEFORE)
            piece = rows[number][start : at + AFTER + 1]
            excerpts[layer, expert, rank, : len(piece)] = piece
            place[layer, expert, rank], prob[layer, expert, rank] = at - start, best[layer, token, expert]
    return excerpts, place, prob


@dataclass(frozen=True, slots=True)
class RoutingAccuracy:
    """Which share of the choices of experts is predicted right, by layer, without reading the text.

    Args:
        by_token: predicting for each token the experts that it went to most often.
        by_load: predicting the busiest experts always.
    """

    by_token: Float[ndarray, " layer"]
    by_load: Float[ndarray, " layer"]


def routing_accuracy(scan: ExpertScan) -> RoutingAccuracy:
    """How far a token alone, without the text before it, decides which experts it goes to; of the frequent tokens."""
    top_k = round(scan.load.sum() / (len(scan.load) * scan.tokens))
    total = top_k * scan.seen.sum()
    by_token = np.sort(scan.sent)[..., -top_k:].sum((1, 2)) / total
    by_load = np.sort(scan.sent.sum(1))[:, -top_k:].sum(1) / total
    return RoutingAccuracy(by_token, by_load)


def save_scan(folder: Path, scan: ExpertScan, licence: str) -> None:
    """Write a scan beside a model's weights, in whole numbers as small as they fit.

    Args:
        licence: of the text in the excerpts; kept in the file.
    """
    small = {
        "ids": np.uint16,
        "seen": np.uint32,
        "sent": np.uint16,
        "load": np.uint32,
        "excerpts": np.uint16,
        "place": np.uint8,
        "prob": np.float16,
    }
    arrays: dict[str, Any] = {}
    for name, kind in small.items():
        values = getattr(scan, name)
        if kind is np.uint16 and (values > PADDING).any():
            kind = np.uint32
        arrays[name] = np.ascontiguousarray(values.astype(kind))
    folder.mkdir(parents=True, exist_ok=True)
    save_file(arrays | {"tokens": np.array([scan.tokens], np.uint32)}, folder / FILE, metadata={"licence": licence})


def load_scan(model_name: str) -> ExpertScan:
    """The scan of a shipped model.

    Raises:
        CheckpointError: it has none, or the file is damaged.
    """
    path = PRETRAINED / model_name / FILE
    try:
        arrays = load_file(path)
        wide: dict[str, Any] = {
            key: values.astype(np.float32 if key == "prob" else np.int64) for key, values in arrays.items()
        }
        return ExpertScan(**wide | {"tokens": wide["tokens"].item()})
    except (OSError, SafetensorError, KeyError, ValueError, TypeError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}; `{MAKE}` makes it") from error


@dataclass(frozen=True, slots=True)
class ExpertLoad:
    """Loads of all experts, counted over texts.

    Args:
        tokens: share of the tokens that go to the expert; a layer sums to top_k.
        choices: share of all choices that fall on the expert; a layer sums to 1.
    """

    tokens: Float[ndarray, "layer expert"]

    @property
    def choices(self) -> Float[ndarray, "layer expert"]:
        return self.tokens / self.tokens.sum(1, keepdims=True)


@torch.no_grad()
def load_over_texts(model: Transformer, texts: Iterable[Sequence[int]]) -> ExpertLoad:
    """Count over texts, each at most as long as the model's context, which experts their tokens are sent to.

    Raises:
        ValueError: the model has no experts.
    """
    config = model.config
    if config.experts is None:
        raise ValueError("this model has no experts to count; take one with config.experts")
    names = [f"blocks.{i}.mlp.router.indices" for i in config.routed_layers]
    counts, tokens = torch.zeros(len(names), config.experts.n_experts), 0
    for ids in texts:
        routed = model(one_text(model, ids), capture=names).activations
        for layer, name in enumerate(names):
            counts[layer] += torch.bincount(routed[name].flatten().cpu(), minlength=counts.shape[1])
        tokens += len(ids)
    return ExpertLoad((counts / tokens).numpy())
