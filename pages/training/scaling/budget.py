"""Panel of the page on scaling: the best split of a budget, curves of equal compute, and what every rule buys."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.training.scaling import experiments
from pages.training.scaling.words import LAW_NAMES, choose_law, metrics, ten_to
from pages.ui import fragments, page
from pages.ui.components.figure import figure
from tfcore.analysis.training import compute_budget, training_cost
from tfcore.analysis.training.compute_budget import SIZES, tokens_per_parameter
from tfcore.measures.quantities import power, round_count
from tfcore.measures.scaling_laws import KAPLAN_SPLIT, LAWS, LawName

LOWEST = 17.0  # power of ten of operations
HIGHEST = 28.0
AROUND = [1e18, 1e20, 1e22, 1e24, 1e26]
BUDGETS: list[float] = np.logspace(LOWEST, HIGHEST, 45).tolist()


def panel() -> None:
    """The section."""
    latest, rules = page.Latest(), page.Latest()
    _split(latest, rules)
    _derivation()
    page.what_to_see(
        "The minima lie on a line: with a budget a hundred times larger, the compute-optimal model is about ten times "
        "larger and reads about ten times the tokens. Near its minimum an IsoFLOP curve is flat, so half or twice the "
        f"best size costs little. {compute_budget.agreed_ratio(1e20, 1e24)} Approach 3 with its printed constants says "
        "more, and ever more for larger budgets: they were rounded, and fitted with an optimiser that stopped early. "
        f"Kaplan's rule puts most of a larger budget into size: N grows as C^{KAPLAN_SPLIT.exponent}. Why the two "
        "differ: Hoffmann et al. name learning-rate schedules that were longer than the runs; Pearce and Song, that "
        "Kaplan's N leaves out the embeddings, in small models; Porian et al., the cost of the last layer, warm-up "
        "that was too long for small models, and untuned optimisers."
    )
    page.question(
        "You get four times the compute. How much larger should the model be?",
        "About twice, on about twice the text: with α ≈ β both grow as the square root of C. Move the slider by 0.60 "
        "and read N. By Kaplan's exponent it would be 4^0.73 = 2.75 times.",
    )
    page.how_it_is_computed(
        latest,
        rules,
        formula=r"L(N, D) = E + \frac{A}{N^\alpha} + \frac{B}{D^\beta}, \qquad C \approx 6\,N D",
        code=(compute_budget.optimum, compute_budget.iso_flops),
        papers=(
            "Kaplan et al., arXiv:2001.08361, whose N leaves the embeddings out; Hoffmann et al. (Chinchilla), "
            "arXiv:2203.15556; Besiroglu et al., arXiv:2404.10102; Pearce and Song, arXiv:2406.12907; Porian et al., "
            "arXiv:2406.19146."
        ),
    )


@fragments.fragment
def _split(latest: page.Latest, rules: page.Latest) -> None:
    """A budget and its compute-optimal split."""
    page.try_this(
        {
            "one GPU for a day": {"c": 19.54},
            "GPT-3's budget": {"c": 23.5},
            "Gopher's, and Chinchilla's": {"c": 23.76, "law": "refit"},
            "Llama 3.1's": {"c": 25.58},
            "the constants as printed": {"c": 23.76, "law": "printed"},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        flops = ten_to("Budget C, operations", "c", LOWEST, HIGHEST, 23.76)
        st.caption(str(training_cost.one_gpu(flops)))
        name = choose_law()
    with right:
        shown = experiments.budget(flops, name, AROUND)
        figure(
            shown.figure,
            key="equal",
            height=470,
            min_width=340,
            alt=f"IsoFLOP curves: loss against size at fixed budgets. {shown.alt}",
            caption="IsoFLOP curves, one budget each; left too small a model, right too few tokens. " + shown.caption,
            table=lambda: _curves(name, flops),
        )
        found = compute_budget.budget_split(LAWS[name], flops)
        metrics(
            ("Parameters N", round_count(found.best.n)),
            ("Tokens D", round_count(found.best.d)),
            ("Tokens per parameter", tokens_per_parameter(found.best.ratio)),
            ("Loss, nats per token", found.loss),
        )
    latest.offer(experiments.budget, flops, name, AROUND, what="The IsoFLOP curves")
    _ratios(flops, rules)


def _curves(name: LawName, flops: float) -> pd.DataFrame:
    result = compute_budget.iso_flops(LAWS[name], [flops, *AROUND], SIZES)
    losses = {f"loss at {power(t.flops, 2)}": values for t, values in zip(result.best, result.loss, strict=True)}
    return pd.DataFrame({"parameters": result.n, **losses})


def _ratios(flops: float, latest: page.Latest) -> None:
    st.subheader("Tokens per parameter, rule by rule", anchor=False)
    table = pd.DataFrame(
        [
            {
                "rule": rule.name,
                "parameters": round_count(rule.n[0]),
                "tokens": round_count(rule.d[0]),
                "tokens per parameter": tokens_per_parameter(rule.ratio[0]),
                "from": rule.source,
            }
            for rule in compute_budget.splits([flops])
        ]
    )
    shown = experiments.ratios(flops, BUDGETS)
    figure(
        shown.figure,
        key="ratios",
        height=440,
        min_width=340,
        table=lambda: table,
        alt=f"Tokens per parameter against the budget for six rules. {shown.alt}",
        caption=f"Dotted: 20. {shown.caption}",
    )
    st.dataframe(table, hide_index=True)
    latest.offer(experiments.ratios, flops, BUDGETS, what="The rules")


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
                "a": round(law.size_exponent, 3),
                "b": round(law.data_exponent, 3),
            }
            for name, law in LAWS.items()
        ]
        st.dataframe(pd.DataFrame(rows), hide_index=True)
