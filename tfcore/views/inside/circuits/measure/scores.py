"""How much attribution graphs of a model explain, and how far their forecasts hold, over many prompts."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.files import CheckpointError, read_json
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.loading.transcoders import FOLDER, load_transcoders
from tfcore.measures.dictionaries.feature_scan import load_feature_scan
from tfcore.measures.knock_outs import without_rounding
from tfcore.measures.neuron_scan import PADDING_ID
from tfcore.measures.one_text import next_logits
from tfcore.measures.statistics import correlation
from tfcore.model import Transformer
from tfcore.views.inside.circuits.measure.effects import strongest, take_off
from tfcore.views.inside.circuits.measure.graph import Output, attribution_graph
from tfcore.views.inside.circuits.measure.influence import measure_influence
from tfcore.views.inside.circuits.measure.of_text import traced_features

SCORES_FILE = "graphs.json"  # beside the transcoders
TOKENS = 16  # of a prompt
SCORES = ("replacement", "completeness", "measured", "frozen")


@dataclass(frozen=True, slots=True)
class GraphScores:
    """Scores of graphs of the most probable next token after prompts, one a prompt.

    Args:
        replacement, completeness: see Influence.
        measured, frozen: Pearson's correlation of the predicted effects of the features with the most influence with
            those in the real model, and with those where attention and the norms' scales are held; NaN where nothing
            was measured.
        tokens: of a prompt.
    """

    replacement: Float[ndarray, " prompt"]
    completeness: Float[ndarray, " prompt"]
    measured: Float[ndarray, " prompt"]
    frozen: Float[ndarray, " prompt"]
    tokens: int

    def quantiles(self, score: str) -> Float[ndarray, " 3"]:
        """The values that a tenth, a half and nine tenths of the prompts are below."""
        return np.nanquantile(getattr(self, score), (0.1, 0.5, 0.9))


def held_out_prompts(name: str, count: int) -> Int[ndarray, "prompt seq"]:
    """The beginnings of windows of held-out text, spread over all that ship beside the dictionaries."""
    windows = load_feature_scan(name).windows
    whole = windows[(windows[:, :TOKENS] != PADDING_ID).all(1), :TOKENS].astype(np.int64)
    places = np.linspace(0, len(whole) - 1, min(count, len(whole))).round().astype(int)
    return whole[places]


def score_prompt(model: Transformer, name: str, ids: Sequence[int]) -> dict[str, float]:
    """The scores of one prompt, by the names of SCORES."""
    transcoders, token = load_transcoders(name).by_layer, int(next_logits(model, ids).argmax())
    graph = attribution_graph(model, transcoders, ids, (Output(token),), traced_features(model))
    influence = measure_influence(graph)
    tested = take_off(model, transcoders, graph, strongest(graph, influence))
    of_effects = (
        correlation(tested.predicted, without_rounding(tested.measured)),
        correlation(tested.predicted, tested.frozen),
    )
    values = (influence.replacement, influence.completeness, *(np.nan if one is None else one for one in of_effects))
    return dict(zip(SCORES, map(float, values), strict=True))


def score_prompts(
    model: Transformer, name: str, prompts: Int[ndarray, "prompt seq"], done: Callable[[int], None] = lambda _: None
) -> GraphScores:
    """The scores of all prompts; `done` is told of each."""
    rows: list[dict[str, float]] = []
    for ids in prompts.tolist():
        rows.append(score_prompt(model, name, ids))
        done(len(rows))
    return GraphScores(**{key: np.array([row[key] for row in rows]) for key in SCORES}, tokens=prompts.shape[1])


def save_graph_scores(folder: Path, scores: GraphScores) -> None:
    """Write scores beside the transcoders; what was not measured as null."""
    rows = {key: list(_written(getattr(scores, key))) for key in SCORES}
    (folder / SCORES_FILE).write_text(json.dumps({"tokens": scores.tokens, **rows}) + "\n", "utf-8")


def _written(values: Float[ndarray, " prompt"]) -> Iterator[float | None]:
    return (None if np.isnan(value) else round(float(value), 4) for value in values)


@lru_cache(maxsize=4)
def load_graph_scores(name: str) -> GraphScores:
    """The scores of a shipped model's graphs, read once.

    Raises:
        CheckpointError: it has none, or the file is damaged.
    """
    path = PRETRAINED / name / FOLDER / SCORES_FILE
    said = read_json(path)
    try:
        return GraphScores(**{key: np.array(said[key], float) for key in SCORES}, tokens=int(said["tokens"]))
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path} lacks {error}; `python -m tools.graph_scores {name}` makes it") from error
