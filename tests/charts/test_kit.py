"""The pieces of charts are what plotly takes, and nothing that was not asked for."""

import pytest

from tfcore.charts import kit, theme

X, Y = [1, 2], [3.0, 4.0]
TRACES = {
    "a bare line": (kit.line(X, Y), {"type": "scatter", "mode": "lines", "x": X, "y": Y}),
    "a line": (
        kit.line(X, Y, "@key", name="k", width=2, dash="dot", hover="%{x}", xaxis="x2"),
        {
            "type": "scatter",
            "mode": "lines",
            "x": X,
            "y": Y,
            "name": "k",
            "xaxis": "x2",
            "line": {"color": "@key", "width": 2, "dash": "dot"},
            "hovertemplate": "%{x}<extra></extra>",
        },
    ),
    "a line with marks": (
        kit.line(X, Y, "@key", marks={"size": 5}, hover=False),
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": X,
            "y": Y,
            "hoverinfo": "skip",
            "line": {"color": "@key"},
            "marker": {"size": 5},
        },
    ),
    "dots": (
        kit.dots(X, Y, "@key", size=9, symbol="star", marker={"opacity": 0.5}, hover="%{y}<extra>here</extra>"),
        {
            "type": "scatter",
            "mode": "markers",
            "x": X,
            "y": Y,
            "hovertemplate": "%{y}<extra>here</extra>",
            "marker": {"color": "@key", "size": 9, "symbol": "star", "opacity": 0.5},
        },
    ),
    "words": (
        kit.words(X, Y, ["a", "b"], "@ink", size=11, family=theme.MONO),
        {
            "type": "scatter",
            "mode": "text",
            "x": X,
            "y": Y,
            "text": ["a", "b"],
            "textfont": {"size": 11, "color": "@ink", "family": theme.MONO},
        },
    ),
    "bars": (
        kit.bars(X, Y, ["@cat0", "@cat1"], name="b", orientation="h", marker={"line": {"width": 0}}),
        {
            "type": "bar",
            "x": X,
            "y": Y,
            "name": "b",
            "orientation": "h",
            "marker": {"color": ["@cat0", "@cat1"], "line": {"width": 0}},
        },
    ),
    "cells": (
        kit.cells([[0, 1]], "@weights", 0, 1, showscale=False),
        {"type": "heatmap", "z": [[0, 1]], "colorscale": "@weights", "zmin": 0, "zmax": 1, "showscale": False},
    ),
}
NOTES = {
    "a note": (
        kit.note("here", 1, 2),
        {"text": "here", "x": 1, "y": 2, "showarrow": False, "font": {"size": 12, "color": "@muted"}},
    ),
    "a note on the paper": (
        kit.note("here", 0, 1, "@ink", size=None, paper="xy", xanchor="left"),
        {
            "text": "here",
            "x": 0,
            "y": 1,
            "showarrow": False,
            "font": {"color": "@ink"},
            "xref": "paper",
            "yref": "paper",
            "xanchor": "left",
        },
    ),
}
SHAPES = {
    "across": (
        kit.across(3, width=1, dash="dot"),
        {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": 3,
            "y1": 3,
            "layer": "below",
            "line": {"color": "@muted", "width": 1, "dash": "dot"},
        },
    ),
    "upright, above the data": (
        kit.upright(3, "@accent", below=False),
        {"type": "line", "yref": "paper", "x0": 3, "x1": 3, "y0": 0, "y1": 1, "line": {"color": "@accent"}},
    ),
    "a stroke": (
        kit.stroke(1, 2, 3, 4, "@ink", width=2),
        {"type": "line", "x0": 1, "x1": 2, "y0": 3, "y1": 4, "line": {"color": "@ink", "width": 2}},
    ),
    "a box": (
        kit.box(1, 2, 0, 1, "@muted/0.16", width=0, below=True, paper="y"),
        {
            "type": "rect",
            "x0": 1,
            "x1": 2,
            "y0": 0,
            "y1": 1,
            "yref": "paper",
            "layer": "below",
            "fillcolor": "@muted/0.16",
            "line": {"width": 0},
        },
    ),
}
AXES = {
    "a bare axis": (kit.axis(), {}),
    "an axis": (
        kit.axis("loss", [0, 1], log=True, fixed=True, grid=False, zero=True, dtick=1),
        {
            "title": "loss",
            "range": [0, 1],
            "type": "log",
            "fixedrange": True,
            "showgrid": False,
            "dtick": 1,
            "zeroline": True,
            "zerolinecolor": "@muted",
        },
    ),
}


@pytest.mark.parametrize("made", [TRACES, NOTES, SHAPES, AXES])
def test_what_is_not_given_is_left_to_plotly(made):
    for name, (found, expected) in made.items():
        assert found == expected, name


def test_plotly_takes_all_of_them():
    layout = theme.base_layout(
        200,
        xaxis=AXES["an axis"][0],
        yaxis=AXES["a bare axis"][0],
        annotations=[found for found, _ in NOTES.values()],
        shapes=[found for found, _ in SHAPES.values()],
    )
    theme.check(theme.build([found for found, _ in TRACES.values()], layout))


def test_what_is_given_twice_is_an_error():
    with pytest.raises(TypeError):
        kit.line(X, Y, x=X)
