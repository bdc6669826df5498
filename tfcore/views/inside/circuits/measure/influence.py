"""Which nodes and edges of an attribution graph matter: influence on what is explained, pruning, two scores."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from tfcore.views.inside.circuits.measure.graph import EMBEDDING, ERROR, FEATURE, OUTPUT, Graph

NODES = 0.8  # of the influence, that of the nodes kept
EDGES = 0.98  # of the influence of all edges between them


@dataclass(frozen=True, slots=True)
class Influence:
    """How much of what is explained comes through each node of a graph, by all paths.

    Args:
        nodes: of the nodes; outputs have none, as they are where paths end.
        through: the same with the weights of the outputs.
        inputs: of each node, the sum of the absolute contributions to it.
        replacement: of the influence of embeddings and errors, where all paths begin, the share of embeddings.
        completeness: the share of each node's input that is no error's, averaged by `through`.
    """

    nodes: Float[ndarray, " node"]
    through: Float[ndarray, " node"]
    inputs: Float[ndarray, " node"]
    replacement: float
    completeness: float

    @property
    def total(self) -> float:
        """The total of all nodes; above 0."""
        return max(float(self.nodes.sum()), 1e-10)


def shares(edges: Float[ndarray, "target source"]) -> Float[ndarray, "target source"]:
    """Absolute contributions, each as a share of those of its target: every row adds up to 1, or to 0."""
    size = np.abs(edges)
    shared: Float[ndarray, "target source"] = size / np.maximum(size.sum(1, keepdims=True), 1e-10)
    return shared


def measure_influence(graph: Graph) -> Influence:
    """Influence of all nodes of a graph, and the two scores of circuit-tracer."""
    size, kind = np.abs(graph.edges), graph.nodes.kind
    inputs = np.maximum(size.sum(1), 1e-10)
    size /= inputs[:, None]
    nodes = influence(size, graph.weights, graph.nodes.layer)
    tokens, errors = (float(nodes[kind == one].sum()) for one in (EMBEDDING, ERROR))
    through = nodes + graph.weights
    explained = 1 - size[:, kind == ERROR].sum(1)
    completeness = float(explained @ through / through.sum())
    return Influence(nodes, through, inputs, tokens / max(tokens + errors, 1e-10), completeness)


def influence(
    shared: Float[ndarray, "node node"], weights: Float[ndarray, " node"], layer: Int[ndarray, " node"]
) -> Float[ndarray, " node"]:
    """How much of what is explained comes through each node, by all paths: w (A + A^2 + ...) = w ((I - A)^-1 - I), with
    A the shares and w the weights of the outputs.

    No layer reads its own nodes, so one pass from the top down is the whole sum.

    Args:
        layer: of the nodes, which are sorted by it.
    """
    total = np.zeros(len(weights))
    for one in np.unique(layer)[:0:-1]:
        start, stop = np.searchsorted(layer, [one, one + 1])
        through = total[start:stop] + weights[start:stop]
        if through.any():
            total[:start] += through @ shared[start:stop, :start]
    return total


def threshold(values: Float[ndarray, " value"], kept: float) -> float:
    """The least of the largest values that together make `kept` of the sum; never 0, so that what has none is left."""
    falling = np.sort(values)[::-1]
    positive = int((falling > 0).sum())
    if not positive:
        return np.inf
    summed = np.cumsum(falling) / falling.sum()
    return float(falling[min(int(np.searchsorted(summed, kept)), positive - 1)])


@dataclass(frozen=True, slots=True)
class Pruned:
    """A pruned graph.

    Args:
        nodes: places of the nodes that are kept.
        edges: edges[target, source] between them, 0 where one is left out.
    """

    nodes: Int[ndarray, " kept"]
    edges: Float[ndarray, "kept kept"]


def prune(graph: Graph, influences: Influence, nodes: float = NODES, edges: float = EDGES) -> Pruned:
    """The nodes that have most of the influence, and the edges that have most of it among those.

    As circuit-tracer prunes: nodes from the most influential down until they have a share `nodes` of all influence,
    tokens and outputs always; then edges, by share times the influence of their target within the kept graph, until
    they have a share `edges`; then every feature without an edge in or out, and every error without one out, until
    none is left.

    Args:
        influences: of the graph.
        nodes, edges: shares of the influence.

    Raises:
        ValueError: a share that is not between 0 and 1.
    """
    for name, value in (("nodes", nodes), ("edges", edges)):
        if not 0 <= value <= 1:
            raise ValueError(f"{name}={value} must be between 0 and 1, a share of the influence")
    kind = graph.nodes.kind
    always = (kind == EMBEDDING) | (kind == OUTPUT)
    kept = np.flatnonzero((influences.nodes >= threshold(influences.nodes, nodes)) | always)
    among = graph.edges[np.ix_(kept, kept)]
    shared = shares(among)
    weights = graph.weights[kept]
    through = influence(shared, weights, graph.nodes.layer[kept]) + weights
    score = shared * through[:, None]
    stays = score >= threshold(score.ravel(), edges)
    left = _connected(stays, kind[kept])
    places = kept[left]
    inner = np.where(stays, among, 0)[np.ix_(left, left)]
    return Pruned(places, inner)


def _connected(edges: Bool[ndarray, "node node"], kind: Int[ndarray, " node"]) -> Bool[ndarray, " node"]:
    """Nodes that are left when features without an edge in or out, and errors without one out, go, until none does."""
    left = np.ones(len(kind), dtype=bool)
    while True:
        inside = edges & left[:, None] & left
        alone = (kind == FEATURE) & ~inside.any(1) | np.isin(kind, (FEATURE, ERROR)) & ~inside.any(0)
        if not (alone & left).any():
            return left
        left &= ~alone
