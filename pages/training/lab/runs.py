"""The lab: runs beside each other, downloads, and the way of a trained model to the other pages."""

from collections.abc import Callable

import pandas as pd
import streamlit as st

from pages.training.lab import experiments
from pages.training.lab.settings import NAMES
from pages.training.lab.watch import curve_table
from pages.ui import controls, keys, links, page, text
from pages.ui.components.figure import figure
from pages.ui.loading import models, run_models
from pages.ui.work import runs
from pages.ui.work.run_records import Seen
from tfcore.training.lab import words
from tfcore.training.lab.files import packed
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.train import train_slice

MEASURES = {"accuracy": "accuracy", "loss": "loss"}


def compare(seen: Seen | None, names: list[str]) -> None:
    """The section: curves over each other, a table of what differs."""
    found = [run for run in (runs.RUNS.look(name) for name in names) if run is not None and run.curves is not None]
    if seen is not None and seen.curves is not None and all(run.name != seen.name for run in found):
        found.append(seen)
    if not found:
        st.info("There is no run yet: start one.")
    else:
        picture = st.container()
        measure = controls.segmented("Compared by held-out", "by", list(MEASURES), "accuracy", MEASURES)
        with picture:
            _curves(found, measure)
        _table(found)
    page.what_to_see(
        "Change one thing, press Start, and come back: both runs are here, as long as the server keeps them (the link "
        "names them). One seed is no evidence: before you believe in a difference, train both again with another seed."
    )
    page.question(
        "Two runs differ in the learning rate alone, and the faster one is ahead at step 100. Is its rate the better "
        "one?",
        "Not yet known. The slower one may catch up later, above all where the schedule lowers both rates, and with "
        "another seed the order may change. Compare where both end, and for several seeds.",
    )
    page.how_it_is_computed(code=(LabSpec, train_slice))


def _curves(found: list[Seen], measure: str) -> None:
    apart = words.apart([run.spec for run in found])
    named = [
        (text.shorten(f"{i + 1}: {settings}", 40), run.curves)
        for i, (run, settings) in enumerate(zip(found, apart, strict=True))
        if run.curves
    ]
    shown = experiments.compare(named, measure == "accuracy")
    figure(
        shown.figure,
        key="compare",
        height=380,
        min_width=320,
        alt=f"{len(named)} runs. {shown.alt}",
        caption=shown.caption,
        table=lambda: pd.concat([curve_table(c).assign(run=name) for name, c in named]),
    )


def _table(found: list[Seen]) -> None:
    differ = words.differing([run.spec for run in found])
    rows = []
    for i, run in enumerate(found):
        assert run.curves is not None
        fields = {words.LABELS[key]: str(value) for key, value in run.spec.to_dict().items() if key in differ}
        rows.append(
            {
                "run": i + 1,
                "task": NAMES[run.spec.task],
                "step": run.step,
                "state": run.state,
                "held-out accuracy": float(run.curves.held_accuracy[-1]),
                "best held-out loss": float(run.curves.held_loss.min()),
                "seconds": round(run.seconds, 1),
                **fields,
            }
        )
    st.dataframe(pd.DataFrame(rows), hide_index=True)


def keep(seen: Seen) -> None:
    """Downloads, and links to pages that show this very model."""
    step = runs.RUNS.freeze(seen.name)
    if step is None or seen.curves is None:
        gone = "Its numbers left all bounds, so there is no model to keep: take a lower learning rate."
        later = "When it pauses or ends, the model can be downloaded here and opened on the other pages."
        st.caption(gone if seen.state == "failed" else later)
        return
    name = run_models.name_of(seen.name, step)
    models.remember(name)
    tokens = run_models.model(name)
    example = "".join(tokens[1].tokens(seen.look.ids[: seen.look.start].tolist())) if tokens and seen.look else ""
    whole = "".join(tokens[1].tokens(seen.look.ids.tolist())) if tokens and seen.look else ""
    with st.container(horizontal=True, vertical_alignment="center", key="lab_keep"):
        st.caption(f"The model of step {step:,}:", width="content")
        st.download_button(
            "Download",
            _files(seen.name, step),
            "trained.zip",
            "application/zip",
            key=keys.own("download_button", "lab files"),
            on_click="ignore",
            icon=":material/download:",
            help="model.safetensors, config.json, tokenizer.json, settings.json, "
            "curves.csv: a folder that tfcore.load reads",
        )
        links.to("foundations/heads/page.py", {"model": name, "text": whole}, "its heads")
        links.to("inside/induction/page.py", {"model": name}, "its induction heads")
        links.to("inference/generation/page.py", {"model": name, "text": example}, "let it write")
    st.caption("It is on the list of models of every page that suits it, for you and for whoever has such a link.")


def _files(run: str, step: int) -> Callable[[], bytes]:
    """What the button gives, made when it is pressed."""

    def make() -> bytes:
        kept, seen = runs.RUNS.weights(run, step), runs.RUNS.look(run)
        if kept is None or seen is None or seen.curves is None:
            return b""
        return packed(kept.spec, kept.state, curve_table(seen.curves).to_csv(index=False))

    return make
