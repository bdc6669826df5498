"""A pass over texts: sums over all tokens from which the means of every head follow, window by window.

No map outlives its layer: each is read while the model computes it, and all that stays is sums.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.inspection.edits import Edit
from tfcore.measures.atlas.token_kinds import KINDS, token_kinds
from tfcore.measures.heads.kinds import LEAST, targets
from tfcore.measures.heads.sink import sink_tokens
from tfcore.measures.highlights.words import partners, words_of
from tfcore.measures.one_text import ends
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

TARGETS = ("same", "after_same", "bracket")  # sets of keys that only some queries have
OF_HEADS = (*TARGETS, "first", "self", "previous", "next", "entropy", "sinking", "activity")
OF_DISTANCES = ("before", "after", "usual_before", "usual_after")


def cut_windows(tokenizer: Tokenizer, texts: Iterable[str], length: int, most: int) -> list[list[int]]:
    """The first `most` windows of `length` tokens that texts give; what the tokenizer puts before and behind every text
    stands around each window, and an end that fills none is left out.

    Args:
        texts: those with fewer tokens than a window are joined by line breaks.
    """
    before, behind = ends(tokenizer)
    room = length - len(before) - len(behind)
    windows: list[list[int]] = []
    left: list[int] = []
    for text in texts:
        ids = tokenizer.encode(f"\n{text}" if left else text)
        left += ids[len(before) : len(ids) - len(behind)]
        while len(left) >= room and len(windows) < most:
            windows.append([*before, *left[:room], *behind])
            left = left[room:]
        if len(ids) >= length:
            left = []
        if len(windows) == most:
            break
    return windows


@dataclass(frozen=True, slots=True, eq=False)
class ExamplePlaces:
    """Places drawn at random, the same for all heads, at which what each head does is kept for examples.

    Args:
        window, position: of each, in the order of the windows.
    """

    window: Int[ndarray, " place"]
    position: Int[ndarray, " place"]

    @classmethod
    def drawn(cls, windows: Sequence[Sequence[int]], count: int, seed: int = 0) -> "ExamplePlaces":
        """At most `count` places of windows, without the first token of a window and the last."""
        every = [(i, j) for i, ids in enumerate(windows) for j in range(1, len(ids) - 1)]
        chosen = np.random.default_rng(seed).permutation(len(every))[:count]
        rows = np.array([every[i] for i in np.sort(chosen)], dtype=np.int64).reshape(-1, 2)
        return cls(rows[:, 0], rows[:, 1])

    def first(self, windows: int) -> "ExamplePlaces":
        """Those in the first so many windows."""
        count = int(np.searchsorted(self.window, windows))
        return ExamplePlaces(self.window[:count], self.position[:count])


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """What is the same for all heads in some windows of one length.

    Args:
        counted: tokens that count as queries and as keys: all but sinks.
        kinds: of those that count; 0 elsewhere.
        targets: the keys of TARGETS, one after another.
        at: (row, position) of places in these windows, and the slice of all places that they are.
    """

    counted: Float[Tensor, "row seq"]
    kinds: Float[Tensor, "row seq kind"]
    targets: Float[Tensor, "row pair target"]
    at: tuple[Tensor, Tensor, slice]


class HeadSums:
    """Sums over the tokens of windows, from which an atlas is made.

    Args:
        config: of the model.
        length: of the longest window.
        places: at which examples are kept.

    `totals` has them by name. (layer, head): weights by OF_HEADS, over the queries that have such keys; by distance:
    weights before and after the query, as they are and as shares of what is not on sinks (usual_*); "pairs":
    (layer, head, kind, kind); "z": (layer, head, d_value). Of the texts: "queries" that count, "counts" of each kind,
    "with": queries with a target, "met": pairs of kinds at each distance, the query's first and its key before it.
    """

    def __init__(self, config: ModelConfig, length: int, places: ExamplePlaces) -> None:
        shape, k = (config.n_layers, config.attention.n_heads), len(KINDS)
        self.length, self.places, self.windows = length, places, 0
        at_places = (len(places.window), *shape)
        sizes: dict[str, tuple[int, ...]] = {
            **dict.fromkeys(OF_HEADS, shape),
            **dict.fromkeys(OF_DISTANCES, (*shape, length)),
            "pairs": (*shape, k, k),
            "z": (*shape, config.value_size),
            "queries": (1,),
            "counts": (k,),
            "with": (len(TARGETS),),
            "brackets": (length,),
            "met": (k, k, length),
            "place_activity": at_places,
            "place_weight": at_places,
            "place_key": at_places,
        }
        self.totals = {name: np.zeros(size) for name, size in sizes.items()}

    @torch.no_grad()
    def add(self, model: Transformer, tokenizer: Tokenizer, windows: Sequence[Sequence[int]]) -> None:
        """Read some more windows, all of one length, in one pass.

        Raises:
            ValueError: windows of several lengths, or longer than `length`.
        """
        lengths = {len(ids) for ids in windows}
        if len(lengths) != 1 or max(lengths) > self.length:
            raise ValueError(f"windows of one length, at most {self.length}, share a pass; got {sorted(lengths)}")
        rows = self._rows(model, tokenizer, windows)
        look = {"pattern": self._add_pattern, "z": self._add_z}
        edits = [
            Edit(f"blocks.{layer}.attn.{name}", partial(one, layer=layer, rows=rows))
            for layer in range(model.config.n_layers)
            for name, one in look.items()
        ]
        last = f"blocks.{model.config.n_layers - 1}.attn.z"  # all blocks up to it are run, and no more
        model.activations(torch.tensor(windows, device=model.device), [last], edits=edits)
        self.windows += len(windows)

    def _rows(self, model: Transformer, tokenizer: Tokenizer, windows: Sequence[Sequence[int]]) -> _Rows:
        is_encoder = model.config.architecture == "encoder"
        counted = ~np.stack([sink_tokens(tokenizer, ids, around=is_encoder) for ids in windows])
        kinds = np.stack([token_kinds(tokenizer, ids) for ids in windows]) & counted[..., None]
        keys = np.stack([_targets(tokenizer, ids, is_encoder) for ids in windows])  # (row, target, query, key)
        keys &= counted[:, None, :, None]
        keys[:, TARGETS.index("bracket")] &= counted[:, None]
        self._count(counted, kinds.astype(np.float32), keys)
        held = slice(*np.searchsorted(self.places.window, (self.windows, self.windows + len(windows))))
        at = torch.tensor(self.places.window[held] - self.windows), torch.tensor(self.places.position[held])
        as_model = [torch.tensor(one).to(model.device, model.dtype) for one in (counted, kinds, keys)]
        return _Rows(as_model[0], as_model[1], as_model[2].flatten(2).mT, (*at, held))

    def _count(self, counted: ndarray, kinds: ndarray, keys: ndarray) -> None:
        """Add what the texts alone say."""
        totals, n = self.totals, counted.shape[1]
        totals["queries"] += counted.sum()
        totals["counts"] += kinds.sum((0, 1))
        totals["with"] += keys.any(-1).sum((0, 2))
        _, query, key = np.nonzero(keys[:, TARGETS.index("bracket")])
        np.add.at(totals["brackets"], np.abs(query - key), 1)
        for distance in range(n):
            first, second = (part.reshape(-1, len(KINDS)) for part in (kinds[:, distance:], kinds[:, : n - distance]))
            totals["met"][:, :, distance] += first.T @ second

    def _add_pattern(self, pattern: Float[Tensor, "row head query key"], layer: int, rows: _Rows) -> Tensor:
        """Add the weights of one layer, and give them back as they are."""
        counted = rows.counted[:, None]  # (row, 1, query)
        diagonal = pattern.diagonal(0, -2, -1) * counted
        kept = pattern * (counted[..., None] * counted[:, :, None])  # without sinks
        rest = kept.sum(-1)  # (row, head, query)
        found = {
            "first": (pattern.sum(-1) * counted - rest).sum((0, 2)),
            "self": diagonal.sum((0, 2)),
            "previous": (pattern.diagonal(-1, -2, -1) * counted[..., 1:]).sum((0, 2)),
            "next": (pattern.diagonal(1, -2, -1) * counted[..., :-1]).sum((0, 2)),
            "entropy": -(pattern * pattern.clamp(min=1e-30).log()).sum(-1).mul(counted).sum((0, 2)),
            "sinking": ((rest < 0.5) * counted).sum((0, 2)),
            "activity": (rest - diagonal).sum((0, 2)),
            "pairs": (rows.kinds.mT[:, None] @ (kept @ rows.kinds[:, None])).sum(0),
        }
        on_targets = (pattern.flatten(2) @ rows.targets).sum(0)  # (head, target)
        found |= dict(zip(TARGETS, on_targets.unbind(1), strict=True))
        shares = torch.einsum("rhqk,rhq->hqk", kept, torch.where(rest > LEAST, 1 / rest, 0))
        for name, weights in (("", kept.sum(0)), ("usual_", shares)):
            found |= {f"{name}{side}": one for side, one in by_distance(weights).items()}
        for name, value in found.items():
            total = self.totals[name][layer]
            total[..., : value.shape[-1]] += value.double().cpu().numpy()
        self._keep_places(kept, rest - diagonal, layer, rows)
        return pattern

    def _add_z(self, z: Float[Tensor, "row head query d_value"], layer: int, rows: _Rows) -> Tensor:
        self.totals["z"][layer] += torch.einsum("rhqd,rq->hd", z, rows.counted).double().cpu().numpy()
        return z

    def _keep_places(self, kept: Tensor, activity: Tensor, layer: int, rows: _Rows) -> None:
        row, position, held = rows.at
        weights = kept[row, :, position]  # (place, head, key)
        weights.scatter_(-1, position.to(weights.device)[:, None, None].expand(-1, weights.shape[1], 1), 0)
        weight, key = weights.max(-1)
        found = {"place_activity": activity[row, :, position], "place_weight": weight, "place_key": key}
        for name, value in found.items():
            self.totals[name][held, layer] = value.double().cpu().numpy()

    def state(self) -> dict[str, ndarray]:
        """All that another HeadSums needs to go on."""
        return {**self.totals, "windows": np.array([self.windows])}

    def go_on(self, state: Mapping[str, ndarray]) -> None:
        """Take the sums of a pass that was stopped."""
        self.totals = {name: state[name].copy() for name in self.totals}
        self.windows = int(state["windows"][0])


def joined(parts: Sequence[HeadSums], config: ModelConfig) -> HeadSums:
    """The sums of several passes, as of one over all their windows in that order.

    Raises:
        ValueError: no pass, or passes of several lengths.
    """
    if len({one.length for one in parts}) != 1:
        raise ValueError("passes over windows of one length can be joined; give at least one")
    starts = np.cumsum([0, *(one.windows for one in parts)])
    kept = [one.places.first(one.windows) for one in parts]
    window = np.concatenate([one.window + start for one, start in zip(kept, starts, strict=False)])
    whole = HeadSums(config, parts[0].length, ExamplePlaces(window, np.concatenate([one.position for one in kept])))
    whole.windows = int(starts[-1])
    for name in whole.totals:
        if name.startswith("place_"):
            read = [one.totals[name][: len(own.window)] for one, own in zip(parts, kept, strict=True)]
            whole.totals[name] = np.concatenate(read)
        else:
            whole.totals[name] = np.sum([one.totals[name] for one in parts], axis=0)
    return whole


def _targets(tokenizer: Tokenizer, ids: Sequence[int], ahead: bool) -> Bool[ndarray, "target query key"]:
    """The keys of TARGETS of each query of a text."""
    where, words = targets(np.asarray(ids), ahead), words_of(tokenizer, ids)
    brackets = np.zeros_like(where["induction"])
    for closing, opening in partners(words).items():
        brackets[words[closing].last, words[opening].last] = words[opening].last < words[closing].last
    return np.stack([where["duplicate"], where["induction"], brackets])


def by_distance(weights: Float[Tensor, "head query key"]) -> dict[str, Float[Tensor, "head distance"]]:
    """Sums over the pairs at each distance: "before" of keys at or before their query, "after" of those behind it."""
    heads, n, _ = weights.shape
    flat = F.pad(weights.flip(-1), (0, n)).flatten(1)[:, :-n]  # rows of 2 n, read as rows of 2 n - 1: diagonals
    sums = flat.view(heads, n, 2 * n - 1).sum(1)  # (head, query - key + n - 1)
    after = F.pad(sums[:, : n - 1].flip(-1), (1, 0))
    return {"before": sums[:, n - 1 :], "after": after}
