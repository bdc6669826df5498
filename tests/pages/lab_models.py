"""Models as visitors train them in the lab: of each kind of vocabulary that lacks the English of the pages."""

from pages.ui.loading import own_models, run_models
from pages.ui.work import runs
from pages.ui.work.run_records import Run
from tests.small import model
from tfcore.tokenizers.tokenizer import NamedTokenizer
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.train import train_slice

SMALL = {"d_model": 16, "n_heads": 2, "rows": 4, "steps": 2}
GREEK = "εν αρχη ην ο λογος και ο λογος ην προς τον θεον " * 4
SPECS = {
    "numbers": LabSpec(task="addition", symbols=4, n_layers=1, feed_forward=True, **SMALL),
    "letters": LabSpec(task="copy", symbols=8, length=4, n_layers=2, positions="learned", feed_forward=True, **SMALL),
    "a text": LabSpec(task="characters", text=GREEK, length=12, n_layers=4, positions="alibi", **SMALL),
}
NAMES = ("Anna", "Bert", "Carla", "Dora", "Emil", "Franz")
KINDS = (*SPECS, "names")


def trained(kind: str) -> str:
    """The name under which pages find a model of this vocabulary."""
    if kind == "names":
        network = model(vocab_size=len(NAMES), positions="rope")
        own_models.STORE.put(own_models.Own("./names", network, NamedTokenizer(NAMES), 1, 0.0, ""))
        return "./names"
    spec = SPECS[kind]
    run = Run(key=f"{kind:x<16}".replace(" ", "x"), spec=spec, visitor="somebody")
    run.took(train_slice(spec, 0, None, most=spec.steps, seconds=1e9))
    run.state = "done"
    with runs.RUNS.book.lock:
        runs.RUNS.book.records[run.name] = run
    step = runs.RUNS.freeze(run.name)
    assert step is not None
    return run_models.name_of(run.name, step)
