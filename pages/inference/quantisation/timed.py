"""Panel of the page on quantisation: a product in each data type, timed on this machine."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inference.quantisation import experiments
from pages.ui import controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from pages.ui.work import jobs, live
from tfcore.analysis.inference.quantisation import speed
from tfcore.measures.timing import on_cpu

SEEDS = 20
TYPES = 6


def panel() -> None:
    """The measurements, drawn as they come in."""
    seed = int(controls.last("seed") or 0)
    tries: dict[str, dict[str, Any]] = {"measure again": {"seed": controls.next_seed(seed, SEEDS)}}
    page.try_this(tries)
    left, right = st.columns([1, 3], gap="medium")
    with left:
        seed = controls.slider("Seed of the matrix", "seed", 0, SEEDS, 0)
        beside = st.container()
    key = ("data types", seed)

    def draw(job: jobs.Job) -> None:
        points = [point for point in job.items if point is not None]
        with beside:
            again = {"seed": controls.next_seed(seed, SEEDS)}
            total = TYPES * len(speed.TOKENS)
            live.bar(key, job, len(points), total, again, work="measurement", step="point", fresh="Measure again")
        with right:
            shown = experiments.speeds(points)
            figure(
                shown.figure,
                key="speeds",
                height=420,
                table=lambda: pd.DataFrame(points),
                alt=shown.alt,
                caption=shown.caption,
            )

    live.watch(key, draw, live.begin(key, lambda: speed.race(seed)))
    words(page.experiment(experiments.speeds, made(speed.speed_points, seed)))


def words(experiment: page.Experiment) -> None:
    """What to see and to ask, and how it is computed."""
    page.what_to_see(
        "Fewer bits are less memory at once, and faster only where the processor has instructions for them. Here "
        "integers and fp8 are brought back to float32 before each product, which with one token takes longer than "
        "the product itself. Programs like llama.cpp unpack each block in registers, while the next one is on its "
        "way from memory; then one token is faster too, since reading the weights is what takes the time."
    )
    st.caption(
        f"Measured on {on_cpu()}; a matrix of {speed.ROWS:,} × {speed.COLUMNS:,} random numbers, the quickest of up to "
        f"{speed.REPEATS} runs. The times are those of the machine."
    )
    page.question(
        "With one token at a time, how much faster could int4 be than float16 at best, on a machine limited by memory?",
        "The time is that of reading the weights: 16 bits against 4.5 (groups of 32), so 3.6 times. With many tokens "
        "at once the arithmetic takes the time, and int4 gains nothing if it is unpacked to float16 first.",
    )
    page.how_it_is_computed(
        experiment, code=(speed.products, speed.race, speed.packed, speed.unpacked), terms=("quantisation",)
    )
