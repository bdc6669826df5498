"""Section of the page on interventions: which tokens of the text the prediction depends on."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from pages.inside import metric
from pages.inside import reading as _reading
from pages.inside.interventions.defaults import defaults
from pages.inside.reading import ReadText
from pages.ui import cache, controls, links
from pages.ui.components.figure import Event
from pages.ui.frame import panel
from pages.ui.reading import text_box
from pages.ui.work import filling, live
from tfcore.views.inside import interventions as views
from tfcore.views.inside.interventions.inputs import LONGEST, attributed, begun, by_steps
from tfcore.views.inside.interventions.measure import input_attribution
from tfcore.views.inside.interventions.measure.input_attribution import Constant, InputAttribution, Occlusion

CHARACTERS = 1_000  # of the other text
OTHER = "There was a big girl. One night, Lily said that"
LETTER = "When Anna and Paul went to the park, Kate sent a letter to"
BASELINES = {"text": "another text", "mean": "average token", "zero": "zero vectors"}
OCCLUSIONS: dict[Occlusion, str] = {"replaced": "by the baseline", "left out": "left out"}


def inputs(reading: ReadText, more: Any) -> None:
    """Show the section; what is measured is chosen below the figures, which begin higher for it."""
    offered = metric.candidates(reading, LONGEST)
    with panel(None) as p, p.picture:
        drawn = st.container()
        usual = _reading.other_text(reading.model, reading.pasted, OTHER, LONGEST)
        with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
            kind = metric.choose_kind(metric.KINDS, defaults().by(offered.rival), "inputs", offered.classes)
            with more:
                quantity = metric.choose_tokens(kind, offered)
            # a text with one word replaced explains one word alone
            first = "text" if usual == OTHER else "zero" if links.is_old("2") else "mean"
            baseline = controls.segmented("Baseline", "baseline", list(BASELINES), first, BASELINES)
            occlusion = controls.segmented("Occluded token", "occlude", list(OCCLUSIONS), "replaced", OCCLUSIONS)
        constant: Constant = "zero" if baseline == "zero" or (baseline == "text" and links.is_old("2")) else "mean"
        other = other_text(reading, usual, constant) if baseline == "text" else None
        if len(reading.ids) < 2:
            st.info("This text has one token: give at least two, so that one can be left out.")
            return
        own, n = cache.model(reading.model), len(reading.ids)  # opened here: a job's thread knows no session
        network = own[0]
        operations = input_attribution.operations(network, n)
        what = reading.whole, quantity, other, constant
        # what is there at once: the slider's default must not move while the rest fills in
        begin = attributed(*what) if operations <= filling.FEW else begun(*what)
        with more:
            position = controls.place("Token to leave out", "out", n, input_attribution.most_named(begin))

        def choose(event: Event) -> None:
            if isinstance(event["x"], int | float) and 0 <= event["x"] < n:
                live.set_values(out=int(event["x"]))

        def draw(so_far: Sequence[InputAttribution]) -> None:
            latest = so_far[-1] if so_far else begin
            p.show(views.coloured_text(*what, occlusion, position, so_far=latest), choose, "Click a token.")
            p.show(views.compared_methods(*what, occlusion, position, so_far=latest), choose)

        with drawn:
            filling.fill(
                ("inputs", *what),
                operations,
                lambda: by_steps(replace(reading.whole, model=own), quantity, other, constant),
                lambda: [begin],
                draw,
                input_attribution.count_steps(network, n),
                "step",
                wait=0.0,  # gradient times input is there
            )
        p.what_to_see(
            "Three methods answer the same question; the bars, and the rank correlations below them, show where they "
            "agree on this text. Except by leaving a token out, against another text only the tokens that differ can "
            "get anything, and against the average token the first one gets nothing: it stays, as heads rest their "
            "attention on it. Integrated gradients are withheld where they do not sum to the difference that they "
            "explain within a tenth; from zero vectors that is usual, as the norms make the way out of zero so steep "
            "that more points do not help. The gradient alone looks at one point, where the model may be saturated, "
            "and can have the wrong sign."
        )
        p.question(
            "Leaving a token out and replacing it give different answers. Which one is right?",
            "Both are exact answers to different questions. Without a token all later ones move one place forward, and "
            "another token may become the first, on which heads rest their attention. With something in its place the "
            "others keep theirs, but what is there instead matters: a word of the same kind, or a vector that is no "
            "word.",
        )


def other_text(reading: ReadText, usual: str, constant: Constant) -> str | None:
    """A box for the text that is the baseline; None, and a word of what stands in its place, where it has another
    number of tokens."""
    label = "Counterfactual text, of equally many tokens"
    other = text_box(reading.model, label, "counter", usual, CHARACTERS, height=68, kind="other")
    source = _reading.checked(reading.model, other, LONGEST, "other text", reading.bos, "counter")
    if len(source.ids) == len(reading.ids):
        return other
    st.info(
        f"The text has {len(reading.ids)} tokens and the other one {len(source.ids)}; as a baseline it needs "
        f"equally many. Shown instead: {input_attribution.CONSTANTS[constant]}."
    )
    return None
