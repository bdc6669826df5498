"""A panel of the page on recurrence: seconds of one pass, step by step against all positions at once."""

from dataclasses import asdict
from typing import Any

import pandas as pd
import streamlit as st

from pages.foundations.recurrence import experiments
from pages.ui import controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from pages.ui.work import jobs, live
from tfcore.analysis.foundations.recurrence import network_findings
from tfcore.measures.timing import on_cpu
from tfcore.training.recurrent import networks, passes
from tfcore.training.recurrent.networks import KINDS
from tfcore.training.recurrent.passes import PassConfig, Passes

HEIGHT = 400
RUNS = {"kept": "kept", "now": "here, now"}
WIDTHS = (64, 128, 256)
TRY: dict[str, dict[str, Any]] = {
    "this machine": {"timing": "now", "width": 256},
    "small networks, here": {"timing": "now", "width": 64},
    "the kept measurement": {"timing": "kept"},
}


def panel() -> None:
    """Times as they were kept, or as they come in."""
    page.try_this(TRY)
    left, right = st.columns([1, 3], gap="large")
    with left:
        run = controls.segmented("Measured", "timing", list(RUNS), "kept", RUNS)
        config, begun = passes.kept_passes().config, made(passes.kept_passes)
        if run == "now":
            config = PassConfig(d_model=controls.stops("Width of the Transformer", "width", WIDTHS, 256))
            begun = made(passes.timed, config)
        beside = st.container()
    if run == "kept":
        with right:
            show(passes.kept_passes())
    else:

        def draw(job: jobs.Job) -> None:
            with beside:
                total = len(KINDS) * len(passes.LENGTHS)
                live.bar(config, job, len(job.items), total, {}, work="measurement", step="point", fresh="")
            with right:
                show(job.items[-1] if job.items else Passes(config, (), on_cpu()))

        live.watch(config, draw, live.begin(config, lambda: passes.time_passes(config)))
    words(config, begun)


def show(found: Passes) -> None:
    """The figure."""
    shown = experiments.passes(found, HEIGHT)
    figure(
        shown.figure,
        key="passes",
        height=HEIGHT,
        min_width=340,
        table=lambda: pd.DataFrame([asdict(point) for point in found.points]),
        alt=f"Time of one pass against length. {shown.alt}",
        caption=f"{shown.caption} One sequence, forward only, the quickest of up to {passes.REPEATS} runs, on "
        f"{found.machine}.",
    )


def words(config: PassConfig, begun: Any) -> None:
    """What to see, the question, the drawer."""
    page.what_to_see(
        "A recurrent network cannot begin with token *t* before it is done with *t* − 1: its time grows in proportion "
        "to the length, in steps of one matrix times one vector each. A Transformer multiplies matrices with all "
        "positions at once, which hardware does far quicker per number, and the longest chain of steps that wait for "
        "each other is its layers, whatever the length (arXiv:1706.03762, table 1). Its attention compares all pairs, "
        "so for long sequences its time grows faster than the length. In training all positions of a known text can be "
        "read at once; in generation a Transformer, too, writes one token after another."
    )
    page.question(
        "On a processor that did everything independent at the same time, how long would each take for 2,048 tokens?",
        "The recurrent network 2,048 steps that wait for each other; the Transformer as many as it has layers (each of "
        "a few products). GPUs, with thousands of units, made it the better choice; a CPU has few, so less of "
        "it shows here.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.passes, begun, HEIGHT),
        formula=(
            r"\text{sequential steps: } \underbrace{O(n)}_{\text{recurrent}} \ \text{ against }\ "
            r"\underbrace{O(1)}_{\text{attention}} \qquad \text{operations per layer: } O(n\,d^2) "
            r"\ \text{ against }\ O(n^2 d + n\,d^2)"
        ),
        code=(passes.time_passes, networks.RecurrentNetwork),
        papers=(
            "Sequential operations and operations per layer: arXiv:1706.03762, table 1; there without the n·d² of the "
            f"projections and feed-forward layers. {network_findings.equal_sizes(config.networks)} The kept "
            "measurement: `python -m tfcore.training recurrence`. How attention is made quicker for long sequences: "
            "see the page on long context."
        ),
        terms=("recurrent neural network", "long context"),
    )
