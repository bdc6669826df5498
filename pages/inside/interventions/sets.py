"""Section of the page on interventions: a set of prompts, its metric and every effect as a mean with its interval."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.inside.interventions import experiments
from pages.ui import cache, controls, fragments, page, text
from pages.ui.components.figure import figure
from pages.ui.csv_table import Columns, csv_table, download
from pages.ui.program import made
from pages.ui.reading import is_read, tokens_of
from pages.ui.work.filling import fill
from tfcore.analysis.inside import prompt_means, prompt_sets
from tfcore.analysis.inside.prompt_means import SetMetric
from tfcore.analysis.inside.prompt_sets import EXACT, ExactEffects, Paired, PromptEffects
from tfcore.analysis.inside.prompt_tables import (
    ANSWER_CHARACTERS,
    COLUMNS,
    LEAST_PROMPTS,
    MOST_CHARACTERS,
    MOST_PROMPTS,
    TEMPLATES,
    read_prompts,
    written_prompts,
)
from tfcore.measures import attribution_patching, knock_outs, statistics
from tfcore.measures.interventions import part_title

TABLE = Columns(
    {name: ANSWER_CHARACTERS if name in ("answer", "wrong") else MOST_CHARACTERS for name in COLUMNS},
    rows=MOST_PROMPTS,
    characters=12_000,
)
OWN = "own"
OWN_LABEL = "a table of your own"
BOARDS = {"ablation": "each part, ablated", "patching": "each layer, patched"}
Found = Sequence[PromptEffects | ExactEffects]

pairable = cache.of_model(max_entries=32)(prompt_sets.pairable_templates)
every_prompt = cache.of_model(max_entries=16)(experiments.every_prompt)


def sets(model: str, bos: bool | None, above: DeltaGenerator) -> None:
    """The section; `above` is where the prompts are chosen."""
    with above:
        chosen = choose_set(model, bos)
    drawn = st.container()  # the figures begin higher for what is edited below them
    kind = controls.segmented("Board", "board", list(BOARDS), "ablation", BOARDS)
    table = own_table(model, bos) if chosen == OWN else written_prompts(TEMPLATES[chosen])
    network, tokenizer = cache.model(model)
    with drawn:
        if not all(is_read(model, said) for said in texts(table)):
            st.info(
                f"No effects yet: the prompts are not written in tokens of this model ({tokens_of(model)}). Choose "
                f"{OWN_LABEL} and write such, or a model that was trained on English."
            )
            fragments.stop()
        try:
            paired = experiments.paired(network, tokenizer, table, bos)
        except ValueError as problem:
            st.info(f"No effects yet: {text.escape(str(problem), text.MESSAGE)}.")
            fragments.stop()
        if paired.left_out:
            st.info(text.escape(prompt_sets.LeftOut(len(paired.left_out), paired.left_out[0]).sentence, text.MESSAGE))
        pictures(model, table, bos, paired, kind == "patching")
    words(model, table, bos, kind == "patching")


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


def pictures(model: str, table: str, bos: bool | None, paired: Paired, patched: bool) -> None:
    """The largest parts with intervals, the board, the metric; they fill in prompt by prompt."""
    network, tokenizer = cache.model(model)
    n = len(paired.prompts)

    def draw(found: Found) -> None:
        first = [one for one in found if isinstance(one, PromptEffects)]
        if len(first) < LEAST_PROMPTS:
            st.info("The first two prompts are being run; an interval needs both.")
            return
        left, right = st.columns(2, gap="large")
        with left:
            shown = experiments.prompt_effects(network, tokenizer, found, table, bos)
            figure(
                shown.figure,
                key="means",
                height=shown.figure.layout.height,
                min_width=340,
                table=lambda: means_table(model, found),
                alt=shown.alt,
                caption=f"{shown.caption} Open dots: the interval includes 0.",
            )
        with right:
            shown = experiments.prompt_board(network, found, patched)
            figure(
                shown.figure,
                key="set-board",
                height=shown.figure.layout.height,
                min_width=340,
                table=lambda: board_table(model, found, patched),
                alt=shown.alt,
                caption=f"{shown.caption} A cross: the interval includes 0.",
            )
        metrics(prompt_means.set_metric(first))
        with st.expander("Every prompt"):
            st.dataframe(prompt_table(paired, first), hide_index=True)
            download("These prompts as CSV", table, "prompts.csv")

    tokens, exact = max(len(one.clean) for one in paired.encoded), EXACT
    if patched:
        outputs = prompt_sets.exact_patches(network, paired.encoded)
        exact += 2 * network.config.decoder_layers if outputs is None else outputs
        if outputs is not None:
            st.caption(
                f"This set is large for this model: the {outputs} outputs with the largest estimates are patched "
                "exactly, the others are estimates, and pale."
            )
    fill(
        ("prompts", model, table, patched, bos),
        knock_outs.operations(network, n * (exact + 8), tokens),
        lambda: experiments.by_prompt(network, tokenizer, table, patched, bos),
        lambda: every_prompt(model, table, patched, bos),
        draw,
        2 * n,
        "run",
    )


def metrics(found: SetMetric) -> None:
    """The metric line."""
    with st.container(horizontal=True, gap="large"):
        interval = f"95% interval {found.low:+.2f} to {found.high:+.2f}"
        other = f"95% interval {found.corrupted_low:+.2f} to {found.corrupted_high:+.2f}"
        for name, value, note in (
            ("Answer less wrong answer, clean", f"{found.mean:+.2f}", interval),
            ("On the corrupted texts", f"{found.corrupted:+.2f}", other),
            ("The answer leads", f"{found.right} of {found.prompts}", "on the clean texts"),
        ):
            st.metric(name, value, note, delta_color="off", delta_arrow="off", width="content")


def words(model: str, table: str, bos: bool | None, patched: bool) -> None:
    """What to see, the question, how it is computed."""
    page.what_to_see(
        "Each dot is the mean over all prompts of how much the answer's lead falls without this part, its bar the "
        "interval of that mean, the pale dots single prompts. An effect that one sentence shows and the others do not "
        "has a bar across 0. With many parts some bars leave 0 out by chance, one in twenty of those without any "
        "effect: the ones to believe are far from it."
    )
    page.question(
        "A part has a large mean and an interval that includes 0. Does it do nothing?",
        "No: the prompts disagree. It may matter for some of them, such as one name or one order of the words, and "
        "work against the others. Look at its pale dots, and put the prompts that agree into a table of their own.",
    )
    found = made(experiments.every_prompt, model, table, patched, bos)
    page.how_it_is_computed(
        page.experiment_of("The largest parts", experiments.prompt_effects, model, found, table, bos),
        page.experiment_of("The board", experiments.prompt_board, model, found, patched),
        formula=(
            r"\begin{gathered}d = \mathrm{logit}_{\text{answer}} - \mathrm{logit}_{\text{wrong}}, \qquad "
            r"e_i = d_i(\text{clean}) - d_i(\text{clean, edited}) \\ "
            r"\bar e \pm t_{n-1,\,0.975} \cdot \frac{s}{\sqrt n}, \qquad "
            r"s^2 = \frac{1}{n-1} \sum_i (e_i - \bar e)^2\end{gathered}"
        ),
        code=(prompt_sets.measure_set, attribution_patching.part_effects, prompt_means.means_of, statistics.t_quantile),
        papers=(
            "The names, and the difference of two logits: arXiv:2211.00593, section 2; corrupted texts of equally many "
            "tokens: arXiv:2309.16042, section 2; estimates of all parts: arXiv:2310.10348, section 2. The interval "
            "is Student's; it takes the prompts for a random sample."
        ),
        terms=("activation patching", "confidence interval"),
    )


# ---- tables ----


def means_table(model: str, found: Found) -> pd.DataFrame:
    """Mean, interval and every prompt's effect of the largest parts."""
    largest = prompt_means.part_values(cache.model(model)[0], found)
    columns: dict[str, Any] = {"part": [part_title(part) for part in largest.parts], **largest.means.columns}
    return pd.DataFrame({**columns, **{f"prompt {i}": row for i, row in enumerate(largest.values, 1)}})


def board_table(model: str, found: Found, patched: bool) -> pd.DataFrame:
    """Mean and interval of every field."""
    names = prompt_means.board_names(cache.model(model)[0], patched)
    fields = [name for row in names for name in row]
    means, exact = prompt_means.board_means(found, patched)
    return pd.DataFrame({"part": fields, **means.columns, "exact": exact.ravel()})


def prompt_table(paired: Paired, first: Sequence[PromptEffects]) -> pd.DataFrame:
    """The prompts with their metric."""
    rows = [
        (*prompt, round(one.clean, 2), round(one.corrupted, 2))
        for prompt, one in zip(paired.prompts, first, strict=False)
    ]
    return pd.DataFrame(rows, columns=[*COLUMNS, "metric, clean", "metric, corrupted"])
