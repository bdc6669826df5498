"""An attribution graph as JSON, in the format that circuit-tracer and Neuronpedia read."""

import json
from collections.abc import Sequence
from typing import Any

from tfcore.views.inside.circuits.measure.diagram import Diagram
from tfcore.views.inside.circuits.measure.graph import EMBEDDING, ERROR, FEATURE, Graph
from tfcore.views.inside.circuits.measure.influence import Influence, Pruned

TYPES = {EMBEDDING: "embedding", ERROR: "mlp reconstruction error", FEATURE: "cross layer transcoder"}


def node_id(graph: Graph, node: int) -> str:
    """The id of a node as in circuit-tracer: layer_feature_position, E_token_position of embeddings, 0_layer_position
    of errors."""
    nodes = graph.nodes
    layer, feature, position = (int(one[node]) for one in (nodes.layer, nodes.feature, nodes.position))
    if nodes.kind[node] == EMBEDDING:
        return f"E_{feature}_{position}"
    return f"0_{layer}_{position}" if nodes.kind[node] == ERROR else f"{layer}_{feature}_{position}"


def to_json(
    graph: Graph, influences: Influence, pruned: Pruned, diagram: Diagram, tokens: Sequence[str], model: str
) -> str:
    """Write a pruned graph as text.

    `metadata` has the model, the text's tokens and both scores; `nodes` have node_id, feature, layer, ctx_idx (the
    position), feature_type, clerp (a name), influence and, of features, activation; `links` have source, target and
    weight, the contribution; `qParams.supernodes` are the groups, each a name and the ids of its members.

    Args:
        diagram: for names and groups.
        tokens: of the text.
        model: its name.
    """
    names = {node: label for group, label in zip(diagram.members, diagram.labels, strict=True) for node in group}
    ids = [node_id(graph, node) for node in pruned.nodes.tolist()]
    targets, sources = pruned.edges.nonzero()
    groups = [
        [f"{label}", *(node_id(graph, node) for node in group)]
        for group, label in zip(diagram.members, diagram.labels, strict=True)
        if len(group) > 1
    ]
    data = {
        "metadata": {
            "slug": f"{model}-attribution-graph",
            "scan": model,
            "prompt_tokens": list(tokens),
            "prompt": "".join(tokens),
            "replacement_score": influences.replacement,
            "completeness_score": influences.completeness,
        },
        "qParams": {"linkType": "both", "pinnedIds": ids, "clickedId": "", "supernodes": groups, "sg_pos": ""},
        "nodes": [_node(graph, influences, node, names[node]) for node in pruned.nodes.tolist()],
        "links": [
            {"source": ids[source], "target": ids[target], "weight": float(pruned.edges[target, source])}
            for target, source in zip(targets.tolist(), sources.tolist(), strict=True)
        ],
    }
    return json.dumps(data, indent=1, ensure_ascii=False)


def _node(graph: Graph, influences: Influence, node: int, name: str) -> dict[str, Any]:
    nodes = graph.nodes
    kind, layer = int(nodes.kind[node]), int(nodes.layer[node])
    said: dict[str, Any] = {
        "node_id": node_id(graph, node),
        "feature": int(nodes.feature[node]),
        "layer": "E" if kind == EMBEDDING else str(layer),
        "ctx_idx": int(nodes.position[node]),
        "feature_type": TYPES.get(kind, "logit"),
        "clerp": name,
        "influence": float(influences.nodes[node]),
        "is_target_logit": kind not in TYPES,
    }
    if kind == FEATURE:
        said["activation"] = float(nodes.activation[node])
    if kind not in TYPES:
        said["token_prob"] = float(graph.weights[node])
    return said
