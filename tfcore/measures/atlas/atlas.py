"""An atlas of heads: the numbers, how they follow from the sums of a pass, and the file beside a model's weights."""

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from tfcore.files import CheckpointError, check_file, read_json
from tfcore.loading.checkpoints import PRETRAINED, beside
from tfcore.measures.atlas.ablation import interval
from tfcore.measures.atlas.examples import DECILES, Examples, examples_of
from tfcore.measures.atlas.sums import TARGETS, HeadSums
from tfcore.measures.atlas.token_kinds import KINDS

FOLDER = "atlas"  # below the folder of its model
FILE, FACTS = "heads.safetensors", "atlas.json"
MOST_BYTES = 100_000  # of FACTS
MAKE = "python -m tfcore.training atlas"
OCTAVES = ("0", "1", "2-3", "4-7", "8-15", "16-31", "32-63", "64 or more")  # of distances


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of each head, for axes and tables.

    Args:
        title: as in "Weight on the first token".
        unit: of the number; empty for a share of weight or of queries.
        says: what it is, in a sentence.
        most: its largest possible value; None where there is none.
        format: of the number.
    """

    title: str
    unit: str
    says: str
    most: float | None = 1.0
    format: str = ".2f"


MEASURES: dict[str, Measure] = {
    "first": Measure(
        "Weight on the sink", "", "Mean weight on the first token; in an encoder, on the tokens put around every text."
    ),
    "sink_share": Measure(
        "Share of idle queries", "", "Share of the queries that put more than half of their weight on the sink."
    ),
    "activity": Measure(
        "Activity", "", "Mean weight that is neither on the sink nor on the query's own token: what the head does."
    ),
    "self": Measure("Weight on itself", "", "Mean weight on the query's own token."),
    "previous": Measure("Weight on the previous token", "", "Mean weight on the token before the query."),
    "next": Measure("Weight on the next token", "", "Mean weight on the token after the query, in an encoder."),
    "same": Measure(
        "Weight on the same token",
        "",
        "Mean weight on other occurrences of the query's token, over the queries that see one.",
    ),
    "after_same": Measure(
        "Weight after the same token",
        "",
        "Mean weight on the tokens after other occurrences of the query's token (induction), over the queries that "
        "see one.",
    ),
    "bracket": Measure(
        "Weight on the opening bracket",
        "",
        "Mean weight from a closing bracket or quotation mark on the one that it closes.",
    ),
    "bracket_by_position": Measure(
        "Opening bracket, by distance",
        "",
        "The same if the head looked by distance alone: its mean weight at the distance of each pair.",
    ),
    "entropy": Measure("Entropy", "nats", "Mean entropy of the weights of a query.", None),
    "distance": Measure(
        "Distance", "tokens", "Mean distance from query to key, of the weight that is not on the sink.", None, ".1f"
    ),
    "ov_rank": Measure(
        "Rank of W_OV", "", "Effective rank of W_O W_V: how many directions the head carries.", None, ".1f"
    ),
    "qk_rank": Measure(
        "Rank of W_QK", "", "Effective rank of W_Q^T W_K: how many directions the head compares.", None, ".1f"
    ),
    "effect": Measure(
        "Effect of mean ablation",
        "nats per token",
        "Change of the mean loss when the head writes its mean instead; in an encoder, 1 - the cosine of the text's "
        "vector with what it is otherwise.",
        None,
        ".4f",
    ),
    "effect_low": Measure("Effect, lower bound", "nats per token", "Lower bound of its 95 % interval.", None, ".4f"),
    "effect_high": Measure("Effect, upper bound", "nats per token", "Upper bound of its 95 % interval.", None, ".4f"),
}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Atlas:
    """The heads of a model over a distribution of texts. All weights are means over queries; the sink (the first token;
    in an encoder the tokens that are put around a text) is no query, and no key but where it is named.

    Args:
        model: its name; empty for one that is in memory alone.
        architecture: "decoder" or "encoder".
        tokens: queries that count.
        window: tokens that were read at once.
        sources: name -> tokens read from it.
        measures: by name, see MEASURES; NaN where a text has no case. Those of effects are missing where they were not
            measured.
        distances, ahead: weight by distance in OCTAVES, on keys at or before the query and on those behind it.
        kinds: of tokens, see token_kinds; the first is "any".
        counts: queries of each kind.
        pairs: mean weight that a query of the first kind puts on all keys of the second.
        by_position: the same if the head looked by distance alone, with its mean weight at each distance.
        deciles: mean activity in each tenth of the queries, the least active first; by the places of the examples.
        examples: places in the texts, in tenths by the head's activity.
        by_text: effect on each text of a sample; no texts where it was not measured.
        sample: the tokens of these texts.
        means: z of each head, mean over queries: what it writes when it is ablated.
        usual_before, usual_after: mean share, of the weight that is not on the sink, at each distance.
    """

    model: str
    architecture: str
    tokens: int
    window: int
    sources: dict[str, int]
    measures: dict[str, Float[ndarray, "layer head"]]
    distances: Float[ndarray, "layer head octave"]
    ahead: Float[ndarray, "layer head octave"]
    kinds: tuple[str, ...]
    counts: Int[ndarray, " kind"]
    pairs: Float[ndarray, "layer head kind kind"]
    by_position: Float[ndarray, "layer head kind kind"]
    deciles: Float[ndarray, "layer head decile"]
    examples: Examples
    by_text: Float[ndarray, "layer head text"]
    sample: Int[ndarray, "text token"]
    means: Float[ndarray, "layer head d_value"]
    usual_before: Float[ndarray, "layer head distance"]
    usual_after: Float[ndarray, "layer head distance"]

    @property
    def shape(self) -> tuple[int, int]:
        """Layers and heads of a layer."""
        layers, heads, _ = self.deciles.shape
        return layers, heads

    @property
    def octaves(self) -> tuple[str, ...]:
        """Labels of the distances."""
        return OCTAVES

    @property
    def from_kinds(self) -> Float[ndarray, "layer head kind"]:
        """Weight that is not on the sink, by kind of query."""
        return self.pairs[..., 0]

    @property
    def to_kinds(self) -> Float[ndarray, "layer head kind"]:
        """Weight of all queries on keys of each kind."""
        return self.pairs[..., 0, :]

    def with_effects(self, by_text: Float[ndarray, "layer head text"], sample: Sequence[Sequence[int]]) -> "Atlas":
        """The atlas with what mean ablation does on some texts.

        Args:
            sample: the tokens of these texts, equally many each; more of them are left out.
        """
        low, high = interval(by_text)
        effects = {"effect": by_text.mean(-1), "effect_low": low, "effect_high": high}
        ids = np.array(sample[: by_text.shape[-1]])
        return replace(self, by_text=by_text, sample=ids, measures={**self.measures, **effects})


def atlas_of(
    sums: HeadSums,
    windows: Sequence[Sequence[int]],
    *,
    model: str,
    architecture: str,
    sources: Mapping[str, int],
    ranks: Mapping[str, Float[ndarray, "layer head"]],
) -> Atlas:
    """The atlas that follows from the sums of a pass.

    Args:
        windows: that were read, in their order; examples are cut from them.
        ranks: see tfcore.measures.atlas.ranks.
    """
    totals = sums.totals
    (queries,) = totals["queries"]
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 where there is no case
        on_targets = {name: totals[name] / count for name, count in zip(TARGETS, totals["with"], strict=True)}
        pairs = totals["pairs"] / totals["counts"][:, None]
        by_position = _by_position(totals)
        profile = _profile(totals)
        measures = {
            **{name: totals[name] / queries for name in ("first", "activity", "self", "previous")},
            **({"next": totals["next"] / queries} if architecture == "encoder" else {}),
            **on_targets,
            "sink_share": totals["sinking"] / queries,
            "entropy": totals["entropy"] / queries,
            "distance": _mean_distance(totals),
            "bracket_by_position": profile["before"] @ totals["brackets"] / totals["with"][TARGETS.index("bracket")],
            **ranks,
        }
        deciles, examples = examples_of(sums, windows)
        usual = _usual(totals)
    return Atlas(
        model=model,
        architecture=architecture,
        tokens=int(queries),
        window=sums.length,
        sources=dict(sources),
        measures={name: measures[name] for name in MEASURES if name in measures},
        distances=_octaves(totals["before"]) / max(queries, 1),
        ahead=_octaves(totals["after"]) / max(queries, 1),
        kinds=KINDS,
        counts=totals["counts"].astype(np.int64),
        pairs=pairs,
        by_position=by_position,
        deciles=deciles,
        examples=examples,
        by_text=np.zeros((*deciles.shape[:2], 0)),
        sample=np.zeros((0, 0), dtype=np.int64),
        means=totals["z"] / max(queries, 1),
        usual_before=usual["before"],
        usual_after=usual["after"],
    )


def _met(totals: Mapping[str, ndarray]) -> Float[ndarray, " distance"]:
    """Pairs of tokens at each distance."""
    return np.maximum(totals["met"][0, 0], 1)


def _profile(totals: Mapping[str, ndarray]) -> dict[str, Float[ndarray, "layer head distance"]]:
    """The mean weight of each head at each distance."""
    return {side: totals[side] / _met(totals) for side in ("before", "after")}


def _usual(totals: Mapping[str, ndarray]) -> dict[str, Float[ndarray, "layer head distance"]]:
    return {side: totals[f"usual_{side}"] / _met(totals) for side in ("before", "after")}


def _by_position(totals: Mapping[str, ndarray]) -> Float[ndarray, "layer head kind kind"]:
    """Weight from kind to kind of a head that looks by distance alone: its mean weight at a distance, times how many
    keys of the second kind stand at that distance from a query of the first."""
    profile, met = _profile(totals), totals["met"]
    behind = np.swapaxes(met, 0, 1).copy()  # a key before a query is, seen from the key, a query behind it
    behind[..., 0] = 0
    flat = [side.reshape(-1, side.shape[-1]) for side in (met, behind)]
    expected = profile["before"] @ flat[0].T + profile["after"] @ flat[1].T
    return expected.reshape(*expected.shape[:2], *met.shape[:2]) / totals["counts"][:, None]


def _mean_distance(totals: Mapping[str, ndarray]) -> Float[ndarray, "layer head"]:
    weights = totals["before"] + totals["after"]
    return weights @ np.arange(weights.shape[-1]) / weights.sum(-1)


def _octaves(by_distance: Float[ndarray, "layer head distance"]) -> Float[ndarray, "layer head octave"]:
    distance = np.arange(by_distance.shape[-1])
    octave = np.minimum(np.ceil(np.log2(distance + 1)).astype(int), len(OCTAVES) - 1)
    return by_distance @ np.eye(len(OCTAVES))[octave]


ARRAYS = {  # in the file, with their types there
    **dict.fromkeys(("distances", "ahead", "pairs", "by_position", "deciles"), np.float16),
    **dict.fromkeys(("means", "usual_before", "usual_after"), np.float16),
    "by_text": np.float32,
    "counts": np.uint32,
    "sample": np.uint16,
}
OF_EXAMPLES = {
    **dict.fromkeys(("query", "key", "distance"), np.uint8),
    **dict.fromkeys(("weight", "activity"), np.float16),
    "ids": np.uint16,
}
FACTS_OF = ("model", "architecture", "tokens", "window", "sources", "kinds")


def save_atlas(folder: Path, atlas: Atlas, settings: Mapping[str, Any] | None = None) -> None:
    """Write an atlas into a folder: FILE and FACTS.

    Args:
        settings: kept beside the facts: seeds, and how it was made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {name: getattr(atlas, name).astype(kind) for name, kind in ARRAYS.items()}
    arrays |= {f"examples.{name}": getattr(atlas.examples, name).astype(kind) for name, kind in OF_EXAMPLES.items()}
    arrays |= {f"measures.{name}": value.astype(np.float32) for name, value in atlas.measures.items()}
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, folder / FILE)
    facts = {name: getattr(atlas, name) for name in FACTS_OF} | {"settings": dict(settings or {})}
    (folder / FACTS).write_text(json.dumps(facts, indent=1) + "\n", "utf-8")


def with_atlas() -> list[str]:
    """Names of the models that have an atlas."""
    return sorted(path.parent.parent.name for path in PRETRAINED.glob(f"*/{FOLDER}/{FILE}"))


def load_atlas(name_or_folder: str | Path) -> Atlas:
    """The atlas of a model, read once and shared: not to be changed.

    Args:
        name_or_folder: a model such as "smollm2"; or, as a Path, a folder that save_atlas wrote.

    Raises:
        CheckpointError: it has none, or it is damaged; the message says which file.
    """
    return _loaded(beside(name_or_folder, FOLDER, with_atlas(), "atlas of heads", "atlas"))


@functools.lru_cache(maxsize=4)
def _loaded(folder: Path) -> Atlas:
    path, facts = folder / FILE, read_json(folder / FACTS, MOST_BYTES)
    check_file(path)
    try:
        arrays = load_file(path)
        wide = {name: _wide(arrays[name]) for name in ARRAYS}
        examples = {name: arrays[f"examples.{name}"] for name in OF_EXAMPLES}
        measures = {name: arrays[f"measures.{name}"] for name in MEASURES if f"measures.{name}" in arrays}
        known = {name: facts[name] for name in FACTS_OF} | {"kinds": tuple(facts["kinds"])}
        found = Atlas(
            **known | wide,
            measures=measures,
            examples=Examples(**{name: _wide(array) for name, array in examples.items()}),
        )
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path} is no atlas of heads: {error}; `{MAKE}` makes it") from error
    _check(path, found)
    return found


def _wide(array: ndarray) -> ndarray:
    return array.astype(np.int64 if array.dtype.kind == "u" else np.float32)


def _check(path: Path, atlas: Atlas) -> None:
    """Refuse a file whose parts are not of one model."""
    shape, kinds = atlas.shape, len(atlas.kinds)
    fits = [value.shape == shape for value in atlas.measures.values()]
    fits += [atlas.pairs.shape == atlas.by_position.shape == (*shape, kinds, kinds), atlas.counts.shape == (kinds,)]
    fits += [atlas.distances.shape == atlas.ahead.shape == (*shape, len(OCTAVES))]
    fits += [atlas.usual_before.shape == atlas.usual_after.shape == (*shape, atlas.window)]
    fits += [atlas.examples.query.shape[:3] == (*shape, DECILES)]
    if not all(fits):
        raise CheckpointError(f"{path} is no atlas of heads: its parts do not fit each other; `{MAKE}` makes it")
