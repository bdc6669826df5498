"""Pictures of beam search: every candidate of every step, joined to the text it continues, and the final scores."""

from collections.abc import Sequence
from html import unescape
from typing import Any

import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.measures.token_text import label, tick_labels
from tfcore.views.inference.generation.measure.beam_tree import BeamTree, Node

CHARACTERS = 9  # of a token that fit into its place
TEXT = 60  # characters of a text in a hover
LINES = {
    "dropped": ("dropped", "@muted/0.35", 1.0),
    "kept": ("kept", "@embedding/0.8", 2.0),
    "best": ("the best text", "@accent", 4.5),
    "greedy": ("greedy's text", "@cat1", 2.0),
}


def tree_figure(tree: BeamTree, height: int) -> go.Figure:
    """Steps to the right, likelier texts further up; a line joins each text to the one that it continues."""
    labels = tick_labels([node.token for node in tree.nodes], CHARACTERS)
    best = tree.results[0].ids if tree.results else ()
    on_best = {best[:n] for n in range(1, len(best) + 1)}
    on_greedy = {tree.greedy.ids[:n] for n in range(1, len(tree.greedy.ids) + 1)}
    paths: dict[str, list[Node]] = {kind: [] for kind in LINES}
    for node in tree.nodes:
        paths["dropped" if node.state == "dropped" else "kept"].append(node)
        if node.ids in on_best and node.state != "dropped":
            paths["best"].append(node)
        if node.ids in on_greedy:
            paths["greedy"].append(node)
    data = [_lines(tree, nodes, kind) for kind, nodes in paths.items()]
    rows = max((node.rank for node in tree.nodes), default=0) + 1
    layout = theme.base_layout(
        height,
        margin={"l": 8, "r": 8, "t": 34, "b": 40},
        xaxis=kit.axis(
            {"text": "tokens written", "standoff": 4},
            [-0.25, tree.steps + 0.55],
            grid=False,
            dtick=1,
            tickvals=list(range(1, tree.steps + 1)),
        ),
        yaxis=kit.axis(None, [rows - 0.4, -0.6], grid=False, showticklabels=False),
        shapes=[kit.across(tree.beams - 0.5, width=1, dash="dot", below=False, yref="y")],
        annotations=[_words(node, name, node.ids in on_best) for node, name in zip(tree.nodes, labels, strict=True)]
        + [kit.note("text", 0, (tree.beams - 1) / 2, bgcolor="@paper")],
    )
    return theme.build([*data, _marks(tree, labels)], layout)


def _lines(tree: BeamTree, nodes: Sequence[Node], kind: str) -> dict[str, Any]:
    """From each node to its parent, as one line with gaps."""
    name, colour, width = LINES[kind]
    x: list[float | None] = []
    y: list[float | None] = []
    middle = (min(node.rank for node in tree.nodes) + sum(n.state == "kept" for n in tree.nodes if n.step == 1) - 1) / 2
    for node in nodes:
        parent = tree.nodes[node.parent] if node.parent >= 0 else None
        x += [node.step - 1, node.step, None]
        y += [parent.rank if parent else middle, node.rank, None]
    return kit.line(x, y, colour, name=name, width=width, dash="dot" if kind == "greedy" else "solid", hover=False)


def _marks(tree: BeamTree, labels: Sequence[str]) -> dict[str, Any]:
    """Invisible points that answer the pointer."""
    return kit.dots(
        [node.step for node in tree.nodes],
        [node.rank for node in tree.nodes],
        "@paper/0",
        size=22,
        hover="'%{customdata[0]}' with %{customdata[1]:.3f}; the text so far: log p = %{customdata[2]:.2f}; "
        "%{customdata[3]}",
        showlegend=False,
        customdata=[
            [name, node.probability, node.score, node.state] for node, name in zip(tree.nodes, labels, strict=True)
        ],
    )


def _words(node: Node, name: str, is_best: bool) -> dict[str, Any]:
    """A token in its place, with its probability; dropped ones faint, finished ones framed."""
    plain = unescape(name)
    short = name if len(plain) <= CHARACTERS else name if "&" in name else plain[: CHARACTERS - 1] + "…"
    dropped = node.state == "dropped"
    return kit.note(
        short if dropped else f"{'<b>' if is_best else ''}{short}{'</b>' if is_best else ''} {shown(node)}",
        node.step,
        node.rank,
        "@muted" if dropped else "@ink",
        size=11,
        family=theme.MONO,
        bgcolor="@paper",
        borderpad=1,
        bordercolor="@accent" if node.state == "finished" else "@paper/0",
    )


def shown(node: Node) -> str:
    """A probability in two digits, without the zero that all have."""
    return "1" if node.probability > 0.995 else f"{node.probability:.2f}"[1:]


def results_figure(tree: BeamTree, height: int) -> go.Figure:
    """The score of each finished text and of greedy's, as bars."""
    every = [*tree.results, tree.greedy]
    trace = kit.bars(
        [beam.score for beam in every],
        list(range(len(every))),
        ["@accent", *["@embedding"] * (len(every) - 2), "@cat1"][: len(every)],
        hover="%{customdata[0]} (%{customdata[1]} tokens): %{x:.3f}",
        orientation="h",
        text=[f"{beam.score:.3f}" for beam in every],
        textposition="outside",
        cliponaxis=False,
        customdata=[[label(text, TEXT), len(beam.ids)] for text, beam in zip(tree.texts, every, strict=True)],
    )
    low = min(beam.score for beam in every)
    layout = theme.base_layout(
        height,
        bargap=0.3,
        margin={"l": 8, "r": 8, "t": 8, "b": 40},
        showlegend=False,
        xaxis=kit.axis({"text": "score", "standoff": 4}, [1.22 * low, 0]),
        yaxis=kit.axis(
            grid=False,
            autorange="reversed",
            tickvals=list(range(len(every))),
            side="right",
            ticktext=[*(str(i + 1) for i in range(len(tree.results))), "greedy"],
            tickfont={"size": 12, "color": "@ink"},
        ),
    )
    return theme.build([trace], layout)
