"""Views of the edges between heads that a quantity depends on most, cut one by one, and of what they keep alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from jaxtyping import Float
from numpy import ndarray

from tfcore.measures.effect_metric import Quantity, quantity_name
from tfcore.measures.one_text import last_tokens
from tfcore.views.finding import Finding
from tfcore.views.inside.circuits import say
from tfcore.views.inside.circuits.draw.edges import edges_figure, faithfulness_figure, graph_height
from tfcore.views.inside.circuits.measure import head_circuits, head_edges
from tfcore.views.inside.circuits.measure.head_circuits import HeadCircuit
from tfcore.views.inside.circuits.measure.head_edges import Baseline, CutEdges
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, opened
from tfcore.views.view import Metric, View, view

TOKENS = 64  # of a text


@dataclass(frozen=True, slots=True)
class Cuts:
    """How edges between heads are cut.

    Args:
        quantity: that falls.
        kind: what stands in the place of what an edge carries, a key of say.BASELINES.
        other: the text whose values those are, where kind is "text"; it has as many tokens.
        steps: of integrated gradients; 1: one gradient.
    """

    quantity: Quantity
    kind: str = "text"
    other: str = ""
    steps: int = 1


def ids_of(reading: Reading) -> list[int]:
    """The last TOKENS tokens of a text."""
    model, tokenizer = opened(reading.model)
    return last_tokens(model, tokenizer, reading.text, TOKENS, reading.bos).ids


def baseline_of(reading: Reading, cuts: Cuts) -> Baseline:
    """The ids of the other text, "mean" or "zero"."""
    if cuts.kind == "text":
        model, tokenizer = opened(reading.model)
        return tuple(last_tokens(model, tokenizer, cuts.other, TOKENS, reading.bos).ids)
    return "mean" if cuts.kind == "mean" else "zero"


def _estimated(reading: Reading, cuts: Cuts) -> Float[ndarray, "input layer head earlier_layer earlier_head"]:
    model, baseline = opened(reading.model)[0], baseline_of(reading, cuts)
    return head_edges.estimate_edges(model, ids_of(reading), cuts.quantity, baseline, cuts.steps)


def _all_cut(reading: Reading, cuts: Cuts) -> list[CutEdges | HeadCircuit]:
    model, baseline, estimate = opened(reading.model)[0], baseline_of(reading, cuts), estimated_of(reading, cuts)
    return list(head_circuits.find_circuit(model, ids_of(reading), cuts.quantity, baseline, estimate))


estimated_of = kept(_estimated, entries=16)
all_cut = kept(_all_cut, entries=24)
first_rival = kept(head_circuits.first_rival, entries=64)


def circuit_of(so_far: Sequence[CutEdges | HeadCircuit]) -> HeadCircuit | None:
    """The circuit, which comes last; None while edges are still being cut."""
    return so_far[-1] if so_far and isinstance(so_far[-1], HeadCircuit) else None


@view
def edge_graph(
    reading: Reading, cuts: Cuts, count: int, *, so_far: Sequence[CutEdges | HeadCircuit] | None = None
) -> View:
    """The circuit of the edges between heads that a quantity depends on most (arXiv:2310.10348).

    Args:
        reading: the last TOKENS tokens of a text.
        cuts: what is measured, and how edges are cut.
        count: of the edges that are drawn.
        so_far: what is cut until now; the edges are those of the estimates until the last is. None cuts all.
    """
    model, tokenizer = opened(reading.model)
    circuit = circuit_of(all_cut(reading, cuts) if so_far is None else so_far)
    of, unit = quantity_name(cuts.quantity, tokenizer), cuts.quantity.unit
    findings: tuple[Finding, ...]
    if circuit is None:
        estimate = estimated_of(reading, cuts)
        edges, effects = head_circuits.by_estimate(estimate)
        findings = (say.largest_estimates(estimate, of, unit),)
    else:
        edges, effects = circuit.edges, circuit.effects
        findings = (say.largest_edges(circuit, of, unit), say.edge_estimates(circuit))
    return View(
        key="graph",
        title="The circuit",
        result=circuit,
        chart=edges_figure(edges[:count], effects[:count], unit, graph_height(model.config.n_layers)),
        min_width=340,
        findings=findings,
        note="Dotted: cutting it raises what is measured.",
        table=lambda: edge_table(circuit),
        formula=(
            r"\begin{gathered}\text{estimate} = \sum_i \big(z_i W_O - z_i^{base} W_O\big) \cdot "
            r"\frac{\partial\, \text{difference}}{\partial x_i^{Q, K \text{ or } V}} \\ "
            r"\text{faithfulness} = \frac{d(\text{circuit}) - d(\text{all cut})}{d(\text{model}) - "
            r"d(\text{all cut})}\end{gathered}"
        ),
        papers=(
            "Edge attribution patching: arXiv:2310.10348, section 3; with integrated gradients, and faithfulness: "
            "arXiv:2403.17806, section 2. The example of Mary and John: arXiv:2211.00593."
        ),
        terms=("edge attribution patching", "faithfulness"),
        code=(head_edges.estimate_edges, head_edges.cut_each, head_circuits.circuits_alone),
    )


def edge_table(circuit: HeadCircuit | None) -> pd.DataFrame:
    """Every edge that was cut: none until the last is."""
    if circuit is None:
        return pd.DataFrame()
    rows = zip(circuit.edges, circuit.effects, circuit.estimates, strict=True)
    return pd.DataFrame(
        [
            (
                f"{edge.sender[0]}.{edge.sender[1]}",
                f"{edge.receiver[0]}.{edge.receiver[1]}",
                edge.input,
                exact,
                estimate,
            )
            for edge, exact, estimate in rows
        ],
        columns=["from", "to", "input", "exact", "estimate"],
    )


@view
def edges_left(
    reading: Reading, cuts: Cuts, count: int, *, so_far: Sequence[CutEdges | HeadCircuit] | None = None
) -> View:
    """How much of a quantity the circuit alone keeps (arXiv:2403.17806, section 2); arguments as of `edge_graph`.

    Raises:
        ValueError: edges are still being cut.
    """
    circuit = circuit_of(all_cut(reading, cuts) if so_far is None else so_far)
    if circuit is None:
        raise ValueError("the edges are still being cut; the circuit comes after the last of them")
    unit, count = cuts.quantity.unit, count if count in circuit.counts else circuit.counts[-1]
    return View(
        key="left",
        title="What it keeps",
        result=circuit,
        chart=faithfulness_figure(circuit, count, unit, height=300),
        min_width=300,
        findings=(say.faithfulness(circuit, count, cuts.kind, unit),),
        metrics=(Metric("Faithfulness", say.share_text(circuit, count)),),
        table=lambda: pd.DataFrame({"edges": circuit.counts, unit: circuit.values}),
    )
