"""The page on induction: how a previous-token head feeds an induction head."""

import math
from typing import Any

import pandas as pd
import streamlit as st

from pages.inside.induction import experiments as experiments
from pages.inside.induction.heads import TESTED, choose_model, kinds
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from tfcore.analysis.inside import composition, head_evaluators
from tfcore.analysis.inside import copying_findings as findings
from tfcore.analysis.inside import path_patching as doors
from tfcore.analysis.inside.composition import Composition
from tfcore.analysis.inside.copying import Place, random_rows, twice
from tfcore.analysis.inside.copying_findings import listed
from tfcore.analysis.inside.head_evaluators import Evaluated
from tfcore.analysis.inside.path_patching import Closed
from tfcore.figures.inside import composition as figures
from tfcore.training.repeated_rows import training_note

TRY: dict[str, dict[str, Any]] = {
    "attention only, two layers": {"model": "induction", "reader": 1},
    "a language model": {"model": "stories", "reader": 3},
    "no induction heads: layer 2": {"model": "stories", "reader": 2},
    "other random tokens": {"circuit_draw": 7},
}


@cache.data(max_entries=32)
def composed(model_name: str, layer: int) -> Composition:
    return composition.composition(cache.model(model_name)[0], layer)


@cache.data(max_entries=32)
def closed(
    model_name: str, length: int, seed: int, senders: tuple[Place, ...], receivers: tuple[Place, ...]
) -> list[Closed]:
    model = cache.model(model_name)[0]
    rows = twice(random_rows(model.config.vocab_size, length, 8, seed))
    return doors.close_doors(model, rows, length, senders, receivers)


@cache.data(max_entries=24)
def evaluated(model_name: str, seed: int) -> Evaluated:
    return head_evaluators.evaluate_heads(cache.model(model_name)[0], seed)


def circuit() -> None:
    """The section."""
    st.latex(
        r"\underbrace{W_{QK}^{\,2}}_{\text{what head 2 attends to}} = W_Q^\top W_K, \quad "
        r"\underbrace{W_{OV}^{\,1}}_{\text{what head 1 writes}} = W_O W_V, \qquad "
        r"\text{K-composition} = \frac{\lVert W_{QK}^{\,2}\, W_{OV}^{\,1} \rVert_F}"
        r"{\lVert W_{QK}^{\,2} \rVert_F\, \lVert W_{OV}^{\,1} \rVert_F}"
    )
    left, right = st.columns([1, 3], gap="large")
    with left:
        model_name = choose_model()
        config, found = cache.model(model_name)[0].config, kinds(model_name)
        seed = controls.slider("Draw of random tokens", "circuit_draw", 0, 99, 0)
        layer = controls.slider(
            "Layer of the later heads", "reader", 1, max(2, config.n_layers) - 1, min(3, config.n_layers - 1)
        )
        st.metric("Induction heads", listed(found.induction))
        st.metric("Previous-token heads below", listed(found.previous))
    with right:
        if config.n_layers < 2:
            st.info("This model has one layer, so no head can read what another head wrote: there is no composition.")
        else:
            strips(composed(model_name, layer), layer, found.previous, found.induction, config.d_model)
    ways, tests = st.columns(2, gap="large")
    length = min(TESTED, config.max_seq_len // 2, config.vocab_size)
    said = [findings.composed(composed(model_name, layer), layer, found.previous, found.induction)] * (
        config.n_layers > 1
    )
    with ways:
        st.subheader("Path patching: one input at a time", anchor=False)
        if found.induction and found.previous:
            result = closed(model_name, length, seed, tuple(found.previous), tuple(found.induction))
            close(result, math.log(config.vocab_size), listed(found.previous), listed(found.induction))
            said.append(findings.patched(result))
        else:
            st.info("This needs induction heads and previous-token heads below them; this model does not have both.")
    with tests:
        st.subheader("Prefix matching and copying", anchor=False)
        tokens = min(head_evaluators.TOKENS, config.vocab_size, config.max_seq_len // head_evaluators.COPIES)
        both_tests(evaluated(model_name, seed), found.induction, tokens)
    page.try_this(TRY)
    words(" ".join([*said, training_note(model_name)]))
    if config.n_layers > 1:
        page.experiment_of("The composition", experiments.circuit, model_name, layer, found.previous, found.induction)
    if found.induction and found.previous:
        page.experiment_of(
            "Path patching", experiments.one_door, model_name, length, seed, found.previous, found.induction
        )


def strips(result: Composition, layer: int, senders: list[Place], receivers: list[Place], d_model: int) -> None:
    """All composition scores of the heads of one layer."""
    best = {}
    for kind, scores in result.scores.items():
        head, below, earlier = (int(i) for i in divmod_all(int(scores.argmax()), scores.shape))
        best[kind] = f"{figures.LETTER[kind]} {scores.max():.3f} ({below}.{earlier} to {layer}.{head})"
    finding = "; ".join(best.values())
    figure(
        figures.strips_figure(result, layer, senders, receivers, 420),
        key="strips",
        height=420,
        min_width=340,
        alt=f"Composition scores of the heads of layer {layer} with every head below. Highest: {finding}. Random "
        f"matrices: {result.random:.3f}.",
        caption=f"Heads of layer {layer} with every head below; filled: from a previous-token head to an induction "
        f"head. Highest: {finding}. Random matrices of the same shapes score {result.random:.3f} ± {result.spread:.3f} "
        f"(grey; theory: 1/√{d_model} = {composition.theory(d_model):.3f}). Nothing is subtracted.",
        table=lambda: table(result, layer),
    )


def divmod_all(index: int, shape: tuple[int, ...]) -> list[int]:
    """The place of a flat index."""
    found: list[int] = []
    for size in reversed(shape):
        index, place = divmod(index, size)
        found.insert(0, place)
    return found


def table(result: Composition, layer: int) -> pd.DataFrame:
    """Every pair with its three scores."""
    shape = result.scores["key"].shape
    places = [divmod_all(i, shape) for i in range(result.scores["key"].size)]
    pairs = [{"reads": f"{layer}.{h}", "wrote": f"{below}.{e}"} for h, below, e in places]
    return pd.DataFrame(pairs).assign(**{kind: scores.ravel() for kind, scores in result.scores.items()})


def close(result: list[Closed], chance: float, senders: str, receivers: str) -> None:
    """Path patching of queries, keys and values."""
    by = {one.door: one for one in result}
    finding = ", ".join(f"{door} {by[door].second_loss:.2f}" for door in ("none", "query", "key", "value"))
    figure(
        figures.doors_figure(result, chance, 320),
        key="doors",
        height=320,
        min_width=340,
        alt=f"Path patching: loss on the second copy when the induction heads' queries, keys or values are those of a "
        f"run without the previous-token heads: {finding}.",
        caption=f"Heads {receivers} get the queries, keys or values of a run in which {senders} are ablated; all "
        f"else is unchanged. Loss on the second copy: {finding} nats.",
        table=lambda: pd.DataFrame(
            [(c.door, c.induction, c.first_loss, c.second_loss) for c in result],
            columns=["patched", "induction weight", "first loss", "second loss"],
        ),
    )


def both_tests(result: Evaluated, induction: list[Place], tokens: int) -> None:
    """Prefix matching against copying."""
    highest = max(induction, key=lambda at: result.prefix[at], default=None)
    finding = (
        f"head {highest[0]}.{highest[1]} scores {result.prefix[highest]:.2f} in prefix matching and "
        f"{result.copying[highest]:.2f} in copying"
        if highest
        else "no head of this model is an induction head"
    )
    heads = result.prefix.shape[1]
    figure(
        figures.evaluators_figure(result, induction, tokens, 320),
        key="tests",
        height=320,
        min_width=340,
        alt=f"Prefix matching and copying scores of {result.prefix.size} heads: {finding}.",
        caption=f"Every head in both tests, {tokens} random tokens, {head_evaluators.EXAMPLES} examples: {finding}. "
        "Filled: the induction heads.",
        table=lambda: pd.DataFrame(
            {
                "layer": [i // heads for i in range(result.prefix.size)],
                "head": [i % heads for i in range(result.prefix.size)],
                "prefix matching": result.prefix.ravel(),
                "copying": result.copying.ravel(),
            }
        ),
    )


def words(found: str) -> None:
    """What to see, sources, the question."""
    page.what_to_see(
        "A previous-token head writes into the stream of each token which token came before it. The query of an "
        "induction head matches that: it looks for the token that came after A, so what was written must arrive in its "
        f"**keys**. {found} RoPE's rotations are left out of the composition scores; the scale of the norm is in."
    )
    page.source(
        composition.compose,
        composition.compositions,
        composition.random_composition,
        doors.close_doors,
        head_evaluators.evaluate_heads,
        head_evaluators.copying_score,
    )
    st.caption(
        "Composition: A Mathematical Framework for Transformer Circuits (2021). Prefix matching and copying: "
        "arXiv:2209.11895, head activation evaluators. Path patching: arXiv:2304.05969."
    )
    page.question(
        "Why can a model with one layer not do this?",
        "An induction head finds its key by the token *before* that key. All heads of a layer read the stream as it "
        "was "
        "before any of them wrote, and in the first layer each position holds its own token alone. Some head has to "
        "write the previous token there first, a layer earlier. Train a model of one layer and see.",
    )
