"""An atlas of any model on any text, while it is made: what there is of it can be kept whenever it is stopped."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tfcore.measures.atlas.ablation import ablate_heads, sampled
from tfcore.measures.atlas.atlas import Atlas, atlas_of
from tfcore.measures.atlas.ranks import head_ranks
from tfcore.measures.atlas.sums import ExamplePlaces, HeadSums
from tfcore.measures.one_text import ends
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

WINDOW = 128  # tokens read at once
ROWS = 4  # windows that share a pass
PLACES = 400  # for examples
SHOWN = 8  # times that the atlas is given on the way
LEAST = 4  # tokens of a text from which on there is something to measure


@dataclass(frozen=True, slots=True, eq=False)
class AtlasProgress:
    """How far an atlas is.

    Args:
        done, total: tokens that were read; then tokens on which heads were ablated.
        ablates: the heads are being ablated.
        atlas: of what was read until now; None on steps that have none.
    """

    done: int
    total: int
    ablates: bool
    atlas: Atlas | None


def growing_atlas(
    model: Transformer, tokenizer: Tokenizer, text: str, *, name: str = "", most: int = 20_000, ablated: int = 0
) -> Iterator[AtlasProgress]:
    """Measure every head of a model of one stack on a text; SHOWN of the steps, and the last, have the atlas so far.
    Who takes no more steps stops it, and keeps the last atlas.

    Args:
        name: of the model, for the atlas.
        most: tokens read at most, the first ones.
        ablated: windows on which each head is ablated afterwards, one after another.

    Raises:
        ValueError: an encoder-decoder, or a text of fewer than LEAST tokens.
    """
    windows = windows_of(model, tokenizer, text, most)
    sums = HeadSums(model.config, max(map(len, windows)), ExamplePlaces.drawn(windows, PLACES))
    ranks, total = head_ranks(model), sum(map(len, windows))
    shown_at = set(np.linspace(0, len(windows), SHOWN + 1).round().astype(int)[1:].tolist())

    def so_far() -> Atlas:
        read = windows[: sums.windows]
        architecture, sources = model.config.architecture, {"text": sum(map(len, read))}
        return atlas_of(sums, read, model=name, architecture=architecture, sources=sources, ranks=ranks)

    while sums.windows < len(windows):
        before = sums.windows
        rows = windows[before : before + ROWS]
        sums.add(model, tokenizer, [ids for ids in rows if len(ids) == len(rows[0])])  # the last is shorter
        is_shown = any(before < at <= sums.windows for at in shown_at)
        yield AtlasProgress(sum(map(len, windows[: sums.windows])), total, False, so_far() if is_shown else None)
    whole = so_far()
    changes: list[np.ndarray] = []
    full = [ids for ids in windows if len(ids) == len(windows[0])]
    chosen = [full[i] for i in sampled(full, ablated)]
    for ids in chosen:
        changes.append(ablate_heads(model, ids, whole.means))
        made = whole.with_effects(np.stack(changes, axis=-1), chosen)
        yield AtlasProgress(len(changes) * len(ids), len(chosen) * len(ids), True, made)


def windows_of(model: Transformer, tokenizer: Tokenizer, text: str, most: int) -> Sequence[list[int]]:
    """The first `most` tokens of a text in windows of at most WINDOW tokens and the model's context.

    Raises:
        ValueError: as growing_atlas.
    """
    if model.config.architecture == "encoder-decoder":
        raise ValueError("an encoder-decoder has three kinds of attention; an atlas is of a model of one stack")
    length = min(WINDOW, model.config.max_seq_len)
    before, behind = ends(tokenizer)
    room, ids = length - len(before) - len(behind), tokenizer.encode(text)
    inside = ids[len(before) : len(ids) - len(behind)][:most]
    windows = [[*before, *inside[first : first + room], *behind] for first in range(0, len(inside), room)]
    kept = [window for window in windows if len(window) >= LEAST]
    if not kept:
        raise ValueError(f"the text has {len(ids)} tokens; an atlas needs at least {LEAST}")
    return kept
