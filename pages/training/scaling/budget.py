"""Panel of the page on scaling: the best split of a budget, curves of equal compute, and what every rule buys."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.training.scaling import experiments as experiments
from pages.training.scaling.words import LAW_NAMES, choose_law, metrics, ten_to, times
from pages.ui import cache, fragments, page
from pages.ui.components.figure import figure
from tfcore.analysis.quantities import power, round_count
from tfcore.analysis.training import compute_budget
from tfcore.analysis.training.compute_budget import IsoFlops, Splits, Training
from tfcore.analysis.training.scaling_laws import KAPLAN_SPLIT, LAWS, LawName
from tfcore.figures.training import scaling as figures

LOWEST, HIGHEST = 17.0, 28.0
AROUND = [1e18, 1e20, 1e22, 1e24, 1e26]
SIZES = (6.5, 13.5, 85)  # powers of ten of parameters, and how many
GPU = 989.4e12 * 0.4 * 24 * 3600  # operations of a day of one H100 that reaches 40 % of its peak


@cache.data(max_entries=64)
def equal_compute(name: LawName, flops: float) -> IsoFlops:
    """The chosen budget first, the fixed ones behind."""
    return compute_budget.iso_flops(LAWS[name], [flops, *AROUND], np.logspace(*SIZES))


@cache.data(max_entries=3)
def way(name: LawName) -> list[Training]:
    return [compute_budget.optimum(LAWS[name], 10.0**p) for p in np.arange(14.0, 30.1, 0.5)]


@cache.data(max_entries=1)
def rules() -> list[Splits]:
    return compute_budget.splits(np.logspace(LOWEST, HIGHEST, 45))


def panel() -> None:
    """The section."""
    _split()
    _derivation()
    low, high = compute_budget.agreed_ratio(1e20, 1e24)
    page.what_to_see(
        "The minima lie on a line: with a budget a hundred times larger, the compute-optimal model is about ten times "
        "larger and reads about ten times the tokens. Near its minimum an IsoFLOP curve is flat, so half or twice the "
        "best size costs little. The rule of **20 tokens per parameter** is close to what approaches 1 and 2 of "
        f"Chinchilla and the refit of approach 3 say from 10²⁰ to 10²⁴ operations: between {low:.0f} and {high:.0f}. "
        "Approach 3 with its printed constants says more, and ever more for larger budgets: they were rounded, and "
        "fitted with an optimiser that stopped early. Kaplan's rule puts most of a larger budget into size: "
        f"N grows as C^{KAPLAN_SPLIT.exponent:g}. Why the two differ: Hoffmann et al. name learning-rate schedules "
        "that were longer than the runs; Pearce and Song, that Kaplan's N leaves out the embeddings, in small models; "
        "Porian et al., the cost of the last layer, warm-up that was too long for small models, and untuned optimisers."
    )
    page.source(compute_budget.optimum, compute_budget.iso_flops)
    st.caption(
        "Kaplan et al., arXiv:2001.08361, whose N leaves the embeddings out; Hoffmann et al. (Chinchilla), "
        "arXiv:2203.15556; Besiroglu et al., arXiv:2404.10102; Pearce and Song, arXiv:2406.12907; Porian et al., "
        "arXiv:2406.19146."
    )
    page.question(
        "You get four times the compute. How much larger should the model be?",
        "About twice, on about twice the text: with α ≈ β both grow as the square root of C. Move the slider by 0.60 "
        "and read N. By Kaplan's exponent it would be 4^0.73 = 2.75 times.",
    )


@fragments.fragment
def _split() -> None:
    """A budget and its compute-optimal split."""
    left, right = st.columns([1, 3], gap="medium")
    with left:
        flops = ten_to("Budget C, operations", "c", LOWEST, HIGHEST, 23.76)
        days = flops / GPU
        st.caption(f"{power(flops)} operations: {_days(days)} of one H100 at 40 % of its peak.")
        name = choose_law()
        law = LAWS[name]
        best = compute_budget.optimum(law, flops)
        kaplan = compute_budget.at_size(law, flops, KAPLAN_SPLIT.size(flops))
    wasted = 1 - compute_budget.budget_for(law, kaplan.loss).flops / flops
    with right:
        result = equal_compute(name, flops)
        figure(
            figures.iso_flops_figure(result, 0, kaplan, way(name), 470),
            key="equal",
            height=470,
            min_width=340,
            alt=f"IsoFLOP curves: loss against size at fixed budgets. With {power(flops)} operations the minimum is at "
            f"{round_count(best.n)} parameters on {round_count(best.d)} tokens, {times(best.ratio)} per parameter, "
            f"loss {best.loss:.3f}. Kaplan's split, {round_count(kaplan.n)} parameters, ends at {kaplan.loss:.3f}.",
            caption=f"IsoFLOP curves, one budget each; left too small a model, right too few tokens. Minimum of yours: "
            f"{round_count(best.n)} parameters, {round_count(best.d)} tokens, loss {best.loss:.3f}. Kaplan's split of "
            f"2020: {round_count(kaplan.n)} on {round_count(kaplan.d)}, loss {kaplan.loss:.3f}, which the best split "
            f"reaches with {wasted:.0%} less.",
            table=lambda: pd.DataFrame(
                {"parameters": result.n}
                | {f"loss at {t.flops:.3g}": values for t, values in zip(result.best, result.loss, strict=True)}
            ),
        )
        metrics(
            ("Parameters N", round_count(best.n)),
            ("Tokens D", round_count(best.d)),
            ("Tokens per parameter", times(best.ratio)),
            ("Loss, nats per token", f"{best.loss:.3f}"),
        )
    page.try_this(
        {
            "one GPU for a day": {"c": 19.54},
            "GPT-3's budget": {"c": 23.5},
            "Gopher's, and Chinchilla's": {"c": 23.76, "law": "refit"},
            "Llama 3.1's": {"c": 25.58},
            "the constants as printed": {"c": 23.76, "law": "printed"},
        }
    )
    page.experiment_of("The IsoFLOP curves", experiments.budget, flops, name, AROUND)
    _ratios(flops)


def _ratios(flops: float) -> None:
    st.subheader("Tokens per parameter, rule by rule", anchor=False)
    here = compute_budget.splits(np.array([flops]))
    said = "; ".join(f"{rule.name} {times(rule.ratio[0])}" for rule in here)
    table = pd.DataFrame(
        {
            "rule": [rule.name for rule in here],
            "parameters": [round_count(rule.n[0]) for rule in here],
            "tokens": [round_count(rule.d[0]) for rule in here],
            "tokens per parameter": [times(rule.ratio[0]) for rule in here],
            "from": [rule.source for rule in here],
        }
    )
    figure(
        figures.ratios_figure(rules(), flops, 440),
        key="ratios",
        height=440,
        min_width=340,
        table=lambda: table,
        alt=f"Tokens per parameter against the budget for six rules. At {power(flops)}: {said}.",
        caption=f"Dotted: 20. At your budget of {power(flops)}: {said}.",
    )
    st.dataframe(table, hide_index=True)
    page.experiment_of("The rules", experiments.ratios, flops)


def _derivation() -> None:
    with st.expander("Derivation of the compute-optimal split"):
        st.markdown("The budget ties *D* to *N*, so the loss is a function of *N* alone:")
        st.latex(
            r"D = \frac{C}{6N} \quad\Rightarrow\quad L(N) = E + A N^{-\alpha} + B\Big(\frac{C}{6}\Big)^{-\beta} N^\beta"
        )
        st.markdown("The first term falls with N, the second rises. At the minimum the slope is zero:")
        st.latex(
            r"-\alpha A N^{-\alpha-1} + \beta B \Big(\frac{C}{6}\Big)^{-\beta} N^{\beta-1} = 0 \quad\Rightarrow\quad "
            r"N^{\alpha+\beta} = \frac{\alpha A}{\beta B}\Big(\frac{C}{6}\Big)^{\beta}"
        )
        st.markdown("The root of both sides, and *D* from the budget (arXiv:2203.15556, equation 4):")
        st.latex(
            r"N = G\Big(\frac{C}{6}\Big)^{a},\quad D = \frac1G\Big(\frac{C}{6}\Big)^{b},\quad "
            r"G = \Big(\frac{\alpha A}{\beta B}\Big)^{\frac{1}{\alpha+\beta}},\quad "
            r"a = \frac{\beta}{\alpha+\beta},\quad b = \frac{\alpha}{\alpha+\beta}"
        )
        rows = [
            {
                "constants": LAW_NAMES[name],
                "E": law.floor,
                "A": law.a,
                "α": law.alpha,
                "B": law.b,
                "β": law.beta,
                "a": round(law.beta / (law.alpha + law.beta), 3),
                "b": round(law.alpha / (law.alpha + law.beta), 3),
            }
            for name, law in LAWS.items()
        ]
        st.dataframe(pd.DataFrame(rows), hide_index=True)


def _days(days: float) -> str:
    if days < 1:
        return f"{24 * days:,.2g} hours"
    return f"{days:,.0f} days" if days < 1000 else f"{days / 365.25:,.0f} years"
