"""Panels of the page on positions: schemes that act on the scores (RoPE, ALiBi), and none at all."""

import pandas as pd
import streamlit as st

from pages.foundations.positions import experiments
from pages.foundations.positions.facts import FACTS
from pages.foundations.positions.vectors import base_slider, wavelengths
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.components.player import player
from pages.ui.program import made
from tfcore import positions
from tfcore.analysis.foundations import position_effects, rope_and_alibi
from tfcore.config import Positions
from tfcore.figures.foundations import position_scores as figures

rotary = cache.data(max_entries=64)(rope_and_alibi.rotary_scores)
linear = cache.data(max_entries=64)(rope_and_alibi.linear_biases)
shuffle = cache.data(max_entries=64)(position_effects.shuffle_experiment)

SCHEMES: tuple[Positions, ...] = ("sinusoidal", "learned", "rope", "alibi", "none")
NAMES = {scheme: FACTS.sections.names[scheme] for scheme in SCHEMES}
TEXT = "the dog bites the man and runs away"
WORDS = 24  # of a text that is shuffled


def rope() -> None:
    """The panel of rotary positions."""
    st.markdown(
        "**RoPE rotates each pair of dimensions of a query or key by an angle proportional to its position**, so their "
        "product depends on their content, and on their positions only through the distance."
    )
    page.try_this(
        {
            "move both": {"moved": 1000},
            "the same vector twice": {"alike": 1.0},
            "a longer base": {"rope10": 5.7},
            "far apart": {"distance": 200},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        moved = controls.slider("Move both: position of the key", "moved", 0, 4096, 100)
        player("moved", 0, 4096, moved, label="Move both along the text", period=0.25)
        distance = controls.slider("Distance: query − key", "distance", 0, 256, 6)
        alike = controls.slider("Cosine of q and k", "alike", -1.0, 1.0, 0.8, 0.05)
        with page.more_settings():
            d_head = controls.slider("Width of the head d_head", "d_head", 8, 128, 64, 8)
            base = base_slider("rope10")
        result = rotary(d_head, base, alike, moved, distance)
        shown, found = (
            experiments.rope(result, moved, distance),
            rope_and_alibi.rotary_products(result, moved, distance),
        )
        st.metric(f"q · k at distance {distance}", found.product_text)
        st.metric("Change by moving both", found.difference_text)
    pairs = str(rope_and_alibi.rotary_pairs(result, moved, distance))
    with right:
        figure(
            figures.rotary_pairs_figure(result),
            key="pairs",
            height=400,
            min_width=480,
            table=lambda: pd.DataFrame({"pair": result.pairs, "share": result.products}),
            alt=pairs,
            caption=f"{pairs} In bold: the share of q · k.",
        )
    curve, waves = right.columns([3, 2], gap="medium")
    with curve:
        figure(
            shown.figure,
            key="scores",
            height=280,
            table=lambda: pd.DataFrame(result.scores.T, columns=["key at 0", "moved"]),
            alt=shown.alt,
            caption=f"{shown.caption} The vectors are random, drawn with seed 0 and bent to the chosen cosine.",
        )
    with waves:
        wavelengths(result.wavelengths, base, ())
    page.what_to_see(
        "Press Play: all arrows rotate, fast ones many times, but the angle between orange and blue stays, and the "
        "dots lie on the line. Change the distance: fast pairs turn over, slow ones move little. For vectors with a "
        "high cosine, the product falls with distance on the whole, because the fast pairs get out of phase; with a "
        "larger base it falls later, and models with a long context use one (LLaMA 3: 500,000)."
    )
    made_scores = made(rope_and_alibi.rotary_scores, d_head, base, alike, moved, distance)
    page.question(
        "RoPE rotates queries and keys, but not values. Why would rotating values be a bad idea?",
        "The rotations of a query and a key combine to one by their distance. Nothing rotates a value back, so the "
        "output would depend on the absolute position of each value.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.rope, made_scores, moved, distance),
        formula=r"(R_m q)\cdot(R_n k) = q \cdot R_{n-m}\, k, \qquad \theta_i = b^{-2i/d_{head}}",
        code=(positions.rotate, rope_and_alibi.rotary_scores),
        papers=(
            "RoFormer, arXiv:2104.09864, sections 3.2 and 3.4.3. Pairs: (i, i + d/2) as in LLaMA; in the paper (2i, 2i "
            "+ 1)"
        ),
    )


def alibi() -> None:
    """The panel of linear biases."""
    st.markdown(
        "**ALiBi has no position embeddings**: every head subtracts its own slope times the distance from the scores, "
        "so some heads attend mostly to near tokens and others hardly prefer any."
    )
    tries = st.container()
    left, right = st.columns([1, 3], gap="medium")
    with left:
        n_heads = controls.slider("Number of heads", "heads", 1, 32, 8)
        head = controls.place("Head", "head", n_heads, 2)
        seq = controls.slider("Length (tokens)", "seq", 4, 128, 32, 4)
    result = linear(n_heads, head, seq)
    shown, bias_found = experiments.alibi(result, head), rope_and_alibi.head_bias(result, head)
    slopes = rope_and_alibi.slope_range(result)
    with left:
        st.metric(f"Slope of head {head}", bias_found.slope_text)
        st.metric("Mean distance", rope_and_alibi.head_reach(result, head).distance_text)
    bias, weights = right.columns(2, gap="medium")
    with bias:
        figure(
            figures.bias_figure(result),
            key="bias",
            height=360,
            cursor=True,
            table=lambda: pd.DataFrame(result.bias),
            alt=str(bias_found),
            caption=f"{bias_found} Shape ({seq}, {seq}). Grey: blocked.",
        )
    with weights:
        figure(
            shown.figure,
            key="reach",
            height=360,
            table=lambda: pd.DataFrame(result.weights.T, columns=[f"head {h}" for h in range(n_heads)]),
            alt=f"Attention weights that the biases alone would give. {shown.alt}",
            caption=shown.caption,
        )
    figure(
        figures.slopes_figure(result, head),
        key="slopes",
        height=250,
        on_click=_choose_head,
        table=lambda: pd.DataFrame({"head": range(n_heads), "slope": result.slopes, "mean distance": result.reach}),
        alt=f"On a logarithmic axis: {slopes}",
        caption=f"{slopes} Click a bar to choose the head.",
    )
    with tries:
        page.try_this(
            {
                "the steepest slope": {"head": slopes.steepest_head},
                "the flattest slope": {"head": slopes.flattest_head},
                "12 heads": {"heads": 12, "head": 8},
                "a longer sequence": {"seq": 128},
            }
        )
    page.what_to_see(
        "The colours keep their meaning while you change heads: full colour is a bias of −8, which leaves a token "
        "1/2981 of its weight. Steep heads fade after a few tokens, flat ones hardly at all. With a number of heads "
        "that is no power of two the slopes are interleaved, as in the authors' code: try 12."
    )
    page.question(
        "The slopes are fixed, not trained, and there is no limit to the distance. What does that buy?",
        "Length extrapolation: in a sequence longer than any in training the bias goes on in a straight line. The "
        "price: a head with a steep slope gives distant tokens almost no weight, whatever they are.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.alibi, made(rope_and_alibi.linear_biases, n_heads, head, seq), head),
        formula=(
            r"\mathrm{score}_{ij} = \frac{q_i \cdot k_j}{\sqrt{d_{head}}} - m_h\,(i - j), \qquad "
            r"m_h = 2^{-8h/n},\; h = 1 \ldots n"
        ),
        code=(positions.alibi_slopes, positions.alibi_bias),
        papers="Train Short, Test Long, section 3, arXiv:2108.12409",
    )


def _choose_head(event: Event) -> None:
    if isinstance(event["point"], int):
        controls.set_values(head=event["point"])


def none() -> None:
    """The panel without positions: shuffle the words and see whether the model notices."""
    st.markdown(
        "**Without positions a bidirectional Transformer cannot tell “dog bites man” from “man bites dog”** "
        "(permutation equivariance): shuffle the words, and the outputs are the same vectors, shuffled."
    )
    page.try_this(
        {
            "without positions": {"look": "none", "causal": False},
            "with RoPE": {"look": "rope"},
            "with a causal mask": {"look": "none", "causal": True},
            "repeated words": {"text": "no no no yes no no"},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        pasted = controls.text_area("Text", "text", TEXT, 300, height=80)
        number = controls.slider("Shuffle number", "shuffle", 1, 20, 1)
        look = controls.select("Positions of the outputs shown", "look", list(NAMES), "none", NAMES)
        is_causal = controls.toggle(
            "Causal mask", "causal", False, help="Each token attends only to itself and those before it"
        )
    words = tuple(pasted.split()[:WORDS])
    result = shuffle(words, number, is_causal)
    with right:
        if len(words) < 2:
            st.info("One word cannot be shuffled: type at least two, with a space between them.")
        if pasted.split()[WORDS:]:
            st.caption(f"The first {WORDS} words are used.")
        _differences(result, words, look, is_causal)
    labels = text.tick_labels(words)
    change = str(position_effects.output_change(result, look, NAMES[look]))
    figure(
        figures.outputs_figure(result, look, labels),
        key="outputs",
        min_width=760,
        height=max(300, 130 + 22 * len(words)),
        table=lambda: pd.DataFrame(
            result.outputs[position_effects.SCHEMES.index(look)], index=list(words)
        ).reset_index(),
        alt=f"Outputs for the text, for the shuffled text, and these put back in order. {change}",
        caption=f"{change} Output vectors, shape ({len(words)}, 64), first {figures.TABLE} dimensions.",
    )
    page.what_to_see(
        "Without positions and without a mask the left and the right table are the same to the last digits: what is "
        "left is the order in which the sums are rounded. With a scheme they differ where the shuffle changes what it "
        "measures: ALiBi, which here counts distances in both directions, cannot tell a text from its reverse. With a "
        "causal mask even the model without positions notices, because each token attends to another number of "
        "tokens. Computed by a Transformer of two layers, four heads and random weights (the same seed for every "
        "scheme)."
    )
    made_result = made(position_effects.shuffle_experiment, words, number, is_causal)
    page.question(
        "Two equal words in a text: can a model without positions give them different outputs?",
        "Not without a causal mask: the same embedding and the same keys and values give the same output. Try "
        "“repeated words” and compare the rows. With positions they differ.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.shuffled, made_result, look, NAMES),
        formula=r"f(P\,x) = P\,f(x) \quad\text{for every permutation } P",
        code=(position_effects.shuffle_experiment,),
        papers=(
            "Equivariance of attention: arXiv:1810.00825, section 3. Order from the causal mask alone: arXiv:2203.16634"
        ),
    )


def _differences(
    result: position_effects.ShuffleResult, words: tuple[str, ...], look: Positions, is_causal: bool
) -> None:
    largest, shown = result.largest, experiments.shuffled(result, look, NAMES)
    figure(
        shown.figure,
        key="differences",
        height=280,
        table=lambda: pd.DataFrame({"scheme": list(NAMES.values()), "largest difference": list(largest.values())}),
        alt=shown.alt,
        caption=("Causal mask. " if is_causal else "No mask: bidirectional. ")
        + f"Shuffled: {' '.join(text.visible(words[i]) for i in result.permutation)}",
    )
