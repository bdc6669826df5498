"""Part of the page on routing: expert specialisation, over the held-out stories or in the text."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.experts.routing import experiments as experiments
from pages.experts.routing import reading as reading
from pages.ui import controls, page, text
from pages.ui.components.figure import figure
from tfcore.analysis.experts import expert_scan
from tfcore.analysis.experts.expert_scan import ExpertScan, Preferred, preferred, told
from tfcore.figures.experts import routing as figures

SHOWN, HEIGHT = 16, 430
BY = {"share": "routing consistency", "work": "share of its load"}
QUESTION = (
    "An expert takes nearly every “saw” and “loved”. Does that make it the place where the model stores what these "
    "verbs mean?",
    "Only in part: a token goes to several experts in every layer, and embeddings and attention are shared by all. "
    "The router is trained to lower the loss; that verbs are routed alike is a by-product.",
)


def show() -> None:
    """The section."""
    left, right = st.columns([1, 3], gap="large")
    with left:
        now = reading.read()
        layer, at = reading.choose_layer(now)
        by = controls.select(
            "Order of its tokens",
            "by",
            list(BY),
            "work",
            BY,
            help="Routing consistency: the share of a token's occurrences that go to this expert. Share of its load: "
            "the share of the expert's tokens that are this one.",
        )
    scan = reading.scan_of(now.model)
    with right:
        numbers = list(range(1, now.n_experts + 1))
        draw = controls.segmented if now.n_experts <= reading.FEW else controls.select
        expert = int(draw("Expert", "expert", numbers, 1)) - 1
        if scan is None:
            without_scan(now)
        show_preferred(now, scan, layer, at, expert, by)
    if scan is not None:
        show_excerpts(now, scan, layer, at, expert)
        show_told(scan, now, layer, at)
    mine(now, layer, at, expert)
    page.what_to_see(
        "See whether the tokens of an expert share a topic or a kind, such as punctuation, articles, verbs, pieces of "
        "words. Larger models specialise by syntax rather than by topic (arXiv:2401.04088, section 5; "
        "arXiv:2202.08906, section 7)."
    )
    page.source(expert_scan.preferred, expert_scan.told, expert_scan.scan)
    if scan is not None:
        page.experiment(experiments.likings, now.model, at, expert, by)
    else:
        page.experiment(experiments.likings_in_a_text, now.model, now.pasted, reading.TOKENS, at, expert, by)


def without_scan(now: reading.Reading) -> None:
    """Why only the text speaks here."""
    found = reading.kept_scan() if now.model == reading.TRAINED else None
    if isinstance(found, str):
        st.info(found)
    else:
        st.info("For this model there are no counts over many texts: what is shown is your text alone.")


def show_preferred(now: reading.Reading, scan: ExpertScan | None, layer: int, at: int, expert: int, by: str) -> None:
    """The tokens of an expert as bars."""
    found, where = liked(now, scan, at, expert, by)
    tokens = reading.network(now.model)[1].tokens(found.ids.tolist())
    st.markdown(f"**Specialisation of expert {expert + 1} of layer {layer}**, by {BY[by]}, {where}")
    if not tokens:
        st.info("No token goes to this expert.")
        return
    values = found.share if by == "share" else found.work
    share = "of its occurrences" if by == "share" else "of this expert's load"
    pale = " Pale: most of its occurrences go elsewhere." if by == "work" else ""
    always = int((found.share >= 0.99).sum())
    figure(
        figures.preferred_figure(found, text.tick_labels(tokens), expert, by, HEIGHT),
        key="preferred",
        height=HEIGHT,
        table=lambda: pd.DataFrame(
            {
                "token": tokens,
                "goes to it": found.sent,
                "seen": found.seen,
                "share": found.share,
                "of its load": found.work,
            }
        ),
        alt=f"Expert {expert + 1} of layer {layer}: "
        + ", ".join(
            f"'{text.visible(token)}' {value:.0%} {share}" for token, value in zip(tokens[:5], values, strict=False)
        )
        + ".",
        caption=f"'{text.visible(tokens[0])}' goes to this expert {found.sent[0]:,} of {found.seen[0]:,} times. "
        f"{always} of the {len(tokens)} tokens shown go to it at least 99 times in 100. A token goes to {now.top_k} "
        f"experts.{pale}",
    )


def liked(now: reading.Reading, scan: ExpertScan | None, at: int, expert: int, by: str) -> tuple[Preferred, str]:
    """The tokens of an expert, and over which texts."""
    if scan is not None:
        load = int(scan.load[at, expert])
        where = f"over {scan.tokens:,} tokens of held-out stories; {scan.choices[at, expert]:.0%} of all choices"
        return preferred(scan.ids, scan.sent[at, :, expert], scan.seen, load, by, SHOWN), where
    taken = reading.routed(now.model, now.pasted).taken[at]
    ids, seen, sent = expert_scan.of_text(now.ids, taken)
    return preferred(ids, sent[:, expert], seen, int(taken[:, expert].sum()), by, SHOWN), "in this text"


def show_excerpts(now: reading.Reading, scan: ExpertScan, layer: int, at: int, expert: int) -> None:
    """Pieces of stories with the tokens the router was surest of."""
    tokenizer = reading.network(now.model)[1]
    st.markdown(f"**Where the router was surest of expert {expert + 1}** in layer {layer}, in stories not trained on")
    for rank in range(scan.excerpts.shape[2]):
        ids, place = scan.excerpt(at, expert, rank), int(scan.place[at, expert, rank])
        if not ids:
            continue
        probability = float(scan.prob[at, expert, rank])
        text.chips(
            tokenizer.tokens(ids),
            key=f"excerpt {rank}",
            selected=place,
            shade=[0.9 if i == place else 0.0 for i in range(len(ids))],
            label=f"Piece {rank + 1}: probability {probability:.3f} at the shaded token",
        )


def show_told(scan: ExpertScan, now: reading.Reading, layer: int, at: int) -> None:
    """How much the token alone decides."""
    known = told(scan)
    by_layer = "; ".join(f"layer {i}: {share:.0%}" for i, share in zip(now.layers, known.token, strict=True))
    st.markdown(
        f"**How much does the token alone decide?** Predicting, for each token, the {now.top_k} experts it went to "
        f"most often is right for {known.token[at]:.0%} of the choices in layer {layer}; predicting always the "
        f"busiest, for {known.load[at]:.0%}. {by_layer}. The rest depends on the context."
    )


def mine(now: reading.Reading, layer: int, at: int, expert: int) -> None:
    """The expert's tokens in the visitor's text."""
    found = reading.routed(now.model, now.pasted)
    taken = found.taken[at, :, expert]
    st.markdown(
        f"**In your text** expert {expert + 1} takes {int(taken.sum())} of {len(now.ids)} tokens in layer {layer}; "
        "stronger colour: larger weight."
    )
    weights = np.where(taken, found.weights[at, :, expert], 0.0)
    text.chips(
        now.tokens,
        key="mine",
        shade=weights.tolist(),
        faint=(~taken).tolist(),
        titles=reading.titles(now, found, at),
        label=f"The text, shaded by the weight of expert {expert + 1} in layer {layer}",
    )
