"""Load balancing: a mixture of experts trained without a remedy, and beside it with one, here and now where no such
runs are stored."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from pages.experts.balance import seen_trainings
from pages.experts.balance.facts import FACTS
from pages.experts.balance.words import WORDS
from pages.ui import controls, page
from pages.ui.frame import panel
from pages.ui.work import jobs, live
from tfcore.views.experts import balance as views
from tfcore.views.experts.balance.measure import REMEDIES, REMEDY_NAMES, BalanceConfig, BalanceEvaluation, Remedy, Where
from tfcore.views.experts.balance.measure import train_together as train
from tfcore.views.experts.balance.say import remedy_effect
from tfcore.views.view import View

HEIGHT = 300  # of one load of two
SMALL = 210  # of one load of six
IMPORTANCE = 0.1  # the paper's
PLACES: dict[Where, str] = {"sinusoidal": "sinusoidal", "rope": "RoPE"}
TRAINED = {"one": "this remedy", "all": "all five"}
DRAWN = {"bands": "bands", "map": "heatmap"}


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


def show(runs: seen_trainings.Runs) -> None:
    """The load of each expert, training by training, and what was found."""
    entries, columns = list(runs.items()), 2 if len(runs) == 2 else 3
    for start in range(0, len(entries), columns):
        row = entries[start : start + columns]
        for place, (config, looks) in zip(st.columns(columns, gap="medium"), row, strict=False):
            with place:
                st.markdown(f"**{config.name[0].upper()}{config.name[1:]}**")
                height = HEIGHT if columns == 2 else SMALL
                p.show(views.load(config, as_map=how == "map", height=height, so_far=looks))
    st.markdown(f"**Found.** {remedy_effect(runs, cured)}")


def curves(looks: Sequence[tuple[BalanceEvaluation, ...]]) -> View:
    """All trainings over the same steps, after as many looks at each."""
    return views.remedies(configs, cured, so_far=dict(zip(configs, zip(*looks, strict=True), strict=True)))


def draw(job: jobs.Job) -> None:
    """The training as it is now."""
    with beside:
        done = job.items[-1][0].step if job.items else 0
        live.bar(configs, job, done, steps, {"seed": controls.next_seed(seed)})
    seen_trainings.keep(configs, job)
    runs = dict(zip(configs, zip(*job.items, strict=True), strict=True)) if job.items else {}
    if not runs:
        picture.info("Nothing is trained yet: it begins as soon as there is room.")
        below.empty()  # a fragment may write here later only if it wrote here at first
        return
    with picture:
        show(runs)
    with below:
        p.show(live.over_stored(curves, list(job.items), items))
        seen_trainings.show_table(configs, runs)


page.begin(FACTS)
with panel(None) as p:
    p.examples(
        {
            "too weak a loss": {"view": "one", "remedy": "loss", "alpha": 0.001},
            "noise alone": {"view": "one", "remedy": "noise", "noise": 1.0, "importance": 0.0},
            "capacity factor 1": {"view": "one", "remedy": "capacity", "capacity": 1.0},
            "expert choice": {"view": "one", "remedy": "experts"},
            "a slower bias": {"view": "one", "remedy": "bias", "bias": 0.003},
            "all five": {"view": "all"},
            "with RoPE": {"view": "one", "remedy": "loss", "positions": "rope"},
        }
    )
    left, right = st.columns([1, 3], gap="large")
    with left:
        view = controls.segmented("Trained", "view", list(TRAINED), "one", TRAINED)
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
                help="Added to small embeddings, sinusoidal positions make the router's inputs alike for all "
                "characters. RoPE leaves the embeddings as they are, and choices differ.",
            )
            steps = controls.slider("Training steps", "steps", 40, 500, 300, 20)
            seed = controls.slider("Seed of weights and batches", "seed", 0, 20, 0)
        beside = st.container()
    usual = {r: BalanceConfig(remedy=r, importance=IMPORTANCE if r == "noise" else 0.0) for r in REMEDIES}
    several = [
        replace(config, positions=positions, seed=seed, steps=steps)
        for config in ((usual | {remedy: chosen}).values() if view == "all" else [chosen])
    ]
    configs: seen_trainings.Key = (several[0].without, *several)
    cured = next(config for config in several if config.remedy == remedy)
    with right:
        picture = st.container()
        st.markdown(WORDS[remedy].claim)
    known, stored = seen_trainings.kept(), views.stored_runs()
    items: tuple[tuple[BalanceEvaluation, ...], ...] = ()
    if all(config in stored for config in configs):
        items = tuple(zip(*(stored[config] for config in configs), strict=True))
    else:  # what is stored of them is not trained again
        known = {**stored, **known}
    live.watch(configs, draw, live.begin(configs, lambda: train(configs, known), stored=items))
    p.what_to_see(WORDS[remedy].see)
    p.question(
        "A collapsed model computes exactly as much per character as a balanced one. What does a collapse cost?",
        "It uses the parameters of one expert, not of eight: the idle ones get no characters, so no gradient. And they "
        "cost all the same: memory, and in expert parallelism devices of their own, of which seven wait while the busy "
        "one sets the time of a step.",
    )
