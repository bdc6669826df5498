"""The page on scaling: the compute-optimal split, the laws, real models, the cost, over-training, our own ladder."""

from collections.abc import Callable

import pandas as pd
import streamlit as st

from pages.training.scaling.choices import WHENCE, choose_law, metrics, ten_to
from pages.training.scaling.cost import what_it_costs
from pages.training.scaling.facts import FACTS
from pages.training.scaling.models import real_models
from pages.ui import controls, fragments, page
from pages.ui.frame import Panel, panel
from tfcore.measures.quantities import round_count
from tfcore.measures.scaling_laws import KAPLAN_SPLIT, LAWS, AnyLawName
from tfcore.views.training import scaling as views
from tfcore.views.training.scaling.measure.ladder_fit import FEWEST
from tfcore.views.training.scaling.measure.law_curves import Against
from tfcore.views.training.scaling.say.compute_budget import agreed_ratio, tokens_per_parameter
from tfcore.views.training.scaling.say.ladder_fit import ladder_errors, ladder_exponents, largest_rung
from tfcore.views.training.scaling.say.law_curves import due_to_size_and_data, frontier_exponent
from tfcore.views.training.scaling.say.over_training import OverTraining
from tfcore.views.training.scaling.say.training_cost import one_gpu

# ---- a budget ----


def best_split() -> None:
    """The best split of a budget, curves of equal compute, and what every rule buys."""
    with panel(None) as p:
        p.examples(
            {
                "one GPU for a day": {"c": 19.54},
                "GPT-3's budget": {"c": 23.5},
                "Gopher's, and Chinchilla's": {"c": 23.76, "law": "refit"},
                "Llama 3.1's": {"c": 25.58},
                "the constants as printed": {"c": 23.76, "law": "printed"},
            }
        )
        split(p)
        derive()
        p.what_to_see(
            "The minima lie on a line: with a budget a hundred times larger, the compute-optimal model is about ten "
            "times larger and reads about ten times the tokens. Near its minimum an IsoFLOP curve is flat, so half or "
            f"twice the best size costs little. {agreed_ratio(1e20, 1e24)} Approach 3 with its printed constants says "
            "more, and ever more for larger budgets: they were rounded, and fitted with an optimiser that stopped "
            f"early. Kaplan's rule puts most of a larger budget into size: N grows as C^{KAPLAN_SPLIT.exponent}. Why "
            "the two differ: Hoffmann et al. name learning-rate schedules that were longer than the runs; Pearce and "
            "Song, that Kaplan's N leaves out the embeddings, in small models; Porian et al., the cost of the last "
            "layer, warm-up that was too long for small models, and untuned optimisers."
        )
        p.question(
            "You get four times the compute. How much larger should the model be?",
            "About twice, on about twice the text: with α ≈ β both grow as the square root of C. Move the slider by "
            "0.60 and read N. By Kaplan's exponent it would be 4^0.73 = 2.75 times.",
        )


@fragments.fragment
def split(p: Panel) -> None:
    """A budget and its compute-optimal split."""
    left, right = st.columns([1, 3], gap="medium")
    with left:
        flops = ten_to("Budget C, operations", "c", views.LOWEST, views.HIGHEST, 23.76)
        st.caption(str(one_gpu(flops)))
        name = choose_law()
    with right:
        shown = views.budget(flops, name)
        p.show(shown)
        best = shown.result.best
        metrics(
            ("Parameters N", round_count(best.n)),
            ("Tokens D", round_count(best.d)),
            ("Tokens per parameter", tokens_per_parameter(best.ratio)),
            ("Loss, nats per token", shown.result.loss),
        )
    st.subheader("Tokens per parameter, rule by rule", anchor=False)
    rules = views.ratios(flops)
    p.show(rules)
    st.dataframe(rules.numbers(), hide_index=True)


def derive() -> None:
    """The split, step by step."""
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
                "constants": views.NAMES[name],
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


# ---- the laws ----

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


def laws() -> None:
    """Each published law as curves, and what the loss of one model is made of."""
    with panel() as p:
        p.examples(
            {
                "Chinchilla": {"n": 10.84, "d": 12.14, "against": "size", "of": "refit"},
                "GPT-3: limited by tokens": {"n": 11.24, "d": 11.48, "against": "data", "of": "refit"},
                "a small model, many tokens": {"n": 8.0, "d": 13.0, "against": "data"},
                "without E: straight lines": {"above": True, "against": "compute", "of": "refit"},
                "Kaplan: no E": {"of": "kaplan", "against": "size", "above": False},
            }
        )
        with p.controls:
            name = controls.select("Law", "of", list(views.NAMES), "refit", views.NAMES)
            st.caption(FROM[name])
            n = ten_to("Your parameters N", "n", 6.0, 13.0, 10.84)
            d = ten_to("Your tokens D", "d", 8.0, 14.0, 12.14)
            with page.more_settings():
                against = controls.segmented("Loss against", "against", list(AGAINST), "size", AGAINST)
                above = controls.toggle(
                    "Reducible loss only", "above", help="L − E: a power law is then a straight line."
                )
        with p.picture:
            shown = views.law(name, against, n, d, above)
            p.show(shown)
            if name == "kaplan":
                st.latex(EQUATIONS["kaplan"])
            else:
                law = LAWS[name]
                st.latex(
                    rf"L(N, D) = {law.floor} + \frac{{{law.a}}}{{N^{{{law.alpha}}}}} + "
                    rf"\frac{{{law.b}}}{{D^{{{law.beta}}}}}"
                )
            loss, floor, size, data = shown.result.numbers
            by_compute = name == "kaplan" and against == "compute"
            metrics(
                ("Loss, nats per token", loss, "at the best size" if by_compute else "of your model"),
                ("Irreducible loss E", floor, "entropy of the text"),
                ("Due to finite N", size, "0 for N → ∞"),
                ("Due to finite D", data, "0 for D → ∞"),
            )
        p.what_to_see(
            "Each curve flattens where the other quantity limits the loss: against size, the curve of 1 B tokens stays "
            "far above the end of that of unlimited tokens. Against compute every size has a range where it is the "
            "best one, and the dashed line, the compute-optimal frontier, touches them all (of Kaplan's law the "
            f"frontier alone is drawn). {frontier_exponent()} Kaplan's law has no E: its loss goes to zero, below the "
            "entropy of any text."
        )
        p.question(
            "GPT-3 trained 175 B parameters on 300 B tokens. Did parameters or tokens limit its loss more?",
            str(due_to_size_and_data()),
        )


# ---- over-training ----


def over_training() -> None:
    """Over-training, what it costs in loss and when it pays in inference."""
    with panel() as p:
        p.examples(
            {
                "ten times the tokens": {"r": 2.3, "t": 13.0, "c": 23.76},
                "like Llama 3 8B": {"c": 23.86, "r": 3.25, "t": 15.0},
                "10¹⁰ inference tokens": {"t": 10.0, "r": 1.3},
                "10¹⁶ inference tokens": {"t": 16.0, "r": 3.0},
                "too large, as in 2020": {"r": 0.25, "c": 23.5},
            }
        )
        with p.controls:
            flops = ten_to("Budget C, operations", "c", 17.0, 28.0, 23.76)
            ratio = ten_to("Tokens per parameter", "r", 0.0, 4.5, 2.3, 0.05)
            served = ten_to("Inference tokens T", "t", 9.0, 17.0, 13.0, 0.1)
            with page.more_settings():
                name = choose_law()
        with p.picture:
            first, second = st.columns(2, gap="medium")
            with first:
                shown = views.extra(name, flops, ratio)
                p.show(shown)
            with second:
                p.show(views.whole_life(name, flops, served, ratio))
            show_over_training(shown.result)
        p.what_to_see(
            f"{shown.result} On the right, inference moves the cheapest point away from the compute-optimal training, "
            "the further the more tokens are served. The law was fitted at moderate ratios; beyond a few hundred "
            "tokens per parameter it is an extrapolation."
        )
        p.question(
            "If inference costs so much, why not train a model of a million parameters for ever?",
            "No number of tokens brings its loss below E + A / N^α. As the loss asked for comes near that, the tokens "
            "go to infinity: on the right the curve of training turns up ever more steeply.",
        )


def show_over_training(trained: OverTraining) -> None:
    """The same budget and the same loss in numbers."""
    budget, same = trained.same_budget, trained.same_loss
    loss, inference, training, pays = trained.numbers
    metrics(
        ("Same budget: loss", loss, "nats per token"),
        ("inference costs", inference, f"{round_count(budget.n)} parameters"),
        ("Same loss: training", training, f"{round_count(same.n)} on {round_count(same.d)}"),
        ("which pays after", pays, "inference tokens"),
    )


# ---- our own ladder ----

WRITTEN = 0  # the law as it was written down before the last size was trained


def own_ladder() -> None:
    """Our own models, the law fitted to the small ones, and its predictions."""
    options = [WRITTEN, *range(FEWEST, len(views.fitted(None).sizes))]
    with panel() as p:
        p.examples(
            {
                "as it was written down": {"sizes": WRITTEN},
                "from the smallest few": {"sizes": options[1] if len(options) > 1 else WRITTEN},
                "from all but the last": {"sizes": options[-1]},
            }
        )
        with p.controls:
            names = {WRITTEN: "as written down", **{k: f"the smallest {k}" for k in options[1:]}}
            sizes = controls.select("Law fitted to", "sizes", options, WRITTEN, names)
            with st.spinner("Fitting the law again"):
                shown = views.rungs(sizes or None)
            off, exponents = ladder_errors(shown.result), ladder_exponents(shown.result.law)
            st.caption(f"{off.counts} {exponents.web}")
        with p.picture:
            p.show(shown)
            predicted, measured, error = largest_rung(shown.result).numbers
            metrics(
                ("Predicted", predicted, "nats, the largest rung"),
                ("Then measured", measured, error),
                ("Predicted within", *off.numbers),
            )
            p.show(views.residuals(sizes or None))
        count = st.column_config.NumberColumn(format="localized")
        st.dataframe(shown.numbers(), hide_index=True, height=240, column_config={"parameters": count, "tokens": count})
        p.what_to_see(
            "All rungs have one architecture, one text and one tokenizer; only size and number of tokens differ. The "
            "recipe fits the law to all sizes but the last, writes down its prediction for that one, and only then "
            f"trains it: the stars are predictions, not fits. {exponents} Fit to fewer sizes and see how well a few "
            "small models extrapolate. N is without embeddings, D counts every token seen."
        )
        p.question(
            "The floor E of these models is not that of the published laws. Why?",
            "E estimates the entropy per token of the text as its tokenizer cuts it. Children's stories in 2,048 "
            "tokens are another text than the web in tens of thousands, so E, A and B are their own. With so few "
            "models E is uncertain too, as are A and α: fit to fewer sizes and watch them move.",
        )


# what draws each section, computed and sent only when it is looked at
SECTIONS: dict[str, Callable[[], None]] = {
    "budget": best_split,
    "law": laws,
    "models": real_models,
    "cost": what_it_costs,
    "beyond": over_training,
    "ours": own_ladder,
}

page.begin(FACTS)
SECTIONS[controls.sections(FACTS.sections)]()
