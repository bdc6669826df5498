"""Load balancing: a mixture of experts trained here and now without a remedy, and beside it with one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from pages.experts.balance import experiments, kept
from pages.experts.balance.facts import FACTS
from pages.experts.balance.words import WORDS
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from pages.ui.work import jobs, live
from tfcore.analysis.experts import balance
from tfcore.analysis.experts.balance import REMEDIES, REMEDY_NAMES, BalanceConfig, BalanceLook, Remedy, Where, train_run
from tfcore.analysis.experts.balance import train_together as train
from tfcore.analysis.experts.balance_findings import InputCosines
from tfcore.analysis.finding import Finding
from tfcore.figures.shown import Shown

HEIGHT = 300  # of one load of two
SMALL = 210  # of one load of six
CURVES = 720
IMPORTANCE = 0.1  # the paper's
PLACES: dict[Where, str] = {"sinusoidal": "sinusoidal", "rope": "RoPE"}
VIEWS = {"one": "this remedy", "all": "all five"}
DRAWN = {"bands": "bands", "map": "heatmap"}
TRY: dict[str, dict[str, Any]] = {
    "too weak a loss": {"view": "one", "remedy": "loss", "alpha": 0.001},
    "noise alone": {"view": "one", "remedy": "noise", "noise": 1.0, "importance": 0.0},
    "capacity factor 1": {"view": "one", "remedy": "capacity", "capacity": 1.0},
    "expert choice": {"view": "one", "remedy": "experts"},
    "a slower bias": {"view": "one", "remedy": "bias", "bias": 0.003},
    "all five": {"view": "all"},
    "with RoPE": {"view": "one", "remedy": "loss", "positions": "rope"},
}


router_input_cosine = cache.data(max_entries=64)(balance.router_input_cosine)


def choose_strength(remedy: Remedy) -> BalanceConfig:
    """The remedy with the strength that its slider says."""
    if remedy == "loss":
        stops = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
        return BalanceConfig(remedy=remedy, strength=controls.stops("Strength α", "alpha", stops, 0.03))
    if remedy == "capacity":
        room = controls.slider("Capacity factor c", "capacity", 1.0, 4.0, 1.25, 0.25)
        return BalanceConfig(remedy=remedy, strength=room)
    if remedy == "noise":
        noise = controls.slider("Noise σ", "noise", 0.5, 4.0, 1.0, 0.5)
        weight = controls.stops("Importance loss w", "importance", (0.0, 0.01, 0.1, 1.0), IMPORTANCE)
        return BalanceConfig(remedy=remedy, strength=noise, importance=weight)
    if remedy == "experts":
        share = controls.slider("Mean experts per character, c", "choice", 1, 3, 1)
        return BalanceConfig(remedy=remedy, strength=float(share))
    step = controls.stops("Step of the bias u", "bias", (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1), 0.01)
    return BalanceConfig(remedy=remedy, strength=step)


def every_remedy(chosen: BalanceConfig) -> list[BalanceConfig]:
    """All of them, those that are not chosen at their usual strengths."""
    usual = {r: BalanceConfig(remedy=r, importance=IMPORTANCE if r == "noise" else 0.0) for r in REMEDIES}
    return list((usual | {chosen.remedy: chosen}).values())


def show_load(config: BalanceConfig, looks: Sequence[BalanceLook], height: int) -> None:
    """The load of each expert in one training."""
    st.markdown(f"**{config.name[0].upper()}{config.name[1:]}**")
    shown = experiments.load(config, looks, how == "map", height)
    figure(shown.figure, key=f"load_{config.remedy}", height=height, alt=shown.alt, caption=shown.caption)


def show(runs: kept.Runs, found: Finding) -> None:
    """The load of each expert, training by training, and what was found."""
    entries, columns = list(runs.items()), 2 if len(runs) == 2 else 3
    for start in range(0, len(entries), columns):
        row = entries[start : start + columns]
        for place, (config, looks) in zip(st.columns(columns, gap="medium"), row, strict=False):
            with place:
                show_load(config, looks, HEIGHT if columns == 2 else SMALL)
    st.markdown(f"**Found.** {found}")


def show_curves(runs: kept.Runs, shown: Shown) -> None:
    """Largest share, entropy, characters without an expert and losses, over the same steps."""
    figure(
        shown.figure, key="curves", height=CURVES, alt=shown.alt, caption=shown.alt, table=lambda: kept.every_look(runs)
    )


def draw(job: jobs.Job) -> None:
    """The training as it is now."""
    with beside:
        done = job.items[-1][0].step if job.items else 0
        live.bar(configs, job, done, steps, {"seed": controls.next_seed(seed)})
    kept.keep(configs, job)
    runs = dict(zip(configs, zip(*job.items, strict=True), strict=True)) if job.items else {}
    if not runs:
        picture.info("Nothing is trained yet: it begins as soon as there is room.")
        below.empty()  # a fragment may write here later only if it wrote here at first
        return
    shown = experiments.remedies(runs, cured, WORDS[remedy].phrase)
    with picture:
        show(runs, shown.findings[1])
    with below:
        show_curves(runs, shown)
        kept.show_table(configs, runs)


page.begin(FACTS)
page.try_this(TRY)
left, right = st.columns([1, 3], gap="large")
with left:
    view = controls.segmented("Trained", "view", list(VIEWS), "one", VIEWS)
with right:
    remedy = controls.segmented("Remedy", "remedy", list(REMEDIES), "loss", REMEDY_NAMES)
left, right = st.columns([1, 3], gap="large")
below = st.container()
with left:
    chosen = choose_strength(remedy)
    with page.more_settings():
        how = controls.segmented("Load as", "draw", list(DRAWN), "bands", DRAWN)
        positions = controls.segmented(
            "Positions",
            "positions",
            list(PLACES),
            "sinusoidal",
            PLACES,
            help="Added to small embeddings, sinusoidal positions make the router's inputs alike for all characters. "
            "RoPE leaves the embeddings as they are, and choices differ.",
        )
        steps = controls.slider("Training steps", "steps", 40, 500, 300, 20)
        seed = controls.slider("Seed of weights and batches", "seed", 0, 20, 0)
    beside = st.container()
several = [
    replace(config, positions=positions, seed=seed, steps=steps)
    for config in (every_remedy(chosen) if view == "all" else [chosen])
]
configs: kept.Key = (several[0].without, *several)
cured = next(config for config in several if config.remedy == remedy)
with right:
    picture = st.container()
    st.markdown(WORDS[remedy].claim)
known = kept.kept()
live.watch(configs, draw, live.begin(configs, lambda: train(configs, known)))
page.what_to_see(WORDS[remedy].see)
page.question(
    "A collapsed model computes exactly as much per character as a balanced one. What does a collapse cost?",
    "It uses the parameters of one expert, not of eight: the idle ones get no characters, so no gradient. And they "
    "cost all the same: memory, and in expert parallelism devices of their own, of which seven wait while the busy one "
    "sets the time of a step.",
)
alike = InputCosines({where: router_input_cosine(BalanceConfig(positions=where, seed=seed)) for where in PLACES})
papers = (
    f"Papers: {WORDS[remedy].source}; top-1 routing weighted by the probability, as in arXiv:2101.03961, equation 2. "
    "Task: sentences of a small artificial language in which the first two words decide the others, character by "
    "character; a decoder of one layer, width 64, 8 experts of width 16 (SwiGLU), 16 sequences of 48 characters per "
    "step, AdamW at 0.003 with 20 steps of warm-up. What makes it collapse: top-1 routing, no balance loss, and added "
    "positions (arXiv:1706.03762), which make the inputs of an untrained router alike. "
    f"{alike} Seeds differ: a second expert may get a share without any method."
)
page.how_it_is_computed(
    page.experiment(experiments.remedies, made(balance.train_all, configs), cured, WORDS[remedy].phrase),
    formula=(
        r"\begin{gathered} y = p_i(x)\, E_i(x), \quad i = \arg\max_j\, p_j(x), \quad "
        rf"p(x) = \mathrm{{softmax}}(W_r\, x) \\ {WORDS[remedy].formula} \end{{gathered}}"
    ),
    code=(WORDS[remedy].code, train_run),
    papers=papers,
)
