"""A round of questions as a map: one square a question, a row for each chapter, filled as they are answered."""

from collections.abc import Sequence
from typing import Literal

import plotly.graph_objects as go

from tfcore.charts import kit, theme

State = Literal["right", "wrong", "open"]
STYLE: dict[State, tuple[str, str, str]] = {  # fill, text, sign
    "right": ("@accent", "@paper", " ✓"),
    "wrong": ("@paper", "@ink", " ✗"),
    "open": ("@grid", "@ink", ""),
}


def round_map(chapters: Sequence[str], states: Sequence[State], current: int, height: int) -> go.Figure:
    """The questions of a round.

    Args:
        chapters: of each question, in the order of the round.
        states: of each question.
        current: place of the question that is shown, from 0; -1 for none.
        height: in pixels.

    A click on a square carries customdata [number of the question, from 1].
    """
    rows = list(dict.fromkeys(chapters))
    places = [(sum(c == chapter for c in chapters[:i]), rows.index(chapter)) for i, chapter in enumerate(chapters)]
    squares = {
        "type": "scatter",
        "mode": "markers+text",
        "x": [x for x, _ in places],
        "y": [y for _, y in places],
        "customdata": [[i + 1] for i in range(len(chapters))],
        "text": [f"{i + 1}{STYLE[state][2]}" for i, state in enumerate(states)],
        "textfont": {"size": 13, "color": [STYLE[state][1] for state in states]},
        "hovertext": [
            f"question {i + 1}, {chapter}: {state}"
            for i, (chapter, state) in enumerate(zip(chapters, states, strict=True))
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "marker": {
            "symbol": "square",
            "size": 30,
            "opacity": 1,
            "color": [STYLE[state][0] for state in states],
            "line": {
                "width": [3 if i == current else 1 for i in range(len(states))],
                "color": ["@ink" if i == current else "@muted" for i in range(len(states))],
            },
        },
    }
    done = {row: [s for c, s in zip(chapters, states, strict=True) if c == row and s != "open"] for row in rows}
    names = [f"{row}  {done[row].count('right')}/{len(done[row])}" if done[row] else row for row in rows]
    longest = max(x for x, _ in places)
    layout = theme.base_layout(
        height,
        margin={"l": 8, "r": 8, "t": 6, "b": 6},
        showlegend=False,
        xaxis=kit.axis(None, [-0.6, max(longest, 5) + 0.6], fixed=True, visible=False),
        yaxis=kit.axis(
            None,
            [len(rows) - 0.4, -0.6],
            fixed=True,
            grid=False,
            tickvals=list(range(len(rows))),
            ticktext=names,
            tickfont={"size": 13, "color": "@ink"},
        ),
    )
    return theme.build([squares], layout)
