"""Panel of the page on scaling: published models by size, text and year."""

from typing import Literal

import pandas as pd
import streamlit as st

from pages.training.scaling import experiments
from pages.ui import cache, controls, page
from pages.ui.components.figure import Event, figure, name_of
from tfcore import shipped
from tfcore.analysis.training import compute_budget, known_models
from tfcore.analysis.training.compute_budget import tokens_per_parameter
from tfcore.analysis.training.known_models import MODELS, Kind, KnownModel
from tfcore.measures.parameter_count import parameters
from tfcore.measures.quantities import power, round_count

View = Literal["plane", "years"]
VIEWS: dict[View, str] = {"plane": "tokens", "years": "years"}
KINDS: dict[Kind | Literal["all"], str] = {
    "all": "all",
    "recurrent": "recurrent",
    "dense": "Transformers",
    "mixture": "with experts",
}
RATIOS = {0: "any", 10: "10", 20: "20", 100: "100", 1000: "1,000"}
FIRST, LAST = 2013, 2025
NAMES = sorted(model.name for model in MODELS)
HEIGHT = 520


@cache.data(max_entries=1)
def ours() -> dict[str, int]:
    """Parameters of the models that ship."""
    return {name: parameters(cache.model(name)[0].config).total for name in shipped()}


def panel() -> None:
    """The section."""
    page.try_this(
        {
            "2020: size first": {"view": "plane", "until": 2021, "who": "GPT-3", "least": 0, "kind": "all"},
            "Chinchilla against Gopher": {"view": "plane", "until": 2022, "who": "Chinchilla", "least": 0},
            "over-trained": {"view": "plane", "until": 2025, "least": 1000, "who": "Llama 3 8B", "kind": "all"},
            "with experts": {"view": "plane", "kind": "mixture", "who": "DeepSeek-V3", "until": 2025, "least": 0},
            "sizes since the LSTM": {"view": "years", "kind": "all", "until": 2025, "least": 0},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        view = controls.segmented("Size against", "view", list(VIEWS), "plane", VIEWS)
        with page.more_settings():
            kind = controls.select("Kind", "kind", list(KINDS), "all", KINDS)
            until = controls.slider("Published until", "until", FIRST, LAST, LAST)
        least = controls.stops("Tokens per parameter, at least", "least", list(RATIOS), 0, RATIOS)
        chosen = controls.select("Model", "who", NAMES, "Chinchilla", help="or click a point")
        st.caption(str(known_models.model_facts(chosen)))
    listed = [model for model in known_models.select(kind, until, least) if model.tokens or view == "years"]
    with right:
        if view == "plane":
            _plane(listed, chosen)
        else:
            _years(listed, chosen)
    st.dataframe(_table(listed), hide_index=True, height=280, placeholder="–")
    page.what_to_see(
        "Until 2021 models grew and their text did not: GPT-3, Gopher and MT-NLG lie flat on about 300 B tokens, far "
        "below the line of 20. Chinchilla, a quarter of Gopher's size at about the same budget, moved up to it. Since "
        "then makers go beyond the line on purpose, since a small model is cheap to serve: “Over-training” says what "
        "that costs. Over the years, the largest dense model of known size has stayed near 540 B since 2022; what is "
        "larger is a mixture of experts, with a small part of its parameters active per token."
    )
    programs = []
    if view == "plane" and listed:
        programs.append(page.experiment(experiments.models, [model.name for model in listed], chosen))
    elif listed:
        names = [model.name for model in listed]
        programs.append(page.experiment(experiments.years, names, ours(), chosen, LAST + 1.0))
    page.question(
        "Llama 3 8B read 15 T tokens, 1,875 for each parameter. Was that a mistake?",
        "Not for its makers. The same operations in a model of the compute-optimal size would have ended at a lower "
        "loss by the law, but inference with that larger model costs more. See both under “Over-training”.",
    )
    page.how_it_is_computed(
        *programs,
        formula=r"C \approx 6\,N D",
        code=(KnownModel, compute_budget.optimum),
        papers=(
            "Sizes and tokens as the cited source of each row rounds them; of models with experts, N is what is active "
            "per token, and 6 N D follows from that. The full line is the optimum of arXiv:2404.10102, which was "
            "fitted to dense models on another text: take it as a direction. Models whose makers do not say are left "
            "out."
        ),
    )


def _plane(listed: list[KnownModel], chosen: str) -> None:
    if not listed:
        st.info("No model with a known number of tokens is left: ask for less, or for another kind.")
        return
    shown = experiments.models([model.name for model in listed], chosen)
    figure(
        shown.figure,
        key="plane",
        height=HEIGHT,
        min_width=640,
        alt=f"Tokens of training against parameters of published models. {shown.alt}",
        caption=f"{shown.caption} Dotted: equal compute.",
        table=lambda: _table(listed),
        on_click=_choose,
    )


def _years(listed: list[KnownModel], chosen: str) -> None:
    if not listed:
        st.info("No model is left: ask for less, or for another kind.")
        return
    shown = experiments.years([model.name for model in listed], ours(), chosen, LAST + 1.0)
    figure(
        shown.figure,
        key="years",
        height=HEIGHT,
        min_width=640,
        alt=f"Parameters of published models over the years. {shown.alt}",
        caption=f"{shown.caption} A power of ten a line. Across: the models that ship here.",
        table=lambda: _table(listed),
        on_click=_choose,
    )


def _choose(event: Event) -> None:
    if (who := name_of(event, NAMES)) is not None:
        controls.set_values(who=who)


def _table(shown: list[KnownModel]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "model": m.name,
                "year": int(m.year),
                "parameters": round_count(m.parameters),
                "active per token": round_count(m.used),
                "tokens": round_count(m.tokens) if m.tokens else "",
                "tokens per parameter": tokens_per_parameter(m.ratio) if m.ratio else "",
                "6 N D": power(m.flops) if m.flops else "",
                "source": m.source,
            }
            for m in sorted(shown, key=lambda m: -m.year)
        ]
    )
