"""Many edited runs of one text, which share what no edit changes: the layers below it and the tokens before it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.inspection.capture import ActivationRecorder, known_names
from tfcore.inspection.edits import Edit
from tfcore.kv_cache import KVCache
from tfcore.measures.one_text import one_text
from tfcore.model import NO_LOGITS, Transformer

BATCH = 32  # sets of edits that share a pass
TOGETHER = 2  # neighbouring positions that share a pass, and the tokens before the first of them


def rows_compete(config: ModelConfig) -> bool:
    """Whether the tokens of a batch compete for experts of a limited capacity, so that each run must be on its own."""
    experts = config.experts
    return experts is not None and (experts.capacity_factor is not None or experts.routing == "experts")


def rows_at_once(config: ModelConfig, most: int) -> int:
    """Runs that may share a pass: `most`, but at least one; one alone where tokens compete."""
    return 1 if rows_compete(config) else max(1, most)


@dataclass(frozen=True, slots=True)
class PlainRun:
    """The run of a text without edits.

    Args:
        ids: of the text.
        streams: the residual stream before each block, of an encoder-decoder those of the encoder first.
        hidden: the last hidden states.
        others: of an encoder-decoder, for each block what the other stack gives, see Transformer.resume.
    """

    ids: tuple[int, ...]
    streams: tuple[Float[Tensor, "1 seq d_model"], ...]
    hidden: Float[Tensor, "1 seq d_model"]
    others: tuple[Float[Tensor, "1 seq d_model"], ...] = ()

    def other(self, layer: int) -> Float[Tensor, "1 seq d_model"] | None:
        """What the other stack gives a run from a block on; None in a model of one stack."""
        return self.others[layer] if self.others else None


@torch.no_grad()
def plain_run(model: Transformer, ids: Sequence[int]) -> PlainRun:
    """Run a text once, and keep the stream before each block."""
    config = model.config
    names = [name for name in known_names(config) if name.endswith("resid_pre")]
    output = model(one_text(model, ids), capture=names, logits_to_keep=NO_LOGITS)
    streams = tuple(output.activations[name] for name in names)
    if config.architecture != "encoder-decoder":
        return PlainRun(tuple(ids), streams, output.hidden)
    below = config.encoder_layers
    memory = model.encoder(streams[below - 1], ActivationRecorder(), first=below - 1)
    others = (*(streams[below],) * below, *(memory,) * config.decoder_layers)
    return PlainRun(tuple(ids), streams, output.hidden, others)


def weights_of_blocks(model: Transformer) -> int:
    """How many weights the blocks of all stacks have."""
    return sum(weights.numel() for stack in model.stacks for weights in stack.blocks.parameters())


@torch.no_grad()
def run_above(
    model: Transformer, run: PlainRun, layer: int, sets: Sequence[Sequence[Edit]]
) -> Iterator[Float[Tensor, "row seq d_model"]]:
    """The last hidden states under each set of edits, none of which changes anything below `layer`.

    BATCH sets share a pass, each in a row of its own, and none runs the layers below.
    """
    step = rows_at_once(model.config, BATCH)
    for start in range(0, len(sets), step):
        part = sets[start : start + step]
        stream = run.streams[layer].expand(len(part), -1, -1)
        yield model.resume(stream, layer, edits=in_rows(part), other=run.other(layer))


@torch.no_grad()
def run_joined(
    model: Transformer, starts: Sequence[tuple[int, Float[Tensor, "_ seq d_model"]]], cache: KVCache | None = None
) -> Float[Tensor, "row seq d_model"]:
    """The last hidden states of runs that begin at different layers: each layer runs once, for all that have begun.

    A pass over few tokens takes as long as its weights take to be read; so they are read once for all of these runs.

    Args:
        starts: (layer, residual stream before it of some rows), the lowest layer first; n_layers is after the last.
        cache: of the tokens before, with at least as many rows as there are runs.
    """
    n_layers = model.config.n_layers
    (_, first), *_ = starts
    stream = first[:0]
    for (layer, rows), following in zip(starts, [*(layer for layer, _ in starts[1:]), n_layers], strict=True):
        stream = torch.cat((stream, rows))
        if following > layer:
            part = None if cache is None else cache.first(len(stream))
            stream = model.resume(stream, layer, cache=part, until=following)
    return model.resume(stream, n_layers)


@torch.no_grad()
def runs_by_layer(
    model: Transformer, run: PlainRun, sets: Sequence[Sequence[Sequence[Edit]]]
) -> Iterator[tuple[int, Float[Tensor, "row seq d_model"]]]:
    """The last hidden states under each set of edits, layer by layer; `sets` are those of each layer, equally many.

    Neighbouring layers, up to BATCH sets in all, share the layers above them.
    """
    one, *_ = sets
    of_layer = len(one)
    step = rows_at_once(model.config, BATCH // of_layer)
    for first in range(0, len(sets), step):
        part = range(first, min(first + step, len(sets)))
        if step == 1:
            yield first, torch.cat(list(run_above(model, run, first, sets[first])))
            continue
        starts = []
        for layer in part:
            rows = run.streams[layer].expand(len(sets[layer]), -1, -1)
            starts.append((layer + 1, model.resume(rows, layer, edits=in_rows(sets[layer]), until=layer + 1)))
        hidden = run_joined(model, starts)
        yield from zip(part, hidden.split(of_layer), strict=True)


def in_rows(sets: Sequence[Sequence[Edit]]) -> list[Edit]:
    """The edits of several runs as those of one batch: each set in its own row."""
    return [replace(edit, rows=[row]) for row, chosen in enumerate(sets) for edit in chosen]


@torch.no_grad()
def prefix_cache(model: Transformer, ids: Sequence[int], tokens: int, rows: int) -> KVCache:
    """Keys and values of the first `tokens` of a text, once for each of `rows` runs, with room for the others.

    For `Transformer.resume`: runs that change nothing before a position share what those tokens give.
    """
    n, device = len(ids), model.device
    cache = KVCache(model.config, capacity=n, rollback=n, device=device, dtype=model.dtype)  # no ring: see resume
    if tokens:
        model(one_text(model, ids[:tokens]), cache=cache, logits_to_keep=NO_LOGITS)
    cache.select(torch.zeros(rows, dtype=torch.int64, device=device))
    return cache
