"""The shape of an exercise: a function to write, as data and functions around one that is right."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import torch

from tfcore.charts.theme import Figure
from tfcore.views.finding import Statement

Function: TypeAlias = Callable[..., Any]
Inputs: TypeAlias = tuple[Any, ...]


class ExerciseProperty(NamedTuple):
    """What must be true of what is returned.

    Args:
        claim: in a sentence.
        fails: what is said where it is not true, without its full stop.
        holds: given the function and its inputs.
    """

    claim: str
    fails: str
    holds: Callable[..., bool]


class UsualMistake(NamedTuple):
    """A wrong function that many have written, and the sentence meant for who has: a question."""

    function: Function
    asks: str


class Picture(NamedTuple):
    """A figure with role colours, what it shows, and the pixels that it needs from side to side."""

    chart: Figure
    finding: Statement
    min_width: int = 420


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """A function to write.

    Args:
        solution: a right one, in plain torch. Its name, signature and docstring are the task.
        title: of the subject.
        asks: what is to be written, in a sentence.
        papers: arXiv ids with equations.
        formula: LaTeX.
        returns: names of what is returned.
        reference: the same by tfcore's own parts, which the reader's function is compared with.
        cases: random inputs of several sizes.
        properties: in the order in which they are tried. That the result is the reference's comes after them.
        mistakes: the usual ones.
        hints: in steps, from a nudge to nearly all of it (Markdown).
        page: whose figure is drawn, as addresses say it ("positions?scheme=rope").
        draw: that figure, from a function and what it returns.
        compared: what is compared of a result, where its numbers are drawn at random.
        tolerance: largest difference from the reference, as a share of its largest number.
    """

    solution: Function
    title: str
    asks: str
    papers: str
    formula: str
    returns: tuple[str, ...]
    reference: Function
    cases: Callable[[torch.Generator], Sequence[Inputs]]
    properties: tuple[ExerciseProperty, ...]
    mistakes: tuple[UsualMistake, ...]
    hints: tuple[str, ...]
    page: str
    draw: Callable[[Function], Picture]
    compared: Function = lambda result: result
    tolerance: float = 1e-4

    @property
    def key(self) -> str:
        """The name of the function."""
        return inspect.unwrap(self.solution).__name__

    @property
    def statement(self) -> str:
        """What the function computes, of which arguments, with their shapes."""
        return inspect.cleandoc(inspect.unwrap(self.solution).__doc__ or "")

    @property
    def stub(self) -> str:
        """The function with its signature and its statement, still to be written."""
        head = _until_body(source(self.solution))
        return f"{head}\n    raise NotImplementedError  # your code\n"


def source(function: Function) -> str:
    """The code of a solution or of a mistake."""
    return textwrap.dedent(inspect.getsource(inspect.unwrap(function)))


def _until_body(code: str) -> str:
    """The first lines of a function, up to the end of its docstring."""
    (function,) = ast.parse(code).body
    assert isinstance(function, ast.FunctionDef)
    return "\n".join(code.splitlines()[: function.body[0].end_lineno])


def normal(generator: torch.Generator, *shape: int) -> torch.Tensor:
    """Numbers of a normal distribution."""
    return torch.randn(shape, generator=generator)
