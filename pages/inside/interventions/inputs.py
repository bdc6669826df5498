"""Section of the page on interventions: which tokens of the text the prediction depends on."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from pages.inside import metric
from pages.inside import reading as _reading
from pages.inside.interventions import experiments
from pages.inside.interventions.defaults import defaults
from pages.inside.reading import Reading
from pages.ui import cache, controls, links, page
from pages.ui.components.figure import Event, figure
from pages.ui.program import made
from pages.ui.reading import text_box
from pages.ui.work import filling, live
from tfcore.analysis.inside import input_attribution as analysis
from tfcore.analysis.inside.input_attribution import Constant, InputAttribution, Occlusion
from tfcore.measures import one_text
from tfcore.measures.effect_metric import Quantity, quantity_name

CHARACTERS = 1_000  # of the other text
TOKENS = 48  # of the text
OTHER = "There was a big girl. One night, Lily said that"
LETTER = "When Anna and Paul went to the park, Kate sent a letter to"
BASELINES = {"text": "another text", "mean": "average token", "zero": "zero vectors"}
OCCLUSIONS: dict[Occlusion, str] = {"replaced": "by the baseline", "left out": "left out"}
COLUMN = 30  # pixels of a token, at least

attributed = cache.of_model(max_entries=64)(experiments.attributed)


@cache.data(max_entries=64)
def begun(
    model: str, pasted: str, quantity: Quantity, other: str | None, bos: bool | None, constant: Constant
) -> analysis.InputAttribution:
    """What is there at once: gradient times input."""
    return next(by_steps(model, pasted, quantity, other, bos, constant))


def by_steps(
    model: str, pasted: str, quantity: Quantity, other: str | None, bos: bool | None, constant: Constant
) -> Iterator[analysis.InputAttribution]:
    """What is known after each group of runs."""
    baseline = constant if other is None else _reading.read(model, other, TOKENS, bos).ids
    ids = _reading.read(model, pasted, TOKENS, bos).ids
    return analysis.attribute_by_steps(cache.model(model)[0], ids, quantity, baseline)


def inputs(reading: Reading, more: Any) -> None:
    """The section; what is measured is chosen below the figures, which begin higher for it."""
    offered = metric.candidates(reading, TOKENS)
    drawn = st.container()
    usual = _reading.other_text(reading.model, reading.pasted, OTHER, TOKENS)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        kind = metric.choose_kind(metric.KINDS, defaults().by(offered.rival), "inputs")
        with more:
            quantity = metric.choose_tokens(kind, offered)
        # a text with one word replaced explains one word alone
        first = "text" if usual == OTHER else "zero" if links.is_old("2") else "mean"
        baseline = controls.segmented("Baseline", "baseline", list(BASELINES), first, BASELINES)
        occlusion = controls.segmented("Occluded token", "occlude", list(OCCLUSIONS), "replaced", OCCLUSIONS)
    other = None
    constant: Constant = "zero" if baseline == "zero" or (baseline == "text" and links.is_old("2")) else "mean"
    if baseline == "text":
        label = "Counterfactual text, of equally many tokens"
        other = text_box(reading.model, label, "counter", usual, CHARACTERS, height=68, kind="other")
        source = _reading.checked(reading.model, other, TOKENS, "other text", reading.bos, "counter")
        if len(source.ids) != len(reading.ids):
            st.info(
                f"The text has {len(reading.ids)} tokens and the other one {len(source.ids)}; as a baseline it needs "
                f"equally many. Shown instead: {analysis.CONSTANTS[constant]}."
            )
            other = None
    if len(reading.ids) < 2:
        st.info("This text has one token: give at least two, so that one can be left out.")
        return
    what = reading.model, reading.pasted, TOKENS, quantity, other, reading.bos, constant
    short = reading.model, reading.pasted, quantity, other, reading.bos, constant
    network, n = cache.model(reading.model)[0], len(reading.ids)
    operations = analysis.operations(network, n)
    # what is there at once: the slider's default must not move while the rest fills in
    begin = attributed(*what) if operations <= filling.FEW else begun(*short)
    with more:
        position = controls.place("Token to leave out", "out", n, analysis.most_named(begin))
    against = analysis.CONSTANTS[constant] if other is None else "the other text"

    def draw(found: Sequence[InputAttribution]) -> None:
        pictures(reading, found[-1] if found else begin, occlusion, quantity, against, position)

    with drawn:
        filling.fill(
            ("inputs", *what),
            operations,
            lambda: by_steps(*short),
            lambda: [begin],
            draw,
            analysis.count_steps(network, n),
            "step",
            wait=0.0,  # gradient times input is there
        )
    words(programs(reading, made(experiments.attributed, *what), occlusion, quantity.unit, against, position))


def pictures(
    reading: Reading, found: InputAttribution, occlusion: Occlusion, quantity: Quantity, against: str, position: int
) -> None:
    """The coloured text, and the methods as bars; a click on a token chooses it."""
    n, unit = len(reading.ids), quantity.unit
    coloured = experiments.coloured_text(found, reading.first, occlusion, unit, against, position)
    bars = experiments.compared_methods(found, reading.first, occlusion, unit, position)
    name = quantity_name(quantity, cache.model(reading.model)[1])

    def choose(event: Event) -> None:
        if isinstance(event["x"], int | float) and 0 <= event["x"] < n:
            live.set_values(out=int(event["x"]))

    def table() -> pd.DataFrame:
        columns = {**found.methods("left out"), **found.methods("replaced")}
        return pd.DataFrame({"token": reading.tokens, **columns})

    wide = max(420, COLUMN * n + 190)
    figure(
        coloured.figure,
        key="inputs",
        height=230,
        min_width=wide,
        on_click=choose,
        table=table,
        alt=coloured.alt,
        caption=f"What each token adds to the {name}: red adds, blue takes away. {coloured.caption} Click a token.",
    )
    figure(
        bars.figure,
        key="methods",
        height=320,
        min_width=wide,
        on_click=choose,
        table=table,
        alt=bars.alt,
        caption=bars.caption,
    )


def programs(
    reading: Reading, found: Any, occlusion: Occlusion, unit: str, against: str, position: int
) -> list[page.Experiment]:
    """Both pictures as programs."""
    read = made(one_text.first_tokens, *(reading.model, reading.pasted, TOKENS, reading.bos))
    return [
        page.experiment_of(
            "The coloured text", experiments.coloured_text, found, read, occlusion, unit, against, position
        ),
        page.experiment_of("Three methods", experiments.compared_methods, found, read, occlusion, unit, position),
    ]


def words(programs: list[page.Experiment]) -> None:
    """What to see, the equations, the code, a question."""
    page.what_to_see(
        "Three methods answer the same question; the bars, and the rank correlations below them, show where they agree "
        "on this text. Except by leaving a token out, against another text only the tokens that differ can get "
        "anything, and against the average token the first one gets nothing: it stays, as heads rest their attention "
        "on it. Integrated gradients are withheld where they do not sum to the difference that they explain within a "
        "tenth; from zero vectors that is usual, as the norms make the way out of zero so steep that more points do "
        "not help. The gradient alone looks at one point, where the model may be saturated, and can have the wrong "
        "sign."
    )
    page.question(
        "Leaving a token out and replacing it give different answers. Which one is right?",
        "Both are exact answers to different questions. Without a token all later ones move one place forward, and "
        "another token may become the first, on which heads rest their attention. With something in its place the "
        "others keep theirs, but what is there instead matters: a word of the same kind, or a vector that is no word.",
    )
    page.how_it_is_computed(
        *programs,
        formula=(
            r"\begin{gathered}\mathrm{IG}_i = (x_i - b_i) \cdot \int_0^1 \frac{\partial Q}{\partial x_i}"
            r"\big(b + t\,(x - b)\big)\, dt, \qquad \sum_i \mathrm{IG}_i = Q(x) - Q(b) \\ "
            r"\text{occlusion}_i = Q(x) - Q(x \text{ with } b_i \text{ for } x_i), \qquad "
            r"\text{gradient} \times \text{input}_i = (x_i - b_i) \cdot \frac{\partial Q}{\partial x_i}(x)"
            r"\end{gathered}"
        ),
        code=(analysis.attribute_by_steps, analysis.integrals, analysis.without_each, analysis.method_agreement),
        papers=(
            "Integrated gradients and completeness: arXiv:1703.01365, equation 1 and proposition 1; here by a "
            "Gauss-Legendre sum. Occlusion: arXiv:1311.2901, section 4.2. Gradient times input: arXiv:1605.01713; with "
            "another text as baseline the input is the difference of the two embeddings."
        ),
    )
