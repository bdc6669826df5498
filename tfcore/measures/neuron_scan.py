"""For each neuron of the feed-forward layers, the texts of a corpus in which its activation is largest: one scan."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Integer
from numpy import ndarray
from torch import Tensor

from tfcore.loading.checkpoints import PRETRAINED
from tfcore.measures.one_text import one_text
from tfcore.measures.stored_arrays import load_arrays, save_arrays
from tfcore.model import Transformer

SCAN_FILE = "neurons.safetensors"
PADDING_ID = 65_535  # after the end of a shorter window; no id, as long as a vocabulary is smaller than that
SETTLED = 8  # first tokens of a window, not counted: with so few before them, activations are of another kind
POSTS = ("blocks.*.mlp.post",)


@dataclass(frozen=True, slots=True)
class NeuronScan:
    """For each neuron the windows of a corpus with its largest and its smallest activations, one place a window.

    Args:
        windows: token ids of the windows that are named below, each read by itself; PADDING_ID after the end of a
            shorter one.
        window: which of them; side 0 holds the largest activations, the largest first, side 1 the smallest.
        position: the place in the window.
        value: the activation there.
    """

    windows: Integer[ndarray, "window seq"]
    window: Integer[ndarray, "layer neuron side rank"]
    position: Integer[ndarray, "layer neuron side rank"]
    value: Float[ndarray, "layer neuron side rank"]

    def ids(self, window: int) -> list[int]:
        """The tokens of a window."""
        row = self.windows[window]
        return row[row != PADDING_ID].tolist()

    def record(self, layer: int, neuron: int, side: int) -> float:
        """The largest activation of a neuron on one side, with its sign; 1 where that is 0, to divide by it."""
        return float(self.value[layer, neuron, side, 0]) or 1.0


def cut_documents(documents: Sequence[Sequence[int]], length: int, stride: int) -> Integer[ndarray, "window length"]:
    """Documents as windows of `length` ids that begin every `stride` of them; the last of a document is shorter."""
    rows = []
    for ids in documents:
        for start in range(0, max(1, len(ids) - SETTLED), stride):
            row = np.full(length, PADDING_ID, dtype=np.uint16)
            part = ids[start : start + length]
            row[: len(part)] = part
            rows.append(row)
    return np.stack(rows)


@torch.no_grad()
def scan_neurons(
    model: Transformer, windows: Integer[ndarray, "window length"], kept: int, rows: int = 64
) -> NeuronScan:
    """Run a model over all windows and keep for each neuron where it was most active, either way.

    Args:
        model: a decoder with plain feed-forward layers.
        kept: how many windows of each side.
        rows: windows at a time.
    """
    best: tuple[Tensor, Tensor, Tensor] | None = None
    for first in range(0, len(windows), rows):
        part = windows[first : first + rows].astype(np.int64)
        real = torch.tensor(part != PADDING_ID).to(model.device)
        ids = torch.tensor(np.where(part == PADDING_ID, 0, part)).to(model.device)
        posts = neuron_activations(model, ids)  # (layer, row, seq, neuron)
        real[:, :SETTLED] = False
        signed = torch.stack((posts, -posts), dim=-1).masked_fill(~real[None, :, :, None, None], -torch.inf)
        value, position = signed.max(dim=2)  # (layer, row, neuron, side)
        which = torch.arange(first, first + len(part), device=value.device)[None, :, None, None].expand_as(position)
        new = (value.movedim(1, -1), which.movedim(1, -1), position.movedim(1, -1))  # (layer, neuron, side, row)
        both = new if best is None else tuple(torch.cat(two, -1) for two in zip(best, new, strict=True))
        best = _largest(both, kept)
    if best is None:
        raise ValueError("there are no windows to scan; give at least one")
    return _compact(windows, *(part.cpu() for part in best))


def _largest(candidates: tuple[Tensor, ...], kept: int) -> tuple[Tensor, Tensor, Tensor]:
    value, which, position = candidates
    *_, rows = value.shape
    value, at = value.topk(min(kept, rows))
    return value, which.gather(-1, at), position.gather(-1, at)


def _compact(windows: ndarray, value: Tensor, which: Tensor, position: Tensor) -> NeuronScan:
    """The scan with the windows that occur in it alone, and the sign of side 1 restored."""
    named, index = np.unique(which.numpy(), return_inverse=True)
    signed = value * torch.tensor([1.0, -1.0])[:, None]
    return NeuronScan(
        windows[named],
        index.reshape(which.shape).astype(np.uint16),
        position.numpy().astype(np.uint8),
        signed.numpy().astype(np.float32),
    )


@torch.no_grad()
def neuron_activations(model: Transformer, ids: Integer[Tensor, "row seq"]) -> Float[Tensor, "layer row seq neuron"]:
    """The activation of every neuron at every token: act(gate x) * up x, by which its value vector is multiplied."""
    posts = model(ids, capture=POSTS).activations
    return torch.stack([posts[f"blocks.{i}.mlp.post"] for i in range(model.config.n_layers)])


HALF = ("value",)


def save_neuron_scan(folder: Path, scan: NeuronScan, licence: str) -> None:
    """Write a scan beside a model's weights.

    Args:
        licence: of the text in the windows; kept in the file.
    """
    save_arrays(folder / SCAN_FILE, scan, HALF, licence)


@lru_cache(maxsize=2)
def load_neuron_scan(name: str) -> NeuronScan:
    """The scan of a shipped model, read once.

    Raises:
        CheckpointError: it has none, or the file is damaged.
    """
    return load_arrays(NeuronScan, PRETRAINED / name / SCAN_FILE, HALF, "neurons")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A text in which a neuron has one of its largest activations.

    Args:
        ids: its tokens.
        peak: where the neuron is most active.
        values: the neuron's activation at every token, computed now.
        stored: the activation at the peak as the scan found it.
    """

    ids: tuple[int, ...]
    peak: int
    values: Float[ndarray, " seq"]
    stored: float

    @property
    def largest(self) -> str:
        """The activation at the peak, in words."""
        return activation_words(self.values)[self.peak]


def snippets(model: Transformer, scan: NeuronScan, layer: int, neuron: int, side: int) -> list[Snippet]:
    """The texts the scan kept for a neuron, the strongest first, each read again by the model."""
    rows = [scan.ids(int(window)) for window in scan.window[layer, neuron, side]]
    longest = max(len(ids) for ids in rows)
    # What is appended to shorter ones comes after all that counts, and a decoder does not look ahead.
    batch = torch.cat([one_text(model, [*ids, *[0] * (longest - len(ids))]) for ids in rows])
    values = neuron_activations(model, batch)[layer, :, :, neuron].float().cpu().numpy()  # (row, seq)
    place = scan.position[layer, neuron, side], scan.value[layer, neuron, side]
    return [
        Snippet(tuple(ids), int(peak), own[: len(ids)], float(stored))
        for ids, own, peak, stored in zip(rows, values, *place, strict=True)
    ]


def activation_words(values: Float[ndarray, " seq"]) -> list[str]:
    """The activation of each token in words, as in "activation 2.31"."""
    return [f"activation {value:.2f}" for value in values]
