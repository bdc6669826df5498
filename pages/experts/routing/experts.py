"""Part of the page on routing: expert specialisation, over the held-out stories or in the text."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.experts.routing import experiments, reading
from pages.ui import controls, page, text
from pages.ui.components.figure import figure
from pages.ui.program import made
from tfcore.analysis.experts import expert_tokens
from tfcore.analysis.experts.expert_tokens import ExpertTokens, Order
from tfcore.analysis.experts.routing_findings import expert_in_text, token_titles
from tfcore.measures import expert_scan, quantities
from tfcore.measures.expert_scan import ExpertScan

HEIGHT = 430
BY: dict[Order, str] = {"share": "routing consistency", "work": "share of its load"}
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
        by: Order = controls.select(
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
        picture = st.container()
        numbers = list(range(1, now.n_experts + 1))
        draw = controls.segmented if now.n_experts <= reading.FEW else controls.select
        expert = int(draw("Expert", "expert", numbers, 1)) - 1
        if scan is None:
            without_scan(now)
        found = counted(now, scan, at, expert, by)
        where = "in this text" if scan is None else expert_tokens.scanned_share(scan, at, expert)
        with picture:
            st.markdown(f"**Specialisation of expert {expert + 1} of layer {layer}**, by {BY[by]}, {where}")
            if found.tokens:
                show_preferred(now, found, layer, expert, by)
            else:
                st.info("No token goes to this expert.")
    if scan is not None:
        show_excerpts(now, scan, layer, at, expert)
        decides = expert_tokens.token_decides(scan, now.layers, at, now.top_k)
        st.markdown(f"**How much does the token alone decide?** {decides} The rest depends on the context.")
    mine(now, layer, at, expert)
    page.what_to_see(
        "See whether the tokens of an expert share a topic or a kind, such as punctuation, articles, verbs, pieces of "
        "words. Larger models specialise by syntax rather than by topic (arXiv:2401.04088, section 5; "
        "arXiv:2202.08906, section 7)."
    )
    programs = [offer(now, scan, layer, at, expert, by)] if found.tokens else []
    page.question(*QUESTION)
    page.how_it_is_computed(
        *programs,
        formula=reading.formula(now.model),
        code=(expert_tokens.preferred, expert_scan.routing_accuracy, expert_scan.scan),
        papers="Specialisation in larger models: arXiv:2401.04088, section 5; arXiv:2202.08906, section 7.",
    )


def without_scan(now: reading.Reading) -> None:
    """Why there are counts of the text alone."""
    found = reading.kept_scan() if now.model == reading.TRAINED else None
    if isinstance(found, str):
        st.info(found)
    else:
        st.info("For this model there are no counts over many texts: what is shown is your text alone.")


def show_preferred(now: reading.Reading, found: ExpertTokens, layer: int, expert: int, by: Order) -> None:
    """The tokens of an expert as bars."""
    counts = found.counts
    shown = experiments.likings(found, layer, expert, by)
    pale = " Pale: most of its occurrences go elsewhere." if by == "work" else ""
    figure(
        shown.figure,
        key="preferred",
        height=HEIGHT,
        table=lambda: pd.DataFrame(
            {
                "token": found.tokens,
                "goes to it": counts.sent,
                "seen": counts.seen,
                "share": counts.share,
                "of its load": counts.work,
            }
        ),
        alt=shown.alt,
        caption=f"{shown.caption} A token goes to {quantities.counted(now.top_k, 'expert')}.{pale}",
    )


def counted(now: reading.Reading, scan: ExpertScan | None, at: int, expert: int, by: Order) -> ExpertTokens:
    """The tokens of an expert, over the held-out stories or in the text."""
    if scan is not None:
        return experiments.counted_stories(reading.network(now.model)[1], scan, at, expert, by)
    return experiments.counted_text(reading.routed(now.model, now.pasted), at, expert, by)


def offer(
    now: reading.Reading, scan: ExpertScan | None, layer: int, at: int, expert: int, by: Order
) -> page.Experiment:
    """The same counts and their picture as a program."""
    if scan is not None:
        counts = made(experiments.counted_stories, now.model, made(expert_scan.load_scan, now.model), at, expert, by)
    else:
        routed = made(experiments.routed, made(experiments.mixture, now.model), now.pasted, reading.TOKENS)
        counts = made(experiments.counted_text, routed, at, expert, by)
    return page.experiment(experiments.likings, counts, layer, expert, by)


def show_excerpts(now: reading.Reading, scan: ExpertScan, layer: int, at: int, expert: int) -> None:
    """Pieces of stories around the tokens with the largest probabilities."""
    tokenizer = reading.network(now.model)[1]
    st.markdown(f"**Where the router was surest of expert {expert + 1}** in layer {layer}, in stories not trained on")
    for rank in range(scan.excerpts.shape[2]):
        ids, place = scan.excerpt(at, expert, rank), int(scan.place[at, expert, rank])
        if not ids:
            continue
        text.chips(
            tokenizer.tokens(ids),
            key=f"excerpt {rank}",
            selected=place,
            shade=[0.9 if i == place else 0.0 for i in range(len(ids))],
            label=expert_tokens.excerpt_title(scan, at, expert, rank),
        )


def mine(now: reading.Reading, layer: int, at: int, expert: int) -> None:
    """The expert's tokens in the visitor's text."""
    found = reading.routed(now.model, now.pasted)
    taken = found.routing.taken[at, :, expert]
    st.markdown(f"**Your text.** {expert_in_text(found.routing, at, expert)} Stronger colour: larger weight.")
    weights = np.where(taken, found.routing.weights[at, :, expert], 0.0)
    text.chips(
        now.text.tokens,
        key="mine",
        shade=weights.tolist(),
        faint=(~taken).tolist(),
        titles=token_titles(found, at),
        label=f"The text, shaded by the weight of expert {expert + 1} in layer {layer}",
    )
