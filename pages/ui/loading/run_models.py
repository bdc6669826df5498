"""Models trained in the lab, by the name "run:ID@STEP"; only who has the link knows it."""

import re
import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pages.ui.work.run_records import Frozen

MOST = 4  # built models kept at a time; the weights are the run's
LONGEST = 60
GONE = "The server no longer has this trained model: runs are kept while somebody looks at them. Train it again."
_NAME = re.compile(r"run:([\w-]{16})@(\d{1,6})", re.ASCII)
_LOCK = threading.Lock()
_BUILT: "WeakKeyDictionary[Frozen, tuple[Any, Any]]" = WeakKeyDictionary()  # the one not asked for longest first


def name_of(run: str, step: int) -> str:
    """The name of what a run was at a step."""
    return f"run:{run}@{step}"


def is_run(name: str) -> bool:
    """Whether this is the name of a model trained in the lab."""
    return len(name) <= LONGEST and _NAME.fullmatch(name) is not None


def examples(name: str) -> list[Any]:
    """Two rows of the task that a model was trained on (Example); none where the server does not have it."""
    from pages.ui.work import runs
    from tfcore.training.lab import tasks

    match = _NAME.fullmatch(name) if len(name) <= LONGEST else None
    kept = runs.RUNS.weights(match[1], int(match[2])) if match else None
    return tasks.examples(kept.spec) if kept else []


def model(name: str) -> tuple[Any, Any] | None:
    """The model and its tokenizer; None where the server does not have them (any more)."""
    match = _NAME.fullmatch(name) if len(name) <= LONGEST else None
    if match is None:
        return None
    from pages.ui.work import runs  # here, because with it comes torch
    from tfcore.tokenizers.tokenizer import NamedTokenizer
    from tfcore.training.lab.tasks import task
    from tfcore.training.lab.train import model_of

    kept = runs.RUNS.weights(match[1], int(match[2]))
    if kept is None:
        return None
    with _LOCK:
        built = _BUILT.pop(kept, None) or (model_of(kept.spec, kept.state), NamedTokenizer(task(kept.spec).names))
        _BUILT[kept] = built
        while len(_BUILT) > MOST:
            del _BUILT[next(iter(_BUILT))]
        return built
