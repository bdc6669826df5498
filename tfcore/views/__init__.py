"""Views: each picture of the project as one thing, with its numbers, its words, and how it was made.

    import tfcore
    from tfcore import views

    model, tokenizer = tfcore.load("smollm2")
    views.heads.portrait(model, tokenizer, "The trophy does not fit into the suitcase.", layer=13, head=8)

A subject is a folder, `tfcore/views/<chapter>/<subject>/`, whose functions take a model, a text and settings and return
a `View`; here it is found by its own name, and imported when it is asked for. Pages, scripts and notebooks show views;
none of them computes or draws.
"""

from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType


@cache
def subjects() -> dict[str, str]:
    """Subject -> its module."""
    found = sorted(Path(__file__).parent.glob("*/*/__init__.py"))
    return {path.parent.name: f"{__name__}.{path.parts[-3]}.{path.parts[-2]}" for path in found}


def __getattr__(name: str) -> ModuleType:
    if name not in subjects():
        raise AttributeError(f"tfcore.views has no subject {name!r}; there are {', '.join(sorted(subjects()))}")
    return import_module(subjects()[name])


def __dir__() -> list[str]:
    return sorted({*globals(), *subjects()})
