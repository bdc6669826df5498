"""The page on balance: trainings that were made are kept, so that remedies can be compared and none is made twice."""

from collections.abc import Sequence
from typing import TypeAlias

import streamlit as st

from pages.ui.work import jobs
from tfcore.views.experts.balance import Runs, compared
from tfcore.views.experts.balance.measure import BalanceConfig, BalanceEvaluation

KEPT = "_balance_kept"  # in the session: the trainings that this visitor saw to their end, newest last
MOST = 40
Key: TypeAlias = tuple[BalanceConfig, ...]


def keep(key: Key, job: jobs.Job) -> None:
    """Remember that these trainings were seen to their end."""
    if job.state == "done":
        others = [other for other in st.session_state.get(KEPT, []) if other != key]
        st.session_state[KEPT] = [*others, key][-MOST:]


def kept() -> dict[BalanceConfig, Sequence[BalanceEvaluation]]:
    """All looks of the trainings this visitor saw, as far as the server still has them."""
    looks: dict[BalanceConfig, Sequence[BalanceEvaluation]] = {}
    for key in st.session_state.get(KEPT, []):
        job = jobs.JOBS.look(key, jobs.visitor())
        if job is not None and job.state == "done":
            looks |= dict(zip(key, zip(*job.items, strict=True), strict=True))
    return looks


def show_table(configs: Key, looks: Runs) -> None:
    """The trainings on screen and all kept ones of the same positions, seed and length."""
    base = configs[0].without
    others = {config: run for config, run in kept().items() if config.without == base and config not in looks}
    runs = {**looks, **others}
    st.markdown(f"**Compared** on the same seed and the same batches, {len(runs)} runs:")
    column, loss = st.column_config.NumberColumn, "Nats per character. "
    st.dataframe(
        compared(runs),
        hide_index=True,
        placeholder="–",
        column_config={
            "largest": column(format="%.1f %%", help="Share of the characters that the busiest expert takes."),
            "idle": column(help="Experts that get less than 1 % of the characters, of 8."),
            "entropy": column(format="%.2f", help="Of the load, over ln 8: 1 is even, 0 is one expert for all."),
            "no expert": column(format="%.0f %%", help="Characters that no expert computes."),
            "over 1.25": column(format="%.0f %%", help="Choices that a capacity factor of 1.25 would drop."),
            "training loss": column(format="%.3f", help=loss + "Without what the remedy adds."),
            "held-out loss": column(format="%.3f", help=loss + "Other texts of the language, in one batch."),
            "in generation": column(format="%.3f", help=loss + "The same texts, character by character."),
        },
    )
    st.caption("All but the last two columns are means over the last tenth of the steps.")
