"""Schemes that act on the scores: RoPE and ALiBi."""

import streamlit as st

from pages.foundations.positions.vectors import base_slider
from pages.ui import controls, page
from pages.ui.components.figure import Event
from pages.ui.components.player import player
from pages.ui.frame import panel
from tfcore.views.foundations import positions as views

# ---- RoPE ----


def rope() -> None:
    """Rotary positions."""
    st.markdown(
        "**RoPE rotates each pair of dimensions of a query or key by an angle proportional to its position**, so their "
        "product depends on their content, and on their positions only through the distance."
    )
    with panel() as p:
        p.examples(
            {
                "shuffle the words": {"scheme": "none", "look": "rope"},
                "move both": {"moved": 1000},
                "the same vector twice": {"alike": 1.0},
                "a longer base": {"rope10": 5.7},
                "far apart": {"distance": 200},
            }
        )
        with p.controls:
            moved = controls.slider("Move both: position of the key", "moved", 0, 4096, 100)
            player("moved", 0, 4096, moved, label="Move both along the text", period=0.25)
            distance = controls.slider("Distance: query − key", "distance", 0, 256, 6)
            alike = controls.slider("Cosine of q and k", "alike", -1.0, 1.0, 0.8, 0.05)
            with page.more_settings():
                d_head = controls.slider("Width of the head d_head", "d_head", 8, 128, 64, 8)
                base = base_slider("rope10")
                wide = base_slider("wide10", "Base of layers without a window: 10 to the power of", 6.0, 7.0)
            shown = views.rope(d_head, base, alike, moved, distance)
            product, difference = shown.result.scores[1, distance], shown.result.difference
            st.metric(f"q · k at distance {distance}", f"{product:.3f}")
            st.metric("Change by moving both", f"{difference:.1e}")
        with p.picture:
            p.show(views.rotary_pairs(d_head, base, alike, moved, distance))
        curve, waves = p.picture.columns([3, 2], gap="medium")
        with curve:
            p.show(shown)
        with waves:
            p.show(views.wavelengths(d_head, base))
        with p.picture:
            p.show(views.two_bases(d_head, base, wide))
        p.what_to_see(
            "Press Play: all arrows rotate, fast ones many times, but the angle between orange and blue stays, and the "
            "dots lie on the line. Change the distance: fast pairs turn over, slow ones move little. For vectors with "
            "a high cosine, the product falls with distance on the whole, because the fast pairs get out of phase; "
            "with a larger base it falls later, and models with a long context use one (LLaMA 3: 500,000)."
        )
        p.question(
            "RoPE rotates queries and keys, but not values. Why would rotating values be a bad idea?",
            "The rotations of a query and a key combine to one by their distance. Nothing rotates a value back, so the "
            "output would depend on the absolute position of each value.",
        )


# ---- ALiBi ----


def alibi() -> None:
    """Linear biases."""
    st.markdown(
        "**ALiBi has no position embeddings**: every head subtracts its own slope times the distance from the scores, "
        "so some heads attend mostly to near tokens and others hardly prefer any."
    )
    with panel() as p:
        with p.controls:
            n_heads = controls.slider("Number of heads", "heads", 1, 32, 8)
            head = controls.place("Head", "head", n_heads, 2)
            seq = controls.slider("Length (tokens)", "seq", 4, 128, 32, 4)
        shown = views.alibi(n_heads, head, seq)
        slopes, reach = shown.result.slopes, shown.result.reach
        with p.controls:
            st.metric(f"Slope of head {head}", f"{slopes[head]:.4g}")
            st.metric("Mean distance", f"{reach[head]:.1f} tokens")
        bias, weights = p.picture.columns(2, gap="medium")
        with bias:
            p.show(views.bias(n_heads, head, seq))
        with weights:
            p.show(shown)
        p.show(views.slopes(n_heads, head, seq), choose_head, "Click a bar to choose the head.")
        p.examples(
            {
                "shuffle the words": {"scheme": "none", "look": "alibi"},
                "the steepest slope": {"head": int(slopes.argmax())},
                "the flattest slope": {"head": int(slopes.argmin())},
                "12 heads": {"heads": 12, "head": 8},
                "a longer sequence": {"seq": 128},
            }
        )
        p.what_to_see(
            "The colours keep their meaning while you change heads: full colour is a bias of −8, which leaves a token "
            "1/2981 of its weight. Steep heads fade after a few tokens, flat ones hardly at all. With a number of "
            "heads that is no power of two the slopes are interleaved, as in the authors' code: try 12."
        )
        p.question(
            "The slopes are fixed, not trained, and there is no limit to the distance. What does that buy?",
            "Length extrapolation: in a sequence longer than any in training the bias goes on in a straight line. The "
            "price: a head with a steep slope gives distant tokens almost no weight, whatever they are.",
        )


def choose_head(event: Event) -> None:
    """The head whose slope was clicked."""
    if isinstance(event["point"], int):
        controls.set_values(head=event["point"])
