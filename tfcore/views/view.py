"""A view: a picture of a result, with all that is said of it, and how it was made.

    @view
    def cache_sizes(shape: CacheShape, tokens: int) -> View:
        \"\"\"How large the cache is.\"\"\"
        found = ...
        return View(key="sizes", title="Cache sizes", result=found, chart=figure(found), findings=(found,))

    shown = cache_sizes(shape, 1_024)
    print(shown)              # its findings
    shown                     # in a notebook: the picture
    program(shown)            # of tfcore.views.programs: what makes it again

`view` notes the function and its arguments, a model by its name alone: nothing is kept alive by a view.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

from torch import nn

from tfcore.analysis.finding import Finding
from tfcore.figures.theme import Figure, Theme, painted

if TYPE_CHECKING:
    import pandas as pd

P = ParamSpec("P")

SO_FAR = "so_far"  # of a view that a computation fills while it runs: what there is until now


@dataclass(frozen=True, slots=True)
class Made:
    """How a view was made.

    Args:
        function: that returned it.
        arguments: by name, as literals can say them: a model as its name, or None where it exists in memory alone.
    """

    function: Callable[..., "View"]
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that stands beside a picture, with what it is and what belongs to it."""

    label: str
    value: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A picture with all that belongs to it.

    Args:
        key: names the picture on its page, in links to it alone and in files; it stays as it is.
        title: of the picture, in a few words.
        result: the numbers.
        chart: a figure with role colours, see `painted`, and with a height.
        findings: what is said of it, the most important first.
        note: how to read it: fixed words that follow the findings in the caption.
        metrics: numbers to stand beside it.
        table: makes the numbers behind the chart as a table.
        min_width: in pixels; on a narrower screen it scrolls sideways.
        at: where in a picture of that width the mark is that must be in sight, in pixels from the left.
        cursor: whether the row and the column under the pointer are marked.
        formula: LaTeX.
        papers: Markdown, with arXiv id and equation.
        code: functions and classes that computed it.
        made: filled in by `view`.
    """

    key: str
    title: str
    result: Any
    chart: Figure
    findings: tuple[Finding, ...]
    note: str = ""
    metrics: tuple[Metric, ...] = ()
    table: "Callable[[], pd.DataFrame] | None" = field(default=None, repr=False)
    min_width: int = 0
    at: int | None = None
    cursor: bool = False
    formula: str = ""
    papers: str = ""
    code: tuple[Callable[..., Any] | type, ...] = ()
    made: Made | None = None

    @property
    def height(self) -> int:
        """Of the chart, in pixels."""
        return int(self.chart.layout.height)

    @property
    def alt(self) -> str:
        """The main finding, for who cannot see the picture."""
        return str(self.findings[0])

    @property
    def caption(self) -> str:
        """All findings, and how to read the picture."""
        return " ".join(filter(None, [*map(str, self.findings), self.note]))

    def __str__(self) -> str:
        """The findings and the metrics, one a line."""
        beside = [f"{one.label}: {one.value}; {one.note}" for one in self.metrics]
        return "\n".join([*map(str, self.findings), *beside])

    def numbers(self) -> "pd.DataFrame":
        """The table.

        Raises:
            ValueError: there is none.
        """
        if self.table is None:
            raise ValueError(f"the view {self.key!r} has no table; its result has the numbers")
        return self.table()

    def painted(self, theme: Theme = "light") -> Figure:
        """The chart in the colours of a theme, for `show` and `write_html` of plotly."""
        return painted(self.chart, theme)

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, Any]:
        """In a notebook: the picture, and for who cannot see it the findings."""
        bundle: dict[str, Any] = self.painted()._repr_mimebundle_()
        return {**bundle, "text/plain": str(self)}


def view(function: Callable[P, View]) -> Callable[P, View]:
    """Let a function that returns a View note how it was called."""
    signature = inspect.signature(function)

    @wraps(function)
    def noting(*args: P.args, **kwargs: P.kwargs) -> View:
        given = signature.bind(*args, **kwargs).arguments
        said = {name: _said(value) for name, value in given.items() if name != SO_FAR}
        return replace(function(*args, **kwargs), made=Made(noting, said))

    return noting


def _said(value: Any) -> Any:
    """An argument as it is noted: of a model in memory nothing."""
    return None if isinstance(value, tuple) and any(isinstance(part, nn.Module) for part in value) else value
