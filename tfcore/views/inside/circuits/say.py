"""Findings on circuits: an attribution graph, its nodes and its forecasts; edges between heads."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.measures.knock_outs import ROUNDING, without_rounding
from tfcore.measures.one_text import piece_of
from tfcore.measures.quantities import counted
from tfcore.measures.statistics import correlation
from tfcore.measures.token_text import visible
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.finding import Statement, state
from tfcore.views.inside.circuits.measure.carriers import Carried
from tfcore.views.inside.circuits.measure.diagram import Diagram, Links, Naming
from tfcore.views.inside.circuits.measure.effects import TakenOff, feature_name
from tfcore.views.inside.circuits.measure.graph import EMBEDDING, ERROR, FEATURE, OUTPUT, Graph, Output
from tfcore.views.inside.circuits.measure.head_circuits import HeadCircuit, by_estimate, edges_of
from tfcore.views.inside.circuits.measure.influence import Influence, Pruned
from tfcore.views.inside.circuits.measure.scores import GraphScores
from tfcore.views.view import Metric

NAMED = 3  # edges
BASELINES = {"text": "what the head writes on the other text", "mean": "its mean over the tokens", "zero": "zero"}


# ---- the graph of features ----


def largest_node(diagram: Diagram, influences: Influence) -> Statement:
    """The feature or group with the most influence of those drawn."""
    features = np.flatnonzero(diagram.kind == FEATURE)
    if not len(features):
        return state("no feature", "No feature is left in the picture: keep more of the influence.")
    node = int(features[diagram.influence[features].argmax()])
    name, count = diagram.keys[node], len(diagram.members[node])
    effect = float(diagram.effects[node])
    return state(
        "largest node",
        "Strongest of {drawn}: {what}, towards '{label}'; with all that follows, it {moves} what is explained by "
        "{size:.2f} logits, with {share:.1%} of the influence.",
        drawn=counted(int((diagram.edges != 0).sum()), "link") + " in the picture",
        what=name if count == 1 else f"{name} and {count - 1} like it",
        label=diagram.labels[node],
        share=float(diagram.influence[node] / influences.total),
        moves="raises" if effect > 0 else "lowers",
        size=abs(effect),
    )


def graph_scores(
    graph: Graph, influences: Influence, pruned: Pruned, usual: GraphScores | None = None
) -> tuple[Metric, ...]:
    """How much of a prediction a graph explains, and how much of it is kept.

    Args:
        usual: the scores of the model's graphs over many prompts, which those of this one are beside.
    """
    kept, missing = int((graph.nodes.kind[pruned.nodes] == FEATURE).sum()), "What is missing to 1: transcoder errors"
    covered = float(influences.nodes[pruned.nodes].sum() / influences.total)
    return (
        Metric("Replacement score", f"{influences.replacement:.2f}", _beside(usual, "replacement"), help=missing),
        Metric("Completeness", f"{influences.completeness:.2f}", _beside(usual, "completeness"), help=missing),
        Metric("Features kept", f"{kept} of {len(graph.of_kind(FEATURE)):,}", f"{covered:.0%} of the influence"),
    )


def _beside(usual: GraphScores | None, score: str) -> str | None:
    """The median of a score over many prompts, and the range of the middle four fifths."""
    if usual is None:
        return None
    low, middle, high = usual.quantiles(score)
    return f"{middle:.2f} on {len(usual.replacement)} prompts ({low:.2f} to {high:.2f})"


def node_sum(naming: Naming, group: Sequence[int], incoming: Links) -> Statement:
    """A node, or a group, as the sum of what it reads."""
    nodes, node = naming.graph.nodes, group[0]
    name = naming.name(node) if len(group) == 1 else f"{len(group)} features with {naming.name(node)}"
    name = name[:1].upper() + name[1:]
    if nodes.kind[node] in (EMBEDDING, ERROR):
        return state("begins", "{name}: paths begin here, it reads nothing.", name=name)
    largest, part = incoming.rows[0]
    return state(
        "node sum",
        "{name}: all contributions and biases add up to {total:.3f}, its {kind} {value:.3f}. Largest: {largest}, "
        "{part:+.2f}.",
        name=name,
        kind="logit" if nodes.kind[node] == OUTPUT else "activation",
        total=incoming.total,
        value=float(nodes.activation[list(group)].sum()),
        largest=largest,
        part=part,
    )


def brought_by(naming: Naming, source: int, target: int, carried: Carried) -> Statement:
    """Which heads bring a link from another token to where it is read."""
    largest = carried.largest(0, NAMED)
    total = float(carried.heads.sum())
    rest = total - sum(part for _, _, part in largest)
    nodes = naming.graph.nodes
    token = visible(piece_of(naming.tokenizer, naming.graph.ids[int(nodes.position[target])]))
    return state(
        "brought by",
        "Attention's part: {source}, {total:+.2f}, is brought to '{token}' by {heads} (layer/head); all other heads "
        "{rest:+.2f}.",
        source=naming.name(source),
        total=total,
        token=token,
        heads=", ".join(f"{layer}/{head} {part:+.2f}" for layer, head, part in largest),
        rest=rest,
    )


def measure_name(output: Output, tokenizer: Tokenizer) -> str:
    """The logit that is explained, as in "logit of '·ball' above the mean of all"."""
    token = visible(piece_of(tokenizer, output.token))
    if output.against is None:
        return f"logit of '{token}' above the mean of all"
    return f"logit of '{token}' less that of '{visible(piece_of(tokenizer, output.against))}'"


def predicted_against_measured(tested: TakenOff, tokenizer: Tokenizer) -> Statement:
    """How far a graph's forecasts hold in the real model, over all features that were taken off, by Pearson's
    correlations."""
    measured, predicted = without_rounding(tested.measured), tested.predicted
    measure, together = measure_name(tested.output, tokenizer), correlation(predicted, measured)
    if together is None:
        return state(
            "no effects",
            "Taken off in the real model, the {count} features leave the {measure} as it is.",
            count=len(measured),
            measure=measure,
        )
    frozen = correlation(predicted, tested.frozen)
    held = ", {frozen:.2f} where attention and the norms' scales are held (hollow)"
    return state(
        "forecasts",
        "{count} features are taken off in the real model, one at a time. Forecast and fall of the {measure}: "
        "correlation {correlation:.2f}" + ("" if frozen is None else held) + ". Dotted: as predicted.",
        measure=measure,
        count=len(measured),
        correlation=together,
        frozen=frozen,
    )


def forecast_details(graph: Graph, tested: TakenOff, tokenizer: Tokenizer) -> tuple[Metric, ...]:
    """More of the comparison of `predicted_against_measured`; nothing where nothing was measured."""
    measured, predicted = without_rounding(tested.measured), tested.predicted
    if correlation(predicted, measured) is None:
        return ()
    direct = correlation(tested.direct, measured)
    least = float(np.abs(measured).max()) / 10
    large = np.abs(measured) >= max(least, ROUNDING)
    same_sign = int((np.sign(predicted) == np.sign(measured))[large].sum())
    worst = int(np.abs(measured - predicted).argmax())
    slope = float(predicted @ measured) / float(predicted @ predicted)
    return (
        Metric("Measured over predicted", f"{slope:.2f}", help="Below 1 the model makes up for part"),
        *([] if direct is None else [Metric("Correlation with the direct edge alone", f"{direct:.2f}")]),
        Metric("Sign as predicted", f"{same_sign} of {int(large.sum())}", f"effects of at least {least:.2g} logits"),
        Metric(
            "Farthest off",
            f"{measured[worst]:+.2f}",
            f"predicted {predicted[worst]:+.2f}",
            help=feature_name(graph, int(tested.nodes[worst]), tokenizer),
        ),
    )


# ---- edges between heads ----


def largest_edges(circuit: HeadCircuit, of: str, unit: str) -> Statement:
    """The edges whose cut makes a quantity fall most, and the one whose cut makes it rise most.

    Args:
        of, unit: what falls, and the unit.
    """
    if not circuit.edges:
        return state("no edges", "No edge between heads changes the {of}.", of=of)
    last = int(np.argmin(circuit.effects))
    against = " Working against it most: {against}, {rise:+.2f}." if circuit.effects[last] < 0 else ""
    return state(
        "largest edges",
        "Fall of the {of} when one edge is cut, in {unit}, exact for the {measured} edges with the largest estimates "
        "of {possible:,}: {edges}." + against,
        of=of,
        unit=unit,
        edges=_with_effects(circuit.edges, circuit.effects),
        against=str(circuit.edges[last]),
        rise=circuit.effects[last],
        measured=len(circuit.edges),
        possible=circuit.possible,
    )


def largest_estimates(
    estimate: Float[ndarray, "input layer head earlier_layer earlier_head"], of: str, unit: str
) -> Statement:
    """The edges with the largest estimates, while none is cut yet."""
    return state(
        "largest estimates",
        "Estimated fall of the {of} when one edge is cut, in {unit}, largest of {possible:,}: {edges}; the exact "
        "effects are to come.",
        of=of,
        unit=unit,
        edges=_with_effects(*by_estimate(estimate)),
        possible=edges_of(estimate),
    )


def _with_effects(edges: Sequence[object], effects: Sequence[float]) -> str:
    return ", ".join(f"{edge} {effect:+.2f}" for edge, effect in list(zip(edges, effects, strict=True))[:NAMED])


def edge_estimates(circuit: HeadCircuit) -> Statement:
    """How near the estimates of the edges come: Pearson's correlation over those that were cut."""
    together = correlation(np.array(circuit.effects), np.array(circuit.estimates))
    if together is None:
        return state("no estimates", "Estimates and exact effects cannot be compared here.")
    return state(
        "estimates",
        "Correlation of estimate and exact effect over these {edges} edges: {correlation:.2f}.",
        edges=len(circuit.edges),
        correlation=together,
    )


def faithfulness(circuit: HeadCircuit, count: int, baseline: str, unit: str) -> Statement:
    """How much of a quantity the circuit of the first edges keeps.

    Args:
        count: of the edges.
        baseline: what stands in the place of what is cut, a key of BASELINES.
        unit: of the quantity.
    """
    value, none = circuit.value(count), circuit.value(0)
    plain = ", of the plain values {plain:.0%}" if unit == "logits" and circuit.whole > 0 else ""
    return state(
        "faithfulness",
        "With {count:counted edge} between heads left and the other {cut:,} cut (in their place: {baseline}): "
        "{value:.2f} {unit}; with all cut {none:.2f}, the whole model {whole:.2f}. Faithfulness {share}" + plain + ".",
        count=count,
        cut=circuit.possible - count,
        baseline=BASELINES[baseline],
        value=value,
        none=none,
        whole=circuit.whole,
        unit=unit,
        share=share_text(circuit, count),
        plain=value / circuit.whole if circuit.whole else None,
    )


def share_text(circuit: HeadCircuit, count: int) -> str:
    """The share of a quantity that the circuit of the first edges keeps; a dash where cutting all changes nothing."""
    share = circuit.share(count)
    return "–" if share is None else f"{share:.0%}"
