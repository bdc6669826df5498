"""Models as visitors train them in the lab: each kind of vocabulary that lacks the English of the pages."""

from pages.ui.loading import run_models
from pages.ui.work import runs
from pages.ui.work.run_records import Run
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.train import train_slice

SMALL = {"d_model": 16, "n_heads": 2, "rows": 4, "steps": 2}
GREEK = "εν αρχη ην ο λογος και ο λογος ην προς τον θεον " * 4
SPECS = {
    "numbers": LabSpec(task="addition", symbols=4, n_layers=1, feed_forward=True, **SMALL),
    "letters": LabSpec(task="copy", symbols=8, length=4, n_layers=2, positions="learned", feed_forward=True, **SMALL),
    "text": LabSpec(task="characters", text=GREEK, length=12, n_layers=4, positions="alibi", **SMALL),
    "many": LabSpec(task="induction", symbols=64, length=12, n_layers=2, positions="learned", **SMALL),
}


def trained(kind: str) -> str:
    """The name under which pages find a model of this vocabulary."""
    spec = SPECS[kind]
    run = Run(key=f"{kind:x<16}", spec=spec, visitor="somebody")
    run.took(train_slice(spec, 0, None, most=spec.steps, seconds=1e9))
    run.state = "done"
    with runs.RUNS.book.lock:
        runs.RUNS.book.records[run.name] = run
    step = runs.RUNS.freeze(run.name)
    assert step is not None
    return run_models.name_of(run.name, step)
