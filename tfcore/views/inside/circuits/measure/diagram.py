"""An attribution graph as it is drawn: features that do the same joined in groups, and a name for every node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.inspection.transcoders import Transcoder
from tfcore.measures.lenses import unembedding
from tfcore.measures.one_text import pieces_of
from tfcore.measures.token_text import plotly_escape, visible
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.inside.circuits.measure.effects import feature_name, total_effects
from tfcore.views.inside.circuits.measure.graph import FEATURE, OUTPUT, Graph
from tfcore.views.inside.circuits.measure.influence import Influence, Pruned, shares

ALIKE = 0.7  # cosine from which on two features do the same
PROMOTED = 4  # tokens named of a feature
NAMED = 5  # members of a group that are named
ROWS = 8  # links of a node that are listed


@dataclass(frozen=True, slots=True)
class Diagram:
    """The part of a graph that is drawn. Nodes are in the order of computation, those of a cell (a layer at a token) by
    falling influence.

    Args:
        members: of each node, its places in the graph; more than one is a group.
        kind, layer, position: of the nodes, as in graph.Nodes.
        influence: summed over the members.
        effects: by how much the first output falls without the node, as the graph predicts; see total_effects.
        edges: edges[target, source], contributions summed over the members; 0 where there is no link.
        strength: the part of each link in the influence of its target.
        keys: name of each node's first member, the same whatever else is in the picture.
        labels: a token: what it promotes (see Naming.label), or what it is.
        hovers: several lines, safe for plotly.
    """

    members: tuple[tuple[int, ...], ...]
    kind: Int[ndarray, " node"]
    layer: Int[ndarray, " node"]
    position: Int[ndarray, " node"]
    influence: Float[ndarray, " node"]
    effects: Float[ndarray, " node"]
    edges: Float[ndarray, "node node"]
    strength: Float[ndarray, "node node"]
    keys: tuple[str, ...]
    labels: tuple[str, ...]
    hovers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Links:
    """The nodes that a node reads, or those that read it.

    Args:
        rows: name and contribution, the largest first; the last ones are all others together, and biases.
        total: their sum; of what is read, the activation, or the logit.
    """

    rows: tuple[tuple[str, float], ...]
    total: float


def groups(
    profiles: Float[ndarray, "feature target"], cells: Sequence[tuple[int, int]], alike: float = ALIKE
) -> list[list[int]]:
    """Features that do the same: those of one layer at one token, every two of which have profiles with a cosine of at
    least `alike`.

    The two groups whose least cosine is largest are joined, again and again, until it is below `alike` (complete
    linkage). Nothing is chosen by hand.

    Args:
        profiles: of each feature, its part in the influence of everything that reads it, with its sign.
        cells: (layer, position) of the features.
    """
    unit = profiles / np.maximum(np.linalg.norm(profiles, axis=1, keepdims=True), 1e-12)
    joined: list[list[int]] = []
    for cell in dict.fromkeys(cells):
        members = [i for i, other in enumerate(cells) if other == cell]
        own, rows = [[i] for i in members], unit[members]
        least = rows @ rows.T  # the least cosine between members of two groups
        np.fill_diagonal(least, -np.inf)
        while len(own) > 1:
            a, b = sorted(divmod(int(least.argmax()), len(own)))
            if least[a, b] < alike:
                break
            least[a] = least[:, a] = np.minimum(least[a], least[b])
            least[a, a] = -np.inf
            least = np.delete(np.delete(least, b, 0), b, 1)
            own[a] += own.pop(b)
        joined += own
    return joined


def profiles(graph: Graph, influences: Influence, places: Int[ndarray, " some"]) -> Float[ndarray, "some node"]:
    """Profiles of some nodes: the part each has in the input of every node of the graph, with its sign, times the
    influence of that node."""
    profile: Float[ndarray, "some node"] = (
        graph.edges[:, places] * (influences.through / influences.inputs)[:, None]
    ).T
    return profile


@torch.no_grad()
def promoted(
    model: Transformer, written: Float[Tensor, "some d_model"], count: int = PROMOTED
) -> Int[Tensor, "some count"]:
    """The tokens whose logits vectors in the stream raise most, read through the weights of the final norm and the
    unembedding, relative to the mean of all logits."""
    return ((written * model.decoder.ln_final.weight) @ unembedding(model).T).topk(count).indices


def written_by(transcoders: Mapping[int, Transcoder], graph: Graph, group: Sequence[int]) -> Float[Tensor, " d_model"]:
    """The sum of what features write: activations times rows of W_dec."""
    nodes = graph.nodes
    rows = [transcoders[nodes.layer[i]].W_dec[int(nodes.feature[i])] * float(nodes.activation[i]) for i in group]
    return torch.stack(rows).sum(0)


def draw(
    model: Transformer,
    transcoders: Mapping[int, Transcoder],
    tokenizer: Tokenizer,
    graph: Graph,
    influences: Influence,
    pruned: Pruned,
    alike: float | None = ALIKE,
) -> Diagram:
    """The diagram of a pruned graph.

    Args:
        alike: see `groups`; None joins nothing.
    """
    nodes, kept = graph.nodes, pruned.nodes
    place = {int(node): i for i, node in enumerate(kept)}
    features = kept[nodes.kind[kept] == FEATURE]
    cells = list(zip(nodes.layer[features].tolist(), nodes.position[features].tolist(), strict=True))
    joined = [[i] for i in range(len(features))]
    if alike is not None and len(features):
        joined = groups(profiles(graph, influences, features), cells, alike)
    members = [sorted(features[group].tolist(), key=lambda node: -influences.nodes[node]) for group in joined]
    members += [[int(node)] for node in kept if nodes.kind[node] != FEATURE]
    members.sort(
        key=lambda group: (nodes.layer[group[0]], nodes.position[group[0]], -float(influences.nodes[group].sum()))
    )
    through = shares(pruned.edges) * influences.through[kept][:, None]
    picks = np.zeros((len(members), len(kept)))
    for row, group in enumerate(members):
        picks[row, [place[node] for node in group]] = 1
    first = [group[0] for group in members]
    naming = Naming(model, transcoders, tokenizer, graph, influences)
    naming.learn([group for group, node in zip(members, first, strict=True) if nodes.kind[node] == FEATURE])
    influence = picks @ influences.nodes[kept]
    influence[nodes.kind[first] == OUTPUT] = graph.weights[[node for node in first if nodes.kind[node] == OUTPUT]]
    return Diagram(
        members=tuple(map(tuple, members)),
        kind=nodes.kind[first],
        layer=nodes.layer[first],
        position=nodes.position[first],
        influence=influence,
        effects=picks @ naming.effects[kept],
        edges=picks @ pruned.edges @ picks.T,
        strength=picks @ through @ picks.T,
        keys=tuple(map(naming.name, first)),
        labels=tuple(map(naming.label, members)),
        hovers=tuple(map(naming.hover, members)),
    )


def strongest_links(diagram: Diagram, count: int) -> Diagram:
    """The links of a diagram with the largest part in the influence, with the nodes at their ends, and its outputs."""
    order = np.argsort(-diagram.strength, axis=None, kind="stable")[:count]
    kept = np.zeros(diagram.strength.size, bool)
    kept[order] = True
    kept = kept.reshape(diagram.strength.shape) & (diagram.edges != 0)
    nodes = np.flatnonzero(kept.any(0) | kept.any(1) | (diagram.kind == OUTPUT))
    among = np.ix_(nodes, nodes)
    return Diagram(
        members=tuple(diagram.members[node] for node in nodes),
        kind=diagram.kind[nodes],
        layer=diagram.layer[nodes],
        position=diagram.position[nodes],
        influence=diagram.influence[nodes],
        effects=diagram.effects[nodes],
        edges=np.where(kept, diagram.edges, 0)[among],
        strength=np.where(kept, diagram.strength, 0)[among],
        keys=tuple(diagram.keys[node] for node in nodes),
        labels=tuple(diagram.labels[node] for node in nodes),
        hovers=tuple(diagram.hovers[node] for node in nodes),
    )


class Naming:
    """Names for the nodes of a graph."""

    def __init__(
        self,
        model: Transformer,
        transcoders: Mapping[int, Transcoder],
        tokenizer: Tokenizer,
        graph: Graph,
        influences: Influence,
    ) -> None:
        self.model, self.transcoders, self.graph, self.influences = model, transcoders, graph, influences
        self.tokenizer = tokenizer
        self.effects = total_effects(graph)
        self.known: dict[tuple[int, ...], list[str]] = {}
        self.tokens = [visible(token) for token in pieces_of(tokenizer, graph.ids)]

    def name(self, node: int) -> str:
        """The name of one node, as in "feature 2/517 at '·red' (12)"."""
        nodes = self.graph.nodes
        position = int(nodes.position[node])
        at = f"'{self.tokens[position]}' ({position})"
        match int(nodes.kind[node]):
            case 0:  # EMBEDDING
                return f"token {at}"
            case 2:  # ERROR
                return f"error {nodes.layer[node]} at {at}"
            case 3:  # OUTPUT
                return f"output {self.label([node])}"
        return feature_name(self.graph, node, self.tokenizer)

    def learn(self, groups: Sequence[Sequence[int]]) -> None:
        """Find what groups of features promote, all at once."""
        unknown = [group for group in groups if tuple(group) not in self.known]
        if not unknown:
            return
        written = torch.stack([written_by(self.transcoders, self.graph, group) for group in unknown])
        for group, ids in zip(unknown, promoted(self.model, written).tolist(), strict=True):
            self.known[tuple(group)] = [visible(token) for token in self.tokenizer.tokens(ids)]

    def promotes(self, group: Sequence[int]) -> list[str]:
        """The tokens that features raise most, together."""
        self.learn([group])
        return self.known[tuple(group)]

    def label(self, group: Sequence[int]) -> str:
        """A token: of features the first they promote that begins a word, or "…" and the end of one; of an output its
        own."""
        nodes, node = self.graph.nodes, group[0]
        if nodes.kind[node] == FEATURE:
            promotes = self.promotes(group)
            end = f"…{promotes[0]}" if promotes[0].isalpha() else promotes[0]
            return next((one for one in promotes if one[:1] == "·" and one[1:].isalpha()), end)
        if nodes.kind[node] != OUTPUT:
            return self.tokens[int(nodes.position[node])]
        output = self.graph.outputs[node - len(nodes) + len(self.graph.outputs)]
        against = [] if output.against is None else [output.against]
        return " − ".join(visible(token) for token in self.tokenizer.tokens([output.token, *against]))

    def strongest(self, node: int) -> str:
        """The token of this text at which a feature is most active."""
        nodes = self.graph.nodes
        same = (nodes.kind == FEATURE) & (nodes.layer == nodes.layer[node]) & (nodes.feature == nodes.feature[node])
        places = np.flatnonzero(same)
        position = int(nodes.position[places[nodes.activation[places].argmax()]])
        return f"'{self.tokens[position]}' ({position})"

    def hover(self, group: Sequence[int]) -> str:
        """Words on a node under the pointer."""
        nodes, node = self.graph.nodes, group[0]
        share = float(self.influences.nodes[list(group)].sum() / self.influences.total)
        effect = f"effect on the output, as predicted: {self.effects[list(group)].sum():+.2f} logits"
        influence = f"{share:.1%} of all influence"
        if nodes.kind[node] == FEATURE:
            promotes = f"promotes {' '.join(self.promotes(group))}"
            if len(group) > 1:
                named = ", ".join(f"{nodes.layer[i]}/{nodes.feature[i]}" for i in group[:NAMED])
                more = f" and {len(group) - NAMED} more" if len(group) > NAMED else ""
                at = self.name(node).partition(" at ")[2]
                lines = [f"{len(group)} features at {at}", f"{named}{more}", promotes, effect, influence]
            else:
                lines = [
                    f"{self.name(node)}, activation {nodes.activation[node]:.2f}",
                    promotes,
                    f"most active here at {self.strongest(node)}",
                    effect,
                    influence,
                ]
        elif nodes.kind[node] == OUTPUT:
            lines = [self.name(node), f"logit {nodes.activation[node]:+.2f}, of which the graph shows the parts"]
        else:
            lines = [self.name(node), effect, influence]
        return "<br>".join(map(plotly_escape, lines))

    def row(self, node: int) -> str:
        """A short name for lists: layer/number, token, and what it promotes."""
        nodes = self.graph.nodes
        if nodes.kind[node] != FEATURE:
            return self.name(node)
        at = self.tokens[int(nodes.position[node])]
        return f"{nodes.layer[node]}/{nodes.feature[node]} at {at} → {self.label([node])}"


def links_of(naming: Naming, group: Sequence[int], count: int = ROWS) -> tuple[Links, Links]:
    """Inputs of a node, or of a group, and nodes that read it, over the whole graph: nothing is pruned."""
    graph, members = naming.graph, list(group)
    own = float(graph.biases[members].sum())
    reads = graph.edges[members].sum(0)
    incoming = _largest(naming, reads, count)
    if incoming or own:
        incoming.append(("biases", own))
    feeds = graph.edges[:, members].sum(1)
    return (
        Links(tuple(incoming), float(reads.sum()) + own),
        Links(tuple(_largest(naming, feeds, count)), float(feeds.sum())),
    )


def _largest(naming: Naming, values: Float[ndarray, " node"], count: int) -> list[tuple[str, float]]:
    """The largest contributions by size, and all others in one."""
    there = np.flatnonzero(values)
    order = there[np.argsort(-np.abs(values[there]), kind="stable")]
    naming.learn([[int(node)] for node in order[:count] if naming.graph.nodes.kind[node] == FEATURE])
    rows = [(naming.row(int(node)), float(values[node])) for node in order[:count]]
    if len(order) > count:
        rows.append((f"{len(order) - count} others", float(values[order[count:]].sum())))
    return rows
