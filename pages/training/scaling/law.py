"""Panel of the page on scaling: each published law as curves, and what the loss of one model is made of."""

import pandas as pd
import streamlit as st

from pages.training.scaling import experiments
from pages.training.scaling.words import LAW_NAMES, WHENCE, metrics, ten_to
from pages.ui import controls, page
from pages.ui.components.figure import figure
from tfcore.analysis.training import law_curves
from tfcore.analysis.training.law_curves import Against, LawCurves
from tfcore.measures.quantities import round_count
from tfcore.measures.scaling_laws import LAWS, AnyLawName, KaplanLaw, Law, named_law

NAMES: dict[AnyLawName, str] = {**{name: LAW_NAMES[name] for name in LAWS}, "kaplan": "Kaplan 2020"}
FROM: dict[AnyLawName, str] = {
    **{name: WHENCE[name] for name in LAWS},
    "kaplan": "Kaplan et al., arXiv:2001.08361, equation 1.5 with table 2; N without embeddings, D the size of the "
    "data set.",
}
AGAINST: dict[Against, str] = {"size": "size", "data": "data", "compute": "compute"}
EQUATIONS = {
    "kaplan": r"L(N, D) = \Big[\Big(\tfrac{6.4\cdot10^{13}}{N}\Big)^{0.076/0.103} + \tfrac{1.8\cdot10^{13}}{D}"
    r"\Big]^{0.103} \qquad L(C_{min}) = \Big(\tfrac{3.1\cdot10^{8}\ \text{PF-days}}{C_{min}}\Big)^{0.050}"
}


def panel() -> None:
    """The section."""
    page.try_this(
        {
            "Chinchilla": {"n": 10.84, "d": 12.14, "against": "size", "of": "refit"},
            "GPT-3: limited by tokens": {"n": 11.24, "d": 11.48, "against": "data", "of": "refit"},
            "a small model, many tokens": {"n": 8.0, "d": 13.0, "against": "data"},
            "without E: straight lines": {"above": True, "against": "compute", "of": "refit"},
            "Kaplan: no E": {"of": "kaplan", "against": "size", "above": False},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        name = controls.select("Law", "of", list(NAMES), "refit", NAMES)
        st.caption(FROM[name])
        n = ten_to("Your parameters N", "n", 6.0, 13.0, 10.84)
        d = ten_to("Your tokens D", "d", 8.0, 14.0, 12.14)
        with page.more_settings():
            against = controls.segmented("Loss against", "against", list(AGAINST), "size", AGAINST)
            above = controls.toggle("Reducible loss only", "above", help="L − E: a power law is then a straight line.")
    shown = experiments.law(name, against, n, d, above)
    by_compute = name == "kaplan" and against == "compute"
    with right:
        if name == "kaplan":
            st.latex(EQUATIONS["kaplan"])
        else:
            law = LAWS[name]
            st.latex(
                rf"L(N, D) = {law.floor} + \frac{{{law.a}}}{{N^{{{law.alpha}}}}} + "
                rf"\frac{{{law.b}}}{{D^{{{law.beta}}}}}"
            )
        figure(
            shown.figure,
            key="law",
            height=450,
            min_width=350,
            alt=f"Loss against {AGAINST[against]}, {NAMES[name]}: {shown.alt}",
            caption=f"{NAMES[name]}: {shown.caption}"
            + (" Drawn is equation 1.3, for the best size of every budget C_min = C/2." if by_compute else ""),
            table=lambda: _table(law_curves.law_curves(named_law(name), against)),
        )
        loss, floor, size, data = law_curves.loss_parts(named_law(name), n, d, against).numbers
        metrics(
            ("Loss, nats per token", loss, "at the best size" if by_compute else "of your model"),
            ("Irreducible loss E", floor, "entropy of the text"),
            ("Due to finite N", size, "0 for N → ∞"),
            ("Due to finite D", data, "0 for D → ∞"),
        )
    page.what_to_see(
        "Each curve flattens where the other quantity limits the loss: against size, the curve of 1 B tokens stays far "
        "above the end of that of unlimited tokens. Against compute every size has a range where it is the best one, "
        "and the dashed line, the compute-optimal frontier, touches them all (of Kaplan's law the frontier alone is "
        f"drawn). {law_curves.frontier_exponent()} Kaplan's law has no E: its loss goes to zero, below the entropy of "
        "any text."
    )
    page.question(
        "GPT-3 trained 175 B parameters on 300 B tokens. Did parameters or tokens limit its loss more?",
        str(law_curves.due_to_size_and_data()),
    )
    page.how_it_is_computed(
        page.experiment(experiments.law, name, against, n, d, above),
        code=(Law, KaplanLaw, law_curves.law_curves),
        papers=(
            "arXiv:2001.08361, equations 1.1 to 1.5; arXiv:2203.15556, equations 2 and 10; arXiv:2404.10102. Each law "
            "speaks of its own text and tokens: compare shapes between papers, not losses. Alone, Kaplan's L(N) is "
            "(8.8·10¹³ / N)^0.076 and L(D) is (5.4·10¹³ / D)^0.095; together the fit has the constants above."
        ),
    )


def _table(result: LawCurves) -> pd.DataFrame:
    columns = {
        f"loss, held at {round_count(held)}": values for held, values in zip(result.held, result.loss, strict=True)
    }
    best = {"best": result.best} if len(result.best) else {}
    return pd.DataFrame({AGAINST[result.against]: result.x} | columns | best)
