"""From the Transformer of 2017 to today's, one switch at a time."""

import pandas as pd
import streamlit as st

from pages.model.modern import experiments as experiments
from pages.model.modern.facts import FACTS
from pages.model.modern.words import ABOUT, FIRST, SIZE_NAMES
from pages.ui import cache, controls, page
from pages.ui.components.figure import Event, figure
from pages.ui.components.player import player
from pages.ui.loading import model_map
from pages.ui.program import made
from pages.ui.work import jobs, live
from tfcore.analysis.model import modernising
from tfcore.analysis.model.modernising import Speed, Version
from tfcore.training.modernisation import SWITCHES
from tfcore.views.model import parts as views

NAMES = list(SWITCHES)
LAST = len(NAMES) - 1
HEIGHT = 400
PERIOD = 1.5  # seconds a switch, when they play

versions = cache.data(max_entries=8)(modernising.versions)


def choose(event: Event) -> None:
    """A click on a bar."""
    match event["customdata"]:
        case [int(step)]:
            controls.set_values(step=step)


def beside(found: list[Version], step: int) -> None:
    """The block before the switch and after it."""

    for column, at, title in zip(st.columns(2, gap="medium"), (step - 1, step), ("before", "after"), strict=True):
        with column:
            if at < 0:
                st.caption("This is where it begins.")
                continue
            st.markdown(f"**{title}:** {NAMES[at]}" if step else f"**{NAMES[at]}**")
            last = found[step - 1].config if at == step and step else None
            model_map.show(views.change(found[at].config, last, NAMES[at], title))


page.begin(FACTS)
page.try_this(
    {
        "where it began": {"step": 0},
        "a smaller KV cache": {"step": 4, "size": "large"},
        "a gated layer": {"step": 5},
        "today's": {"step": LAST},
    }
)
left, right = st.columns([1, 3], gap="medium")
with left:
    step = controls.slider("Switches made", "step", 0, LAST, 1)
    player("step", 0, LAST, step, label="one switch after the other", period=PERIOD, everywhere=True)
    size = controls.select("Size to count", "size", list(FIRST), "small", SIZE_NAMES)
    seed = controls.slider("Weights of the timed models", "seed", 0, 20, 0)
    place = st.container()
found, losses = versions(FIRST[size]), experiments.trained()
name, about = NAMES[step], ABOUT[NAMES[step]]
key = ("modern", seed)


def draw(job: jobs.Job) -> None:
    """The effects as far as they are known."""
    with place:
        total, again = len(NAMES) * modernising.ROUNDS, {"seed": controls.next_seed(seed)}
        live.bar(key, job, len(job.items), total, again, work="measurement", step="point", fresh="Measure again")
    speeds = list(job.items)
    shown = experiments.switches(found, speeds, losses, step, SIZE_NAMES[size])
    with right:
        figure(
            shown.figure,
            key="effects",
            height=HEIGHT,
            min_width=640,
            on_click=choose,
            alt=shown.alt,
            caption=shown.caption,
            table=lambda: _table(found, speeds),
        )


def _table(found: list[Version], speeds: list[Speed]) -> pd.DataFrame:
    by_step, seeds = {speed.step: speed for speed in speeds}, losses.losses if losses is not None else {}
    return pd.DataFrame(
        [
            {
                "switch": version.name,
                "parameters": version.parameters,
                "KV cache, values per token": version.cached,
                "prefill of 128 tokens (s)": by_step[i].read if i in by_step else None,
                "decode (s per token)": by_step[i].written if i in by_step else None,
                **({"held-out loss, mean": sum(seeds[version.name]) / len(seeds[version.name])} if seeds else {}),
            }
            for i, version in enumerate(found)
        ]
    )


live.watch(key, draw, live.begin(key, lambda: modernising.race(seed)))
st.subheader(f"Switch {step}: {name}" if step else name, anchor=False)
st.markdown(about)
beside(found, step)
trained = (
    str(modernising.loss_changes(losses.losses))
    if losses is not None
    else "The losses of models trained alike are not here yet: their recipe is ladder-modernisation."
)
page.what_to_see(
    f"{modernising.size_changes(found)} {trained} Several of the switches were made for stable training or for speed "
    "in large models, which models of this size cannot show. Choose a larger size: the balance of the parameters "
    "changes."
)
page.question(
    "Which of the eight would you undo first if memory for long contexts were of no concern?",
    "GQA: it exists to make the KV cache smaller. It also saves the parameters of W_K and W_V, and its query heads "
    "have to share their keys and values for it.",
)
page.how_it_is_computed(
    page.experiment(
        experiments.switches,
        made(modernising.versions, FIRST[size]),
        made(modernising.timed, seed),
        made(experiments.trained),
        step,
        SIZE_NAMES[size],
    ),
    formula=(
        r"\begin{aligned}\text{2017: }& x \leftarrow \mathrm{norm}(x + F(x)) \\"
        r"\text{today: }& x \leftarrow x + F(\mathrm{norm}(x))\end{aligned}"
    ),
    code=(modernising.versions, modernising.race),
    terms=("pre-LN", "grouped-query attention (GQA)", "SwiGLU", "weight tying"),
)
