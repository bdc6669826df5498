"""The only place with colours: what each role looks like on light and on dark paper.

A figure builder never names a colour. It names a role ("@query", "@muted", "@head3", "@key/0.3" for 30 % opacity) or a
scale ("@weights", "@logweights", "@signed", "@seq:value"), and whoever draws the figure puts the colours of the theme
in their place: `tfcore/charts/scenes/colours.js` in the browser, `resolve` here in Python. One figure, both themes;
switching needs no server.

Names are only looked for under keys that end in "color", "colors", "colorscale" or "colorway", so no token of a
user's text is ever taken for one.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import plotly.graph_objects as go

from tfcore.charts.oklab import mix, rgb

Figure: TypeAlias = go.Figure
Theme = Literal["light", "dark"]
Scale = list[list[float | str]]
THEMES: tuple[Theme, Theme] = ("light", "dark")

FONT = "'Source Sans', 'Segoe UI', Arial, sans-serif"
MONO = "'Source Code Pro', Menlo, Consolas, 'DejaVu Sans Mono', monospace"

# role: (on light paper, on dark paper). Hues after Okabe and Ito; darkened or lightened until each stands out from
# its paper by at least 3 to 1. paper, ink, grid and accent equal .streamlit/config.toml (a test compares them).
ROLES: dict[str, tuple[str, str]] = {
    "paper": ("#fcfbf8", "#16181d"),
    "ink": ("#1f2430", "#e6e4de"),
    "muted": ("#6a6e78", "#9b9fa8"),
    "grid": ("#dedacf", "#343841"),
    "accent": ("#3b4ba3", "#6a7de0"),
    "query": ("#d55e00", "#f0813d"),
    "key": ("#0072b2", "#5aa9e0"),
    "value": ("#008f68", "#30c598"),
    "attention": ("#5d35a8", "#b79cf4"),
    "feedforward": ("#b8578c", "#e296c2"),
    "norm": ("#737373", "#a6a6a6"),
    "residual": ("#a87400", "#f0b432"),
    "embedding": ("#2b8cc4", "#8bcdf4"),
    "position": ("#117a8b", "#4db6c6"),
}
# Eight that differ by lightness as well as by hue, so that they stay apart without red or green cones (tested).
CATEGORIES: list[tuple[str, str]] = [
    ("#0072b2", "#5aa9e0"),
    ("#d55e00", "#f0813d"),
    ("#008f68", "#30c598"),
    ("#7a1458", "#c8709a"),
    ("#553300", "#a5701a"),
    ("#5c5c5c", "#ebebeb"),
    ("#3b1a86", "#9a66c8"),
    ("#5295b9", "#8eccfa"),
]
# Kinds of attention heads, in the order in which they are listed; the last two do nothing definite.
HEAD_KINDS = {
    "previous token": "@cat0",
    "next token": "@cat7",
    "first token": "@cat5",
    "self": "@cat2",
    "duplicate": "@cat4",
    "induction": "@cat1",
    "same place": "@cat0",
    "last token": "@cat2",
    "local": "@head6/0.45",
    "broad": "@muted/0.22",
    "mixer": "@cat2",  # what a layer of a hybrid has in the place of attention or beside it
    "no attention": "@paper",  # a layer of a hybrid that has a state or a convolution
}
# Ends of the scales that are not a role's own hue, and the hue they pass through on the way.
WEIGHTS = (("#2f0b66", "#6b3fc0"), ("#f3eeff", "#8a5cf0"))
SIGNED = (("#0a4f8f", "#a8260f"), ("#6fb8f2", "#f58a62"))
STEPS = 9
HIGHEST = 890  # pixels of a picture of rows that a window shows whole
DECADES = 3  # of weights that a logarithmic scale tells apart: 0.001 looks like nothing

PLAIN_SCALES = ("@weights", "@logweights", "@signed")
_COLOUR_KEY = re.compile(r"colou?r(s|scale|way)?$", re.IGNORECASE)
_NAME = re.compile(r"@([a-z]+)(\d*)(?:/(0?\.\d+|0|1))?")


def colour(name: str, theme: Theme) -> str:
    """The colour of a role such as "@query", "@cat3", "@head11" or "@key/0.3" in a theme, as CSS.

    Raises:
        ValueError: the name is no role.
    """
    match = _NAME.fullmatch(name)
    role, number, alpha = match.groups() if match else ("", "", None)
    if number and role in ("cat", "head", "expert"):
        pair = CATEGORIES[int(number) % len(CATEGORIES)]
    elif not number and role in ROLES:
        pair = ROLES[role]
    else:
        raise ValueError(f"{name!r} is no colour role; roles are @{', @'.join(ROLES)}, @cat0, @head0, @expert0")
    solid = pair[theme == "dark"]
    if alpha is None:
        return solid
    red, green, blue = (round(255 * c) for c in rgb(solid))
    return f"rgba({red},{green},{blue},{float(alpha):g})"


def scale(name: str, theme: Theme) -> Scale:
    """The stops of a colour scale: "@weights" (0..1), "@logweights" (the same colours, by the logarithm), "@signed"
    (zero in the middle) or "@seq:ROLE".

    Every scale starts (or has its middle) at the paper, so that "nothing" looks like nothing.

    Raises:
        ValueError: the name is no scale.
    """
    dark = theme == "dark"
    paper = ROLES["paper"][dark]
    steps = [i / (STEPS - 1) for i in range(STEPS)]
    if name in ("@weights", "@logweights"):
        end, via = WEIGHTS[dark]
        if name == "@weights":
            return [[t, mix(paper, end, t, via)] for t in steps]
        stops: Scale = [[10 ** (DECADES * (t - 1)), mix(paper, end, t, via)] for t in steps]
        return [[0.0, paper], *stops]
    if name == "@signed":
        negative, positive = SIGNED[dark]
        below: Scale = [[t / 2, mix(negative, paper, t)] for t in steps]
        return below + [[(1 + t) / 2, mix(paper, positive, t)] for t in steps[1:]]
    if name.startswith("@seq:"):
        return [[t, mix(paper, colour("@" + name[5:], theme), t)] for t in steps]
    raise ValueError(f"{name!r} is no colour scale; scales are @weights, @logweights, @signed and @seq:ROLE")


def resolve(figure: Any, theme: Theme) -> Any:
    """A copy of a figure (as nested dicts and lists) with every role and scale replaced by colours of the theme."""
    if isinstance(figure, Mapping):
        return {k: _coloured(v, theme) if _COLOUR_KEY.search(k) else resolve(v, theme) for k, v in figure.items()}
    return [resolve(v, theme) for v in figure] if isinstance(figure, list | tuple) else figure


def _coloured(value: Any, theme: Theme) -> Any:
    """The value of a colour key: a name, a list of names, or the stops of a scale."""
    if isinstance(value, str) and value.startswith("@"):
        is_scale = ":" in value or value in PLAIN_SCALES
        return scale(value, theme) if is_scale else colour(value, theme)
    if isinstance(value, list | tuple):
        return [_coloured(v, theme) for v in value]
    return resolve(value, theme) if isinstance(value, Mapping) else value


def build(data: list[dict[str, Any]], layout: dict[str, Any]) -> go.Figure:
    """A plotly Figure from plain dicts. Use this instead of go.Scatter(...): plotly would refuse "@query" there.

    Skipping plotly's validation also makes it much faster; `check` does that validation, for tests. Read
    numbered axes back with `figure.to_dict()`; plotly does not know of them as attributes here.
    """
    # Where it is given a template, plotly does not copy its default one, for three quarters of the time. The layout is
    # not given to the constructor, which validates axes with a number whatever it is told.
    figure = go.Figure({"data": data, "layout": {"template": {}}}, _validate=False)
    figure._layout.clear()
    figure._layout.update(layout)
    return figure


def painted(figure: go.Figure, theme: Theme = "light") -> go.Figure:
    """A figure in the colours of a theme, for `show` and `write_html` of plotly, which know no roles."""
    return go.Figure(resolve(figure.to_dict(), theme))


def check(figure: go.Figure) -> None:
    """Let plotly validate a figure's property names and values, with roles resolved in both themes. For tests.

    Raises:
        ValueError: a property that plotly does not have, a value it does not take, or an unknown role.
    """
    for theme in THEMES:
        painted(figure, theme)


def base_layout(height: int, **parts: Any) -> dict[str, Any]:
    """The layout every figure starts from; axes get the common style, other keywords replace the common value.

    Args:
        height: of the whole figure, in pixels.
        parts: layout properties, e.g. xaxis={"title": "offset"}, yaxis2={...}, margin={"l": 80}. Axes may give their
            title as a string; margin, legend and hoverlabel are merged with the common ones.

    Returns:
        a layout as a plain dict, for `build`.
    """
    layout: dict[str, Any] = {
        "height": height,
        "margin": {"l": 56, "r": 16, "t": 28, "b": 44},
        "font": {"family": FONT, "size": 13, "color": "@ink"},
        "paper_bgcolor": "@paper",
        "plot_bgcolor": "@paper",
        "hoverlabel": {
            "bgcolor": "@paper",
            "bordercolor": "@muted",
            "align": "left",
            "font": {"family": FONT, "size": 13, "color": "@ink"},
        },
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 12}},
        "colorway": [f"@cat{i}" for i in range(len(CATEGORIES))],
        "dragmode": False,
        "hovermode": "closest",
        "xaxis": {},
        "yaxis": {},
    }
    for name, value in parts.items():
        merge = name in ("margin", "font", "legend", "hoverlabel")
        layout[name] = {**layout[name], **value} if merge else value
    for name in [n for n in layout if re.fullmatch(r"[xy]axis\d*", n)]:
        layout[name] = _axis(layout[name])
    return layout


def row_height(rows: int, full: int, around: int) -> int:
    """Pixels of one of so many rows; rows move together where the picture would be taller than a window.

    Args:
        full: of a row where there is room.
        around: pixels above and below all rows.
    """
    return min(full, (HIGHEST - around) // rows)


def _axis(axis: Mapping[str, Any]) -> dict[str, Any]:
    """The common style of an axis under the given properties."""
    title = axis.get("title", {})
    title = {"text": title} if isinstance(title, str) else dict(title)
    return {
        "gridcolor": "@grid",
        "zeroline": False,
        "linecolor": "@grid",
        "tickcolor": "@grid",
        "ticks": "",
        "automargin": True,
        "tickfont": {"size": 12, "color": "@muted"},
        **axis,
        "title": {"font": {"size": 13, "color": "@ink"}, "standoff": 8, **title},
    }


def browser_tables() -> dict[str, Any]:
    """Tables by which colours.js does the same as `resolve`: per theme the roles, categories and stops of scales."""
    return {
        theme: {
            "roles": {role: pair[dark] for role, pair in ROLES.items()},
            "categories": [pair[dark] for pair in CATEGORIES],
            "scales": {n: scale(n, theme) for n in [*PLAIN_SCALES, *(f"@seq:{r}" for r in ROLES)]},
        }
        for dark, theme in enumerate(THEMES)
    }
