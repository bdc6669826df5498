"""Seventeen functions to write, from easy to hard, each checked against tfcore's own parts.

    from tfcore import exercises

    print(exercises.statement("attention"))  # what to write
    def attention(q, k, v): ...
    exercises.check(attention)               # which property fails, and which usual mistake it looks like
    exercises.draw(attention)                # the page's figure, drawn from the function
    print(exercises.solution("attention"))

A function is known by its name. docs/exercises has a notebook for each, which `python -m tools.exercises` writes.
"""

from functools import lru_cache
from typing import Any

from tfcore.exercises.attention import ATTENTION
from tfcore.exercises.bpe import MERGES
from tfcore.exercises.causal_mask import CAUSAL_MASK
from tfcore.exercises.checking import CheckResult as CheckResult
from tfcore.exercises.checking import checked
from tfcore.exercises.exercise import Exercise as Exercise
from tfcore.exercises.exercise import Function, source
from tfcore.exercises.heads import MULTI_HEAD
from tfcore.exercises.induction import INDUCTION_SCORE
from tfcore.exercises.initial import INITIAL_WEIGHT
from tfcore.exercises.int4 import INT4
from tfcore.exercises.kv_cache import KV_CACHE
from tfcore.exercises.lens import LOGIT_LENS
from tfcore.exercises.lora import LORA
from tfcore.exercises.losses import NEXT_TOKEN_LOSS
from tfcore.exercises.norms import NORMALISE
from tfcore.exercises.patching import PATCHING
from tfcore.exercises.positions import ADD_POSITIONS
from tfcore.exercises.routing import ROUTING
from tfcore.exercises.swiglu import SWIGLU
from tfcore.exercises.top_p import TOP_P
from tfcore.views.view import View, view

IN_ORDER = (
    ATTENTION,
    CAUSAL_MASK,
    MULTI_HEAD,
    ADD_POSITIONS,
    NORMALISE,
    SWIGLU,
    INITIAL_WEIGHT,
    MERGES,
    NEXT_TOKEN_LOSS,
    TOP_P,
    KV_CACHE,
    INDUCTION_SCORE,
    LOGIT_LENS,
    PATCHING,
    LORA,
    ROUTING,
    INT4,
)
EXERCISES = {one.key: one for one in IN_ORDER}


def exercise(name: str) -> Exercise:
    """An exercise by the name of its function.

    Raises:
        ValueError: there is none of this name.
    """
    if name not in EXERCISES:
        raise ValueError(f"no exercise is called {name!r}; there are {', '.join(EXERCISES)}")
    return EXERCISES[name]


def check(function: Function, name: str = "", seed: int = 0) -> CheckResult:
    """Run a function on random inputs, beside tfcore's own: which property fails, and which mistake does the same.

    Args:
        function: with the name of an exercise, or another where `name` says which exercise it is.
        seed: of the inputs.

    Raises:
        ValueError: it is no function, or there is no such exercise.
    """
    return checked(_meant(function, name), function, seed)


def draw(function: Function, name: str = "") -> View:
    """The figure of the exercise's page, drawn from what a function returns; see check.

    Raises:
        ValueError: as check; or what the function returns cannot be drawn.
    """
    meant = _meant(function, name)
    try:
        return _view(meant, function)
    except Exception as error:
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise ValueError(
            f"what {meant.key} returns cannot be drawn ({said}); check({meant.key}) says what is wrong with it"
        ) from error


@view
def picture(name: str) -> View:
    """The figure of an exercise, drawn from its solution.

    Args:
        name: of the function that is to be written.
    """
    return _of_solution(name)


@lru_cache(maxsize=len(IN_ORDER))
def _of_solution(name: str) -> View:
    meant = exercise(name)
    return _view(meant, meant.solution)


def statement(name: str) -> str:
    """What a function computes, of which arguments, with their shapes."""
    return exercise(name).stub


def solution(name: str) -> str:
    """The code of a right function."""
    return source(exercise(name).solution)


def _meant(function: Any, name: str) -> Exercise:
    if not callable(function):
        raise ValueError(f"check and draw take a function, and this is of type {type(function).__name__}")
    called = str(getattr(function, "__name__", ""))
    if not name and called not in EXERCISES:
        raise ValueError(
            f"no exercise is called {called!r}; name the function {', '.join([*EXERCISES][:3])} ..., or say which "
            f"exercise it is, as in check({called or 'function'}, 'attention')"
        )
    return exercise(name or called)


def _view(meant: Exercise, function: Function) -> View:
    drawn = meant.draw(function)
    return View(
        key="exercise",
        title=meant.title,
        result=None,
        chart=drawn.chart,
        min_width=drawn.min_width,
        findings=(drawn.finding,),
        formula=meant.formula,
        papers=meant.papers,
        code=(meant.reference,),
    )
