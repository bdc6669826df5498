"""A view: a picture of a result, with all that is said of it, and how it was made.

    @view
    def cache_sizes(shape: CacheShape, tokens: int) -> View:
        \"\"\"How large the cache is.\"\"\"
        found = ...
        return View(key="sizes", title="Cache sizes", result=found, chart=figure(found), findings=(found,))

    shown = cache_sizes(shape, 1_024)
    print(shown)              # its findings
    shown                     # in a notebook: the picture
    shown.html(), shown.csv(), shown.json(), shown.text()
    shown.save("sizes.svg")   # or .png, .html, .csv, .json, .txt
    program(shown)            # of tfcore.views.programs: what makes it again

`view` notes the function and its arguments, a model by its name alone: nothing is kept alive by a view.
"""

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import wraps
from html import escape
from os import PathLike
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias

import numpy as np

from tfcore.charts import bundle, faint, scenes, stills
from tfcore.charts.theme import Figure, Theme, painted
from tfcore.measures.token_text import shorten as cut
from tfcore.measures.token_text import visible_character
from tfcore.tokenizers.tokenizer import unmarked
from tfcore.views import addresses
from tfcore.views.finding import Finding, Statement
from tfcore.views.kept import while_drawn
from tfcore.views.sources import SO_FAR as SO_FAR
from tfcore.views.sources import File, Reading, as_taken, in_memory, name_of

if TYPE_CHECKING:
    import pandas as pd

P = ParamSpec("P")

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<body style="font-family: sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem">
<h1>{title}</h1>
{picture}
<p>{caption}</p>
</body>
</html>
"""
ENDINGS = (*stills.KINDS, "html", "csv", "json", "txt")
WIDTH = 900  # pixels of a picture in a file
OPEN, OPEN_PAGE = "Open in the app", "Open its page in the app, where some settings differ"
LINE = 24  # pixels of a link below a figure
AROUND = 80  # pixels of a margin that says nothing, as plotly has it


@dataclass(frozen=True, slots=True)
class Made:
    """How a view was made.

    Args:
        function: that returned it.
        arguments: by name, as literals can say them: a model as its name, or None where it exists in memory alone.
    """

    function: Callable[..., "View"]
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A picture that a script of ours draws: what it draws, as JSON has it, and the script's name.

    Args:
        module: of tfcore/charts/scenes, without its ending; it exports `draw(element, data)`.
        data: with role colours ("@query"), which the script resolves.
        height: in pixels.
    """

    module: str
    data: Mapping[str, Any]
    height: int


Chart: TypeAlias = Figure | Scene


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that stands beside a picture, with what it is and what belongs to it.

    Args:
        note: below it; None for none.
        help: more about it, for who asks.
    """

    label: str
    value: str
    note: str | None = None
    help: str = ""


PREVIEW = 200  # signs
LONGEST_SETTING, LONGEST_LINE = 60, 240  # signs of what a view was computed from
MANY_SETTINGS = 8  # values of a list that are said


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A picture with all that belongs to it.

    Args:
        key: names the picture on its page, in links to it alone and in files; it stays as it is.
        title: of the picture, in a few words.
        result: the numbers.
        chart: a figure with role colours, see `painted`, and with a height; or a scene.
        findings: what is said of it, the most important first.
        described: what the picture itself shows to who can see it; its alternative text in place of the first finding.
        conclusions: findings that stand below the picture in a line of their own, and not in the caption.
        note: how to read it: words that follow the findings in the caption.
        metrics: numbers to stand beside it.
        table: makes the numbers behind the chart as a table.
        min_width: in pixels; on a narrower screen it scrolls sideways.
        at: where in a picture of that width the mark is that must be in sight, in pixels from the left.
        cursor: whether the row and the column under the pointer are marked.
        formula: LaTeX.
        papers: Markdown, with arXiv id and equation.
        terms: of the glossary.
        code: functions and classes that computed it.
        made: filled in by `view`.
    """

    key: str
    title: str
    result: Any
    chart: Chart
    findings: tuple[Finding, ...] = ()
    described: Finding | None = None
    conclusions: tuple[Finding, ...] = ()
    note: str = ""
    metrics: tuple[Metric, ...] = ()
    table: "Callable[[], pd.DataFrame] | None" = field(default=None, repr=False)
    min_width: int = 0
    at: int | None = None
    cursor: bool = False
    formula: str = ""
    papers: str = ""
    terms: tuple[str, ...] = ()
    code: tuple[Callable[..., Any] | type, ...] = ()
    made: Made | None = None

    def __post_init__(self) -> None:
        if not self.findings and self.described is None:
            raise ValueError(f"nothing is said of the view {self.key!r}; give it findings, or describe it")

    def over(self, before: "View", words: str) -> "View":
        """The picture drawn over the lines of an earlier one of the same view, which stay in sight, faint.

        Args:
            words: what the faint lines are; they end the caption.

        Raises:
            ValueError: one of the two is a scene.
        """
        if isinstance(self.chart, Scene) or isinstance(before.chart, Scene):
            raise ValueError(f"the view {self.key!r} is a scene: only charts are drawn over others")
        return replace(self, chart=faint.over(self.chart, before.chart), note=f"{self.note} {words}".strip())

    @property
    def height(self) -> int:
        """The height of the chart, in pixels."""
        return int(self.chart.height if isinstance(self.chart, Scene) else self.chart.layout.height)

    @property
    def alt(self) -> str:
        """A description of the picture, or the main finding, for who cannot see it."""
        return str(self.described or self.findings[0])

    @property
    def caption(self) -> str:
        """All findings, and how to read the picture."""
        return " ".join(filter(None, [*map(str, self.findings), self.note]))

    @property
    def preview(self) -> str:
        """A line of at most 200 signs for a preview of a link: the title and the main finding, whole words of it."""
        return shorten(f"{self.title}: {(self.findings or (self.described,))[0]}", PREVIEW, placeholder=" ...")

    @property
    def computed(self) -> str:
        """The model, the text and the settings that it was computed from, in a line: the beginning of what is long."""
        said = [_setting(name, value) for name, value in (self.made.arguments if self.made else {}).items()]
        return cut(" · ".join(filter(None, said)), LONGEST_LINE)

    def __str__(self) -> str:
        """The findings, or where there are none what the picture shows, and the metrics, one a line."""
        beside = [f"{one.label}: {one.value}" + (f"; {one.note}" if one.note else "") for one in self.metrics]
        return "\n".join([*map(str, self.findings or (self.described,)), *map(str, self.conclusions), *beside])

    def numbers(self) -> "pd.DataFrame":
        """The table.

        Raises:
            ValueError: there is none.
        """
        if self.table is None:
            raise ValueError(f"the view {self.key!r} has no table; its result has the numbers")
        return self.table()

    def csv(self) -> str:
        """The table, as `numbers` has it."""
        # a field is quoted for the signs that end a row: a token may be either of them
        return self.numbers().to_csv(index=False, lineterminator="\r\n")

    def text(self) -> str:
        """All that is said of the picture, its traces and the head of its table, for people to read and compare."""
        described = str(self.described) if self.described and self.findings else ""
        parts = [f"{self.title} [{self.key}]", described, str(self), self.note, *_traces(self.chart)]
        if self.table is not None:
            parts.append(self.numbers().head(3).to_string(index=False))
        return "\n".join(filter(None, parts))

    def json(self) -> str:
        """All of it but the result and the code, as JSON; arrays of the chart as plotly writes them."""
        chart = asdict(self.chart) if isinstance(self.chart, Scene) else json.loads(self.chart.to_json())
        findings = filter(None, (self.described, *self.findings, *self.conclusions))
        said = [{"sentence": str(one), "values": _values(one)} for one in findings]
        words = {name: getattr(self, name) for name in ("key", "title", "note", "formula", "papers", "terms")}
        whole = {**words, "findings": said, "metrics": [asdict(one) for one in self.metrics], "chart": chart}
        made = self.made and {"function": _name(self.made.function), "arguments": dict(self.made.arguments)}
        shown = _unisolated(json.dumps(whole, default=_plain))
        return f'{shown[:-1]}, "made": {json.dumps(made, default=_plain)}}}'

    def painted(self, theme: Theme = "light") -> Figure:
        """The chart in the colours of a theme, for `show` and `write_html` of plotly.

        Raises:
            TypeError: it is a scene, which `html` writes.
        """
        if isinstance(self.chart, Scene):
            raise TypeError(
                f"the view {self.key!r} is a scene, no figure of plotly; its html() is a page that draws it"
            )
        return painted(self.chart, theme)

    def html(self, theme: Theme = "light") -> str:
        """A page of its own with the picture, its title and what is said of it; it needs no network."""
        if isinstance(self.chart, Scene):
            picture = scenes.html(self.chart.module, self.chart.data, self.chart.height, theme)
        else:
            figure = self.painted(theme)
            drawn = figure.to_html(full_html=False, include_plotlyjs=False)
            picture = f"<script>{bundle.script(figure)}</script>{drawn}"
        return PAGE.format(title=escape(self.title), picture=picture, caption=escape(self.caption or self.alt))

    def picture(self, kind: stills.Kind, theme: Theme = "light", width: int = WIDTH) -> bytes:
        """The chart alone, as the content of a file that a browser of this machine draws.

        Args:
            width: in pixels; a chart that needs more is as wide as it needs.

        Raises:
            BrowserError: there is no browser, or it did not draw it.
        """
        width = max(width, self.min_width)
        if isinstance(self.chart, Scene):
            return stills.scene_file(self.chart.module, self.chart.data, width, self.chart.height, theme, kind)
        return stills.figure_file(self.painted(theme), width, kind)

    def save(self, path: str | PathLike[str], theme: Theme = "light", width: int = WIDTH) -> None:
        """Write it to a file whose ending says what: .html, .svg or .png for the picture, .csv for the table, .json for
        all of it but the result, .txt for what is said of it.

        Args:
            width: of an SVG or a PNG; see `picture`.

        Raises:
            ValueError: another ending, or there is no table.
            BrowserError: no browser drew the picture.
        """
        match ending_of(path):
            case "svg" | "png" as kind:
                content = self.picture(kind, theme, width)
            case "html":
                content = self.html(theme).encode()
            case "csv":
                content = self.csv().encode()
            case "json":
                content = self.json().encode()
            case _:
                content = self.text().encode()
        Path(path).write_bytes(content)

    def link(self, server: str | None = None) -> addresses.ViewLink | None:
        """Its address in a running app; None where no page shows it.

        Args:
            server: where the app is; without one, TFCORE_ADDRESS, or http://localhost:8501.

        Raises:
            ValueError: that is no address of a server.
        """
        return addresses.link(self.made, server) if self.made else None

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, Any]:
        """In a notebook: the picture with a link into the app below, and for who cannot see it the findings."""
        link = self.link()
        words = "" if link is None else OPEN if link.is_exact else OPEN_PAGE
        plain = str(self) if link is None else f"{self}\n{words}: {link.url}"
        anchor = "" if link is None else f'<a href="{escape(link.url)}" target="_blank">{words}</a>'
        if isinstance(self.chart, Scene):
            framed = scenes.frame(self.html(), self.height)
            return {"text/html": f"{framed}<p>{anchor}</p>" if anchor else framed, "text/plain": plain}
        bundle: dict[str, Any] = _with_link(self.painted(), anchor)._repr_mimebundle_()
        return {**bundle, "text/plain": plain}


def _with_link(figure: Figure, anchor: str) -> Figure:
    """A figure with a line of its own below, for a link."""
    if not anchor:
        return figure
    margin = figure.layout.margin.b
    below = {"text": anchor, "font": {"size": 12}, "automargin": False}
    corner = {"xref": "container", "x": 1, "xanchor": "right", "yref": "container", "y": 0, "yanchor": "bottom"}
    figure.update_layout(
        title={**below, **corner, "pad": {"b": 4, "r": 8}},
        height=figure.layout.height + LINE,
        margin_b=(AROUND if margin is None else margin) + LINE,
    )
    return figure


def ending_of(path: str | PathLike[str]) -> str:
    """The ending of a file's name, without its dot.

    Raises:
        ValueError: it is none of those that a view is written to.
    """
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in ENDINGS:
        kinds = ", ".join(f".{one}" for one in ENDINGS)
        raise ValueError(f"the ending of {Path(path).name!r} says no kind of file; these are written: {kinds}")
    return ending


def _unisolated(text: str) -> str:
    """JSON without the signs that isolate a token in the words around it."""
    return re.sub(r"\\u206[89]", "", text)


def _traces(chart: Chart) -> list[str]:
    """Each trace of a figure, in a line: its type, name, and how many marks it has."""
    if isinstance(chart, Scene):
        return [f"scene {chart.module}: {', '.join(chart.data)}"]
    return [f"{one.type} {one.name or ''}: {_marks(one)}".replace(" :", ":") for one in chart.data]


def _marks(trace: Any) -> str:
    marks = {name: trace[name] for name in ("x", "y", "z", "values") if name in trace and trace[name] is not None}
    return ", ".join(f"{name} {np.shape(values)}{_range(values)}" for name, values in marks.items())


def _range(values: Any) -> str:
    array = np.asarray(values)
    if array.dtype.kind not in "fiu" or not array.size or not np.isfinite(array).any():
        return ""
    return f" from {np.nanmin(array):.3g} to {np.nanmax(array):.3g}"


def _values(finding: Finding) -> Any:
    """The values that a finding states, by name."""
    return finding.values if isinstance(finding, Statement) else _plain(finding)


def _setting(name: str, value: Any) -> str:
    """An argument of a view in words; empty where words would not say it."""
    match value:
        case Reading():
            rest = {"part": value.part, "bos": value.bos, "hide_sink": value.hide_sink or None}
            said = {"model": value.model, "text": value.text, **rest}
            return " · ".join(filter(None, (_setting(key, one) for key, one in said.items())))
        case File():
            return _setting(name, Path(value.path).name)
    words = name_of((None, None)) if name == "model" and value is None else _shortly(value)
    return f"{name.replace('_', ' ').strip()} {words}" if words else ""


def _shortly(value: Any) -> str:
    """A value in words, on one line; empty for a record, for nothing, and for many values at once."""
    match value:
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return f"{value:.6g}"
        case str():
            signs = (one if one == " " else visible_character(one) for one in unmarked(value))
            said = cut("".join(signs).strip(), LONGEST_SETTING)
            return f'"{said}"' if " " in said or len(said) != len(value) else said
        case tuple() | list() if len(value) <= MANY_SETTINGS:
            return ", ".join(filter(None, map(_shortly, value)))
    return ""


def _name(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def _plain(value: Any) -> Any:
    """Records, arrays and what else JSON does not know."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name) for one in fields(value)}
    return value.tolist() if hasattr(value, "tolist") else str(value)


def view(function: Callable[P, View]) -> Callable[P, View]:
    """Let a function that returns a View note how it was called; it may be given `model, tokenizer, text` in the place
    of a Reading, and `model, tokenizer` in that of a Source."""
    signature = inspect.signature(function)
    draw: Callable[..., View] = function

    @wraps(function)
    def noting(*args: P.args, **kwargs: P.kwargs) -> View:
        taken, named = as_taken(signature.parameters, args, kwargs)
        given = signature.bind(*taken, **named).arguments
        said = {name: _said(value) for name, value in given.items() if name != SO_FAR}
        with while_drawn():
            return replace(draw(*taken, **named), made=Made(noting, said))

    return noting


def _said(value: Any) -> Any:
    """An argument as it is noted: of a model in memory nothing, of a file its path."""
    if isinstance(value, Reading):
        return replace(value, model=_said(value.model))
    if isinstance(value, File):
        return File(value.path)
    return None if in_memory(value) else value
