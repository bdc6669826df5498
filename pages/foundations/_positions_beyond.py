"""Panel of the page on positions: how far each scheme carries beyond the length it was trained at."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.experiments import positions as experiments
from pages.foundations._positions_effects import NAMES
from pages.ui import cache, controls, page
from pages.ui.figure import figure
from tfcore.analysis import beyond_length
from tfcore.analysis.beyond_length import Beyond
from tfcore.figures.beyond_length import beyond_figure
from tfcore.training import ladder

TRY: dict[str, dict[str, Any]] = {
    "who bends, who goes on": {"shown": [], "rise": True},
    "learned against ALiBi": {"shown": ["learned", "alibi"], "rise": True},
    "RoPE against none": {"shown": ["rope", "none"], "rise": False},
    "the losses themselves": {"shown": [], "rise": False},
}


@cache.data(max_entries=1)
def measured() -> Beyond | None:
    """The ladder that ships; None where it does not, or not with every scheme."""
    found = beyond_length.beyond(ladder.read_table(ladder.SHIPPED / "positions.csv"))
    return found if found and set(found.loss) == set(NAMES) else None


def beyond() -> None:
    """The panel."""
    found = measured()
    if found is None:
        st.info("The models of this panel are not trained yet: their recipe is ladder-positions.")
        return
    furthest, seeds = int(found.ends[-1]), len(found.loss["none"])
    st.markdown(
        f"**Read on where training stopped.** {len(NAMES)} decoders, alike in all but their positions, were trained on "
        f"texts of {found.trained} tokens, {seeds} times each, and then read texts of {furthest}."
    )
    st.latex(r"L_p = -\ln P(\text{token } p + 1 \mid \text{tokens } 1 \ldots p), \qquad p = 1 \ldots 4n")
    page.try_this(TRY)
    shown = controls.several("Schemes", "shown", list(found.loss), NAMES)
    rise = controls.toggle("How much worse than at the trained length", "rise", default=False)
    rises = {scheme: found.rise(scheme) for scheme in shown}
    best, worst = min(rises, key=lambda s: rises[s]), max(rises, key=lambda s: rises[s])
    finding = (
        f"At position {furthest} {NAMES[best]} costs {rises[best]:+.2f} nats a token against position {found.trained}"
        + (f", {NAMES[worst]} {rises[worst]:+.2f}." if worst != best else ".")
    )
    names = {scheme: NAMES[scheme] for scheme in shown}
    figure(
        beyond_figure(found, names, rise, 400), key="beyond", height=400, min_width=360,
        alt=f"Held-out loss by position for {', '.join(names.values())}. {finding}",
        caption=f"{finding} Every point is the mean of {int(found.ends[0])} positions; bands hold all {seeds} seeds.",
        table=lambda: pd.DataFrame(
            {"position": found.ends, **{NAMES[scheme]: found.mean(scheme) for scheme in found.loss}}
        ),
    )  # fmt: skip
    page.what_to_see(
        "Left of the dotted line RoPE and ALiBi are ahead: in so short a training they alone learned to use places. "
        "Right of it angles and sums of sines come together as they never did before, and their curves rise most. "
        "Learned vectors were never trained there: they are still the noise they began as, and a model that had hardly "
        "begun to use them loses little. ALiBi only ever says *further is less*, which stays true at any length: its "
        "curve goes on as it was."
    )
    page.source(beyond_length.beyond, ladder.climb)
    page.experiment(experiments.beyond, names, rise)
    st.caption(
        "Small models after a short training (d_model 96, 4 layers, 1.4 M tokens; the table has every setting): what "
        "counts is where the curves bend. Train short, test long: arXiv:2108.12409, section 3 and figure 1."
    )
    page.question(
        "Models without any positions cannot tell places at all, can they? Why is their loss not far worse?",
        "Under a causal mask they can: the first token sees itself alone, the tenth sees ten, and a head that looks at "
        "all of them alike finds out how many there are (arXiv:2203.16634). The order of what came before is harder.",
    )
