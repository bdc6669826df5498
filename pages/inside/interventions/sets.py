"""Section of the page on interventions: a set of prompts, its metric and every effect as a mean with its interval."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui import cache, controls, fragments, text
from pages.ui.csv_table import Columns, csv_table, download
from pages.ui.frame import Panel, panel
from pages.ui.reading import is_read, tokens_of
from pages.ui.work.filling import fill
from tfcore.measures import knock_outs
from tfcore.views.inside import interventions as views
from tfcore.views.inside.interventions import say
from tfcore.views.inside.interventions.measure import prompt_sets
from tfcore.views.inside.interventions.measure.prompt_sets import EXACT, Paired, PromptEffects
from tfcore.views.inside.interventions.measure.prompt_tables import (
    ANSWER_CHARACTERS,
    COLUMNS,
    LEAST_PROMPTS,
    MOST_CHARACTERS,
    MOST_PROMPTS,
    TEMPLATES,
    read_prompts,
    written_prompts,
)
from tfcore.views.inside.interventions.sets import PromptResults, measured, measuring, pairable, paired

TABLE = Columns(
    {name: ANSWER_CHARACTERS if name in ("answer", "wrong") else MOST_CHARACTERS for name in COLUMNS},
    rows=MOST_PROMPTS,
    characters=12_000,
)
OWN = "own"
OWN_LABEL = "a table of your own"
BOARDS = {"ablation": "each part, ablated", "patching": "each layer, patched"}


def sets(model: str, bos: bool | None, above: DeltaGenerator) -> None:
    """Show the section; `above` is where the prompts are chosen."""
    with above:
        chosen = choose_set(model, bos)
    with panel(None) as p, p.picture:
        drawn = st.container()  # the figures begin higher for what is edited below them
        kind = controls.segmented("Board", "board", list(BOARDS), "ablation", BOARDS)
        table = own_table(model, bos) if chosen == OWN else written_prompts(TEMPLATES[chosen])
        with drawn:
            if not all(is_read(model, said) for said in texts(table)):
                st.info(
                    f"No effects yet: the prompts are not written in tokens of this model ({tokens_of(model)}). Choose "
                    f"{OWN_LABEL} and write such, or a model that was trained on English."
                )
                fragments.stop()
            try:
                prompts = paired(model, table, bos)
            except ValueError as problem:
                st.info(f"No effects yet: {text.escape(str(problem), text.MESSAGE)}.")
                fragments.stop()
            if prompts.left_out:
                st.info(text.escape(str(say.left_out(prompts.left_out)), text.MESSAGE))
            pictures(p, model, table, bos, prompts, kind == "patching")
        p.what_to_see(
            "Each dot is the mean over all prompts of how much the answer's lead falls without this part, its bar the "
            "interval of that mean, the pale dots single prompts. An effect that one sentence shows and the others do "
            "not has a bar across 0. With many parts some bars leave 0 out by chance, one in twenty of those without "
            "any effect: the ones to believe are far from it."
        )
        p.question(
            "A part has a large mean and an interval that includes 0. Does it do nothing?",
            "No: the prompts disagree. It may matter for some of them, such as one name or one order of the words, and "
            "work against the others. Look at its pale dots, and put the prompts that agree into a table of their own.",
        )


def texts(table: str) -> list[str]:
    """All that a model is given of a table; nothing where it is none."""
    try:
        return [said for row in read_prompts(table) for said in (row.clean, row.corrupted, row.answer, row.wrong)]
    except ValueError:
        return []


def choose_set(model: str, bos: bool | None) -> str:
    """Which prompts: of a template that the model can pair, or typed."""
    labels = {**{name: name for name in pairable(model, bos)}, OWN: OWN_LABEL}
    return controls.segmented("Prompts", "set", list(labels), next(iter(labels)), labels)


def own_table(model: str, bos: bool | None) -> str:
    """The visitor's prompts as CSV; at first those of a template."""
    first = next(iter(pairable(model, bos)), "genders")
    return csv_table(
        "Your prompts",
        "table",
        written_prompts(TEMPLATES[first]),
        TABLE,
        read_prompts,
        hint="Both texts of a row need equally many tokens. An answer begins with a space where a word begins.",
    )


def pictures(p: Panel, model: str, table: str, bos: bool | None, prompts: Paired, patched: bool) -> None:
    """The largest parts with intervals, the board, the metric; they fill in prompt by prompt."""
    own, n = cache.model(model), len(prompts.prompts)  # opened here: a job's thread knows no session
    network = own[0]

    def draw(so_far: PromptResults) -> None:
        first = [one for one in so_far if isinstance(one, PromptEffects)]
        if len(first) < LEAST_PROMPTS:
            st.info("The first two prompts are being run; an interval needs both.")
            return
        left, right = st.columns(2, gap="large")
        with left:
            p.show(views.prompt_effects(model, table, patched, bos, so_far=so_far))
        with right:
            p.show(views.prompt_board(model, table, patched, bos, so_far=so_far))
        metrics(say.set_metric(first).values)
        with st.expander("Every prompt"):
            st.dataframe(prompt_table(prompts, first), hide_index=True)
            download("These prompts as CSV", table, "prompts.csv")

    tokens, exact = max(len(one.clean) for one in prompts.encoded), EXACT
    if patched:
        outputs = prompt_sets.exact_patches(network, prompts.encoded)
        exact += 2 * network.config.decoder_layers if outputs is None else outputs
        if outputs is not None:
            st.caption(
                f"This set is large for this model: the {outputs} outputs with the largest estimates are patched "
                "exactly, the others are estimates, and pale."
            )
    fill(
        ("prompts", model, table, patched, bos),
        knock_outs.operations(network, n * (exact + 8), tokens),
        lambda: measuring(own, table, patched, bos),
        lambda: measured(model, table, patched, bos),
        draw,
        2 * n,
        "run",
    )


def metrics(values: Mapping[str, Any]) -> None:
    """The metric line."""
    with st.container(horizontal=True, gap="large"):
        interval = f"95% interval {values['low']:+.2f} to {values['high']:+.2f}"
        other = f"95% interval {values['corrupted_low']:+.2f} to {values['corrupted_high']:+.2f}"
        for name, value, note in (
            ("Answer less wrong answer, clean", f"{values['mean']:+.2f}", interval),
            ("On the corrupted texts", f"{values['corrupted']:+.2f}", other),
            ("The answer leads", f"{values['right']} of {values['prompts']}", "on the clean texts"),
        ):
            st.metric(name, value, note, delta_color="off", delta_arrow="off", width="content")


def prompt_table(paired: Paired, first: Sequence[PromptEffects]) -> pd.DataFrame:
    """The prompts with their metric."""
    rows = [
        (*prompt, round(one.clean, 2), round(one.corrupted, 2))
        for prompt, one in zip(paired.prompts, first, strict=False)
    ]
    return pd.DataFrame(rows, columns=[*COLUMNS, "metric, clean", "metric, corrupted"])
