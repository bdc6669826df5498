"""A section of the page on scaling: published models by size, text and year."""

from typing import Literal

import streamlit as st

from pages.ui import controls, page
from pages.ui.components.figure import Event, name_of
from pages.ui.frame import panel
from tfcore.views.training import scaling as views
from tfcore.views.training.scaling.measure import known_models
from tfcore.views.training.scaling.measure.known_models import MODELS, Kind
from tfcore.views.training.scaling.say.known_models import model_facts

AGAINST: dict[Literal["plane", "years"], str] = {"plane": "tokens", "years": "years"}
KINDS: dict[Kind | Literal["all"], str] = {
    "all": "all",
    "recurrent": "recurrent",
    "dense": "Transformers",
    "mixture": "with experts",
}
RATIOS = {0: "any", 10: "10", 20: "20", 100: "100", 1000: "1,000"}
FIRST = 2013
NAMES = sorted(model.name for model in MODELS)


def real_models() -> None:
    """Published models by size, text and year."""
    with panel() as p:
        p.examples(
            {
                "2020: size first": {"view": "plane", "until": 2021, "who": "GPT-3", "least": 0, "kind": "all"},
                "Chinchilla against Gopher": {"view": "plane", "until": 2022, "who": "Chinchilla", "least": 0},
                "over-trained": {"view": "plane", "until": 2025, "least": 1000, "who": "Llama 3 8B", "kind": "all"},
                "with experts": {"view": "plane", "kind": "mixture", "who": "DeepSeek-V3", "until": 2025, "least": 0},
                "sizes since the LSTM": {"view": "years", "kind": "all", "until": 2025, "least": 0},
            }
        )
        with p.controls:
            against = controls.segmented("Size against", "view", list(AGAINST), "plane", AGAINST)
            with page.more_settings():
                kind = controls.select("Kind", "kind", list(KINDS), "all", KINDS)
                until = controls.slider("Published until", "until", FIRST, views.LAST, views.LAST)
            least = controls.stops("Tokens per parameter, at least", "least", list(RATIOS), 0, RATIOS)
            chosen = controls.select("Model", "who", NAMES, "Chinchilla", help="or click a point")
            st.caption(str(model_facts(chosen)))
        listed = [model for model in known_models.select(kind, until, least) if model.tokens or against == "years"]
        with p.picture:
            if not listed and against == "plane":
                st.info("No model with a known number of tokens is left: ask for less, or for another kind.")
            elif not listed:
                st.info("No model is left: ask for less, or for another kind.")
            elif against == "plane":
                p.show(views.plane(kind, until, least, chosen), on_click=choose_model)
            else:
                p.show(views.years(kind, until, least, chosen), on_click=choose_model)
        st.dataframe(views.model_table(listed), hide_index=True, height=280, placeholder="–")
        p.what_to_see(
            "Until 2021 models grew and their text did not: GPT-3, Gopher and MT-NLG lie flat on about 300 B tokens, "
            "far below the line of 20. Chinchilla, a quarter of Gopher's size at about the same budget, moved up to "
            "it. Since then makers go beyond the line on purpose, since a small model is cheap to serve: "
            "“Over-training” says what that costs. Over the years, the largest dense model of known size has stayed "
            "near 540 B since 2022; what is larger is a mixture of experts, with a small part of its parameters "
            "active per token."
        )
        p.question(
            "Llama 3 8B read 15 T tokens, 1,875 for each parameter. Was that a mistake?",
            "Not for its makers. The same operations in a model of the compute-optimal size would have ended at a "
            "lower loss by the law, but inference with that larger model costs more. See both under “Over-training”.",
        )


def choose_model(event: Event) -> None:
    """A click on a point chooses its model."""
    if (who := name_of(event, NAMES)) is not None:
        controls.set_values(who=who)
