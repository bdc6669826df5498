"""The scan of `stories`: for each neuron the held-out texts in which it is most active. Trains nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tfcore.loading.checkpoints import load
from tfcore.measures.neuron_scan import PADDING_ID, cut_documents, save_neuron_scan, scan_neurons
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.training import data
from tfcore.training.loop import Processes, Progress

LICENCE = (
    "The windows are excerpts of TinyStories, validation split (Eldan and Li, arXiv:2305.07759), "
    "CDLA-Sharing-1.0, https://cdla.dev/sharing-1-0/"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NeuronsRecipe:
    """How to scan.

    Args:
        model: the shipped model.
        length, stride: tokens of a window, and from one window to the next.
        kept: windows a neuron keeps on each side.
        every: only every so many-th story is read, so that what ships stays a collection of excerpts.
    """

    model: str = "stories"
    length: int = 48
    stride: int = 40
    kept: int = 5
    every: int = 2


NEURONS = NeuronsRecipe()


def with_tokenizer(name: str) -> tuple[Transformer, Tokenizer]:
    """A shipped model that reads texts, on the CPU.

    Raises:
        CheckpointError: when it is not there.
        ValueError: it has no tokenizer.
    """
    model, tokenizer = load(name, device="cpu")
    if tokenizer is None:
        raise ValueError(f"{name} has no tokenizer, so no text can be read")
    return model, tokenizer


def neurons(
    corpus: Path,
    out: Path,
    report: Callable[[Progress], None],  # noqa: ARG001 - there are no steps to report
    recipe: NeuronsRecipe = NEURONS,
) -> dict[str, float]:
    """Scan the held-out stories and write the result to `out`; returns how much there was.

    Raises:
        CorpusError: when a text below `corpus` is missing.
    """
    if Processes.join().rank > 0:  # one process does it
        return {}
    model, tokenizer = with_tokenizer(recipe.model)
    stories = data.held_out(corpus)[:: recipe.every]
    windows = cut_documents([tokenizer.encode(story) for story in stories], recipe.length, recipe.stride)
    scan = scan_neurons(model, windows, recipe.kept)
    save_neuron_scan(out, scan, LICENCE)
    layers, per_layer = scan.value.shape[:2]
    return {
        "neurons": layers * per_layer,
        "windows read": len(windows),
        "windows kept": len(scan.windows),
        "tokens read": int(np.count_nonzero(windows != PADDING_ID)),
    }
