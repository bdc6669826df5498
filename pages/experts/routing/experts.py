"""Part of the page on routing: expert specialisation, over the held-out stories or in the text."""

import numpy as np
import streamlit as st

from pages.experts.routing import choices
from pages.ui import controls, text
from pages.ui.frame import panel
from tfcore.measures.expert_scan import ExpertScan
from tfcore.views.experts import routing as views
from tfcore.views.experts.routing.measure.tokens import Order
from tfcore.views.experts.routing.say.text import expert_in_text, token_titles
from tfcore.views.experts.routing.say.tokens import excerpt_title, scanned_share, token_decides

BY: dict[Order, str] = {"share": "routing consistency", "work": "share of its load"}
QUESTION = (
    "An expert takes nearly every “saw” and “loved”. Does that make it the place where the model stores what these "
    "verbs mean?",
    "Only in part: a token goes to several experts in every layer, and embeddings and attention are shared by all. "
    "The router is trained to lower the loss; that verbs are routed alike is a by-product.",
)


def show() -> None:
    """Show the section."""
    with panel() as p:
        with p.controls:
            now = choices.read()
            layer, at = choices.choose_layer(now)
            by: Order = controls.select(
                "Order of its tokens",
                "by",
                list(BY),
                "work",
                BY,
                help="Routing consistency: the share of a token's occurrences that go to this expert. Share of its "
                "load: the share of the expert's tokens that are this one.",
            )
        scan = views.scan_of(now.reading.model)
        with p.picture:
            picture = st.container()
            numbers = list(range(1, now.n_experts + 1))
            draw = controls.segmented if now.n_experts <= choices.FEW else controls.select
            expert = int(draw("Expert", "expert", numbers, 1)) - 1
            if scan is None:
                without_scan(now)
            where = "in this text" if scan is None else scanned_share(scan, at, expert)
            with picture:
                st.markdown(f"**Specialisation of expert {expert + 1} of layer {layer}**, by {BY[by]}, {where}")
                if views.tokens_of(now.reading, layer, expert, by).tokens:
                    p.show(views.likings(now.reading, layer, expert, by))
                else:
                    st.info("No token goes to this expert.")
        if scan is not None:
            show_excerpts(now, scan, layer, at, expert)
            decides = token_decides(scan, now.layers, at, now.top_k)
            st.markdown(f"**How much does the token alone decide?** {decides} The rest depends on the context.")
        mine(now, layer, at, expert)
        p.what_to_see(
            "See whether the tokens of an expert share a topic or a kind, such as punctuation, articles, verbs, pieces "
            "of words. Larger models specialise by syntax rather than by topic (arXiv:2401.04088, section 5; "
            "arXiv:2202.08906, section 7)."
        )
        p.question(*QUESTION)


def without_scan(now: choices.Chosen) -> None:
    """Why there are counts of the text alone."""
    scan = views.kept_scan() if now.reading.model == views.TRAINED else None
    if isinstance(scan, str):
        st.info(scan)
    else:
        st.info("For this model there are no counts over many texts: what is shown is your text alone.")


def show_excerpts(now: choices.Chosen, scan: ExpertScan, layer: int, at: int, expert: int) -> None:
    """Pieces of stories around the tokens with the largest probabilities."""
    tokenizer = views.network(now.reading.model)[1]
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
            label=excerpt_title(scan, at, expert, rank),
        )


def mine(now: choices.Chosen, layer: int, at: int, expert: int) -> None:
    """The expert's tokens in the visitor's text."""
    routed = views.routed_of(now.reading)
    taken = routed.routing.taken[at, :, expert]
    st.markdown(f"**Your text.** {expert_in_text(routed.routing, at, expert)} Stronger colour: larger weight.")
    weights = np.where(taken, routed.routing.weights[at, :, expert], 0.0)
    text.chips(
        now.text.tokens,
        key="mine",
        shade=weights.tolist(),
        faint=(~taken).tolist(),
        titles=token_titles(routed, at),
        label=f"The text, shaded by the weight of expert {expert + 1} in layer {layer}",
    )
