"""The page on induction: how a previous-token head feeds an induction head."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.inside import reading as _reading
from pages.inside.induction import experiments
from pages.inside.induction.heads import choose_model, kinds
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.program import made
from tfcore.analysis.finding import Finding
from tfcore.analysis.inside import circuits
from tfcore.analysis.inside.circuits import PatchedRun
from tfcore.config import ModelConfig
from tfcore.measures.heads import compositions, induction_heads
from tfcore.measures.heads.compositions import Composition
from tfcore.measures.heads.induction_heads import HeadKinds, HeadTests, Place, listed, tested_length
from tfcore.training.repeated_rows import training_note

TESTS_BY = {"score": "by score", "rank": "by rank"}
TRY: dict[str, dict[str, Any]] = {
    "attention only, two layers": {"model": "induction", "reader": 1},
    "a language model": {"model": "stories", "reader": 3},
    "no induction heads: layer 2": {"model": "stories", "reader": 2},
    "other random tokens": {"circuit_draw": 7},
}
REAL = "smollm2"
TRY_REAL: dict[str, dict[str, Any]] = {"a real model (smollm2)": {"model": REAL, "reader": 18, "tests_by": "rank"}}

composed = cache.of_model(max_entries=32)(compositions.composition)
patched = cache.of_model(max_entries=32)(experiments.patched_runs)
evaluated = cache.of_model(max_entries=24)(induction_heads.evaluate_heads)


def circuit() -> None:
    """The section."""
    page.try_this((TRY_REAL if REAL in models.fitting("decoder", why_not=models.silent) else {}) | TRY)
    left, right = st.columns([1, 3], gap="large")
    with left:
        model_name = choose_model()
        config, found = cache.model(model_name)[0].config, kinds(model_name)
        seed = controls.slider("Draw of random tokens", "circuit_draw", 0, 99, 0)
        layer = controls.slider(
            "Layer of the later heads", "reader", 1, max(2, config.n_layers) - 1, first_layer(config, found)
        )
        st.markdown(f"**Induction heads:** {listed(found.induction)}")
        st.markdown(f"**Previous-token heads below:** {listed(found.previous)}")
    model = cache.model(model_name)[0]
    findings: list[Finding] = []
    with right:
        if config.n_layers < 2:
            st.info("This model has one layer, so no head can read what another head wrote: there is no composition.")
        else:
            result = composed(model_name, layer)
            strips(model, result, layer, found.previous, found.induction)
            findings.append(circuits.circuit_composition(result, layer, found.previous, found.induction))
    ways, tests = st.columns(2, gap="large")
    senders, receivers = tuple(found.previous), tuple(found.induction)
    paths = model_name, tested_length(config), seed, senders, receivers
    with ways:
        st.subheader("Path patching: one input at a time", anchor=False)
        if receivers and senders:
            runs = patched(*paths)
            paths_figure(model, runs, senders, receivers)
            findings.append(circuits.decisive_input(runs))
        else:
            st.info("This needs induction heads and previous-token heads below them; this model does not have both.")
    with tests:
        st.subheader("Prefix matching and copying", anchor=False)
        by_rank = (
            controls.segmented("Measured by", "tests_by", list(TESTS_BY), "score", TESTS_BY, named=False) == "rank"
        )
        both_tests(model, evaluated(model_name, seed), found.induction, by_rank)
    programs = []
    if config.n_layers > 1:
        result = made(compositions.composition, model_name, layer)
        programs.append(
            page.experiment_of(
                "The composition", experiments.circuit, model_name, result, layer, found.previous, found.induction
            )
        )
    if receivers and senders:
        runs = made(experiments.patched_runs, *paths)
        programs.append(
            page.experiment_of("Path patching", experiments.path_patching, model_name, runs, senders, receivers)
        )
    words(" ".join([*map(str, findings), training_note(model_name)]), programs)


def first_layer(config: ModelConfig, found: HeadKinds) -> int:
    """The layer of the strongest induction head, which reads what those below it wrote."""
    if _reading.begins_with_strongest(config):
        return max(1, found.best[0])
    return min(3, config.n_layers - 1)


def strips(model: Any, result: Composition, layer: int, senders: list[Place], receivers: list[Place]) -> None:
    """All composition scores of the heads of one layer."""
    shown = experiments.circuit(model, result, layer, senders, receivers)
    figure(
        shown.figure,
        key="strips",
        height=420,
        min_width=340,
        alt=shown.alt,
        caption=f"{shown.caption} Filled: from a previous-token head to an induction head; grey: random matrices of "
        "the same shapes. Nothing is subtracted.",
        table=lambda: table(result, layer),
    )


def table(result: Composition, layer: int) -> pd.DataFrame:
    """Every pair with its three scores."""
    places = np.ndindex(result.scores["key"].shape)
    pairs = [{"reads": f"{layer}.{h}", "wrote": f"{below}.{e}"} for h, below, e in places]
    return pd.DataFrame(pairs).assign(**{kind: scores.ravel() for kind, scores in result.scores.items()})


def paths_figure(model: Any, runs: list[PatchedRun], senders: tuple[Place, ...], receivers: tuple[Place, ...]) -> None:
    """Path patching of queries, keys and values."""
    shown = experiments.path_patching(model, runs, senders, receivers)
    figure(
        shown.figure,
        key="doors",
        height=320,
        min_width=340,
        alt=f"Path patching. {shown.alt}",
        caption=shown.caption,
        table=lambda: pd.DataFrame(
            [(run.patched, run.induction, run.first_loss, run.second_loss) for run in runs],
            columns=["patched", "induction weight", "first loss", "second loss"],
        ),
    )


def both_tests(model: Any, result: HeadTests, induction: list[Place], by_rank: bool) -> None:
    """Prefix matching against copying."""
    shown = experiments.head_tests(model, result, induction, by_rank)
    heads = result.prefix.shape[1]
    places = range(result.prefix.size)
    figure(
        shown.figure,
        key="tests",
        height=320,
        min_width=340,
        alt=shown.alt,
        caption=f"{shown.caption} Filled: the induction heads.",
        table=lambda: pd.DataFrame(
            {
                "layer": [i // heads for i in places],
                "head": [i % heads for i in places],
                "prefix matching": result.prefix.ravel(),
                "copying": result.copying.ravel(),
                "largest weight on the right token": result.prefix_first.ravel(),
                "own logit raised most": result.copying_first.ravel(),
                "mean rank of the own logit": result.copying_rank.ravel(),
            }
        ),
    )


def words(found: str, programs: list[page.Experiment]) -> None:
    """What to see, sources, the question."""
    page.what_to_see(
        "A previous-token head writes into the stream of each token which token came before it. The query of an "
        "induction head matches that: it looks for the token that came after A, so what was written must arrive in its "
        f"**keys**. {found} RoPE's rotations are left out of the composition scores; the scale of the norm is in."
    )
    page.question(
        "Why can a model with one layer not do this?",
        "An induction head finds its key by the token *before* that key. All heads of a layer read the stream as it "
        "was "
        "before any of them wrote, and in the first layer each position holds its own token alone. Some head has to "
        "write the previous token there first, a layer earlier. Train a model of one layer and see.",
    )
    page.how_it_is_computed(
        *programs,
        formula=(
            r"\underbrace{W_{QK}^{\,2}}_{\text{what head 2 attends to}} = W_Q^\top W_K, \quad "
            r"\underbrace{W_{OV}^{\,1}}_{\text{what head 1 writes}} = W_O W_V, \qquad "
            r"\text{K-composition} = \frac{\lVert W_{QK}^{\,2}\, W_{OV}^{\,1} \rVert_F}"
            r"{\lVert W_{QK}^{\,2} \rVert_F\, \lVert W_{OV}^{\,1} \rVert_F}"
        ),
        code=(
            compositions.compose,
            compositions.compositions,
            compositions.random_composition,
            circuits.patch_paths,
            induction_heads.evaluate_heads,
            induction_heads.copying_score,
            induction_heads.copying_ranks,
        ),
        papers=(
            "Composition: A Mathematical Framework for Transformer Circuits (2021). Prefix matching and copying: "
            "arXiv:2209.11895, head activation evaluators; by rank, which is our own, what "
            "counts is whether the right token comes first, not by how much. Path patching: arXiv:2304.05969."
        ),
    )
