"""The page on induction: how a previous-token head feeds an induction head."""

from typing import Any

import streamlit as st

from pages.inside import reading
from pages.ui import controls
from pages.ui.frame import panel
from pages.ui.loading import models
from tfcore.config import ModelConfig
from tfcore.measures.heads.induction_heads import HeadsByScore, listed
from tfcore.measures.heads.matrices_of_heads import why_no_head_matrices
from tfcore.training.repeated_rows import training_note
from tfcore.views.inside import induction as views
from tfcore.views.inside.induction.measure.find import kinds_of
from tfcore.views.inside.induction.say.circuit import circuit_composition, decisive_input
from tfcore.views.sources import opened

TESTS_BY = {"score": "by score", "rank": "by rank"}
TRY: dict[str, dict[str, Any]] = {
    "attention only, two layers": {"model": "induction", "reader": 1},
    "a language model": {"model": "stories", "reader": 3},
    "no induction heads: layer 2": {"model": "stories", "reader": 2},
    "other random tokens": {"circuit_draw": 7},
}
REAL = "smollm2"
TRY_REAL: dict[str, dict[str, Any]] = {"a real model (smollm2)": {"model": REAL, "reader": 18, "tests_by": "rank"}}


def circuit() -> None:
    """Show the section."""
    with panel() as p:
        p.examples((TRY_REAL if REAL in models.fitting("decoder", why_not=models.silent) else {}) | TRY)
        with p.controls:
            name = models.choose("decoder", default="stories", why_not=models.silent)
            config, kinds = opened(name)[0].config, kinds_of(name)
            seed = controls.slider("Draw of random tokens", "circuit_draw", 0, 99, 0)
            layer = controls.slider(
                "Layer of the later heads", "reader", 1, max(2, config.n_layers) - 1, first_layer(config, kinds)
            )
            st.markdown(f"**Induction heads:** {listed(kinds.induction)}")
            st.markdown(f"**Previous-token heads below:** {listed(kinds.previous)}")
        said = []
        with p.picture:
            if config.n_layers < 2:
                st.info(
                    "This model has one layer, so no head can read what another head wrote: there is no composition."
                )
            elif reason := why_no_head_matrices(config):
                st.info(f"Composition cannot be shown of this model: {reason}")
            else:
                strips = views.composition(name, layer)
                p.show(strips)
                said.append(str(circuit_composition(strips.result, layer, kinds.previous, kinds.induction)))
        ways, tests = st.columns(2, gap="large")
        with ways:
            st.subheader("Path patching: one input at a time", anchor=False)
            if kinds.induction and kinds.previous:
                patched = views.path_patching(name, seed)
                p.show(patched)
                said.append(str(decisive_input(patched.result)))
            else:
                st.info(
                    "This needs induction heads and previous-token heads below them; this model does not have both."
                )
        with tests:
            st.subheader("Prefix matching and copying", anchor=False)
            by = controls.segmented("Measured by", "tests_by", list(TESTS_BY), "score", TESTS_BY, named=False)
            p.show(views.head_tests(name, seed, by_rank=by == "rank"))
        p.what_to_see(
            "A previous-token head writes into the stream of each token which token came before it. The query of an "
            "induction head matches that: it looks for the token that came after A, so what was written must arrive in "
            f"its **keys**. {' '.join([*said, training_note(name)])} RoPE's rotations are left out of the composition "
            "scores; the scale of the norm is in."
        )
        p.question(
            "Why can a model with one layer not do this?",
            "An induction head finds its key by the token *before* that key. All heads of a layer read the stream as "
            "it was before any of them wrote, and in the first layer each position holds its own token alone. Some "
            "head has to write the previous token there first, a layer earlier. Train a model of one layer and see.",
        )


def first_layer(config: ModelConfig, kinds: HeadsByScore) -> int:
    """The layer of the strongest induction head, which reads what those below it wrote."""
    if reading.begins_with_strongest(config):
        return max(1, kinds.best[0])
    return min(3, config.n_layers - 1)
