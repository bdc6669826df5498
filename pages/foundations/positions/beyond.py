"""Panel of the page on positions: how far each scheme carries beyond the length it was trained at."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.foundations.positions import experiments
from pages.foundations.positions.effects import NAMES
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from tfcore.analysis.foundations import position_effects
from tfcore.training import ladder

TRY: dict[str, dict[str, Any]] = {
    "the rise of all schemes": {"shown": [], "rise": True},
    "learned against ALiBi": {"shown": ["learned", "alibi"], "rise": True},
    "RoPE against none": {"shown": ["rope", "none"], "rise": False},
    "the losses themselves": {"shown": [], "rise": False},
}


measured = cache.data(max_entries=1)(experiments.measured)


def beyond() -> None:
    """The panel."""
    found = measured()
    if found is None or set(found.loss) != set(NAMES):
        st.info("The models of this panel are not trained yet: their recipe is ladder-positions.")
        return
    furthest, seeds = int(found.ends[-1]), len(found.loss["none"])
    page.try_this(TRY)
    picture = st.container()
    shown = controls.several("Schemes", "shown", list(found.loss), NAMES)
    rise = controls.toggle("Rise of the loss over the trained length", "rise", default=False)
    names = {scheme: NAMES[scheme] for scheme in shown}
    drawn = experiments.beyond(found, names, rise)
    with picture:
        figure(
            drawn.figure,
            key="beyond",
            height=400,
            min_width=350,
            alt=f"Held-out loss by position for {', '.join(names.values())}. {drawn.alt}",
            caption=f"{drawn.caption} Every point is the mean of {int(found.ends[0])} positions; bands hold all "
            f"{seeds} seeds.",
            table=lambda: pd.DataFrame(
                {"position": found.ends, **{NAMES[scheme]: found.mean(scheme) for scheme in found.loss}}
            ),
        )
    st.markdown(
        f"**Length extrapolation.** {len(NAMES)} decoders, alike in all but their positions, were trained on sequences "
        f"of {found.trained} tokens, with {seeds} seeds each, and then evaluated on sequences of {furthest}."
    )
    page.what_to_see(
        f"{position_effects.losses_and_rises(found, NAMES)} Right of the dotted line sinusoids and "
        "rotations come in combinations that were not in the training data. Learned position embeddings beyond it "
        "were never trained: they are still random. ALiBi's bias goes on as a straight line."
    )
    page.question(
        "A model without positions has no information about order, has it? Why is its loss not far worse?",
        "Under a causal mask it has: the first token attends to itself alone, the tenth to ten, and a head with "
        "uniform weights depends on how many there are (arXiv:2203.16634). The order of those before is harder to "
        "infer.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.beyond, made(experiments.measured), names, rise),
        formula=r"L_p = -\ln P(\text{token } p + 1 \mid \text{tokens } 1 \ldots p), \qquad p = 1 \ldots 4n",
        code=(position_effects.length_losses, ladder.climb),
        papers=(
            "Small models after a short training (d_model 96, 4 layers, 1.4 M tokens; the table has every setting): "
            "what counts is where the curves bend. Train short, test long: arXiv:2108.12409, section 3 and figure 1."
        ),
    )
