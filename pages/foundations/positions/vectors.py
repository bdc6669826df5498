"""Schemes that add a vector to each embedding: sinusoidal, and learned."""

import streamlit as st

from pages.ui import controls, page
from pages.ui.frame import panel
from pages.ui.loading import models
from tfcore.config import ModelConfig
from tfcore.views.foundations import positions as views
from tfcore.views.foundations.positions import say
from tfcore.views.foundations.positions.measure import learned as learning

MODEL = "stories-learned"
FEWEST = 8  # positions of a table that is shown
MOST = 128
TASKS: dict[learning.Task, str] = {"nearby": "any of 4", "previous": "the last"}


def base_slider(key: str, label: str = "Base: 10 to the power of", usual: float = 4.0, most: float = 6.0) -> float:
    """The base of the wavelengths on a logarithmic slider."""
    exponent = controls.slider(label, key, 1.0, most, usual, 0.1, format="%.1f")
    return float(10**exponent)


# ---- sinusoidal ----


def sinusoidal() -> None:
    """The sinusoidal scheme."""
    st.markdown(
        "**Sinusoidal position embeddings: every position has its own vector of sines and cosines**, from a period of "
        "2π tokens to one below 2π · b, and a step of *k* is the same rotation everywhere."
    )
    with panel() as p:
        p.examples(
            {
                "shuffle the words": {"scheme": "none", "look": "sinusoidal"},
                "a tiny model": {"length": 64, "d_model": 16, "pair": 1, "pair2": 4},
                "the paper's width": {"length": 256, "d_model": 512, "base10": 4.0, "pair": 16, "pair2": 64},
                "a short base": {"base10": 1.5},
                "far from the start": {"start": 900, "k": 40},
            }
        )
        with p.controls:
            d_model = controls.slider("Width d_model", "d_model", 8, 512, 128, 8)
            base = base_slider("base10")
            with page.more_settings():
                length = controls.slider("Length (positions)", "length", 16, 512, 128, 8)
                start = controls.slider("Starting point p of the dots", "start", 0, 1000, 40)
                first = controls.place("Pair of dimensions i", "pair", d_model // 2, 4)
                second = controls.place("and another", "pair2", d_model // 2, 16)
        table, pairs = (length, d_model, base), (first, second)
        waves = views.wavelengths(d_model, base, pairs)
        with p.picture:
            p.show(views.sinusoidal(*table, pairs))
        left, right = st.columns(2, gap="medium")
        with left:
            p.show(views.curves(*table, pairs))
        with right:
            p.show(waves)
        left, right = st.columns([1, 3], gap="medium")
        with left:
            st.markdown("**A step of k**")
            k = controls.slider("Offset k", "k", 0, 128, 5)
            products, shift = views.products(*table, k, start), views.shift(*table, k)
            error, spread = shift.result.error, products.result.spread
            st.metric("Largest error of $M_k$", f"{error:.1e}", help="of PE(p + k) = M_k PE(p), over all p")
            st.metric("Line against dots", f"{spread:.1e}", help="largest difference between the starting points")
        for place, one in zip(right.columns(2, gap="medium"), (products, shift), strict=True):
            with place:
                p.show(one)
        p.what_to_see(
            "The left columns of the table change fast with the position, the right ones slowly. The product of two "
            "position vectors depends only on their distance, so the dots lie on the line wherever they start; and one "
            "matrix moves *every* position on by *k*: rotations of 2 by 2 along the diagonal."
        )
        p.question(
            "The paper says the wavelengths go from 2π to 10000 · 2π. Does the last pair really get there?",
            f"Not quite: *i* stops at d/2 − 1, so {say.against_limit(waves.result, base)} Drag the width to 512 and it "
            "gets closer; at 8 it is far off.",
        )


# ---- learned ----


def learned() -> None:
    """Learned position vectors: trained on the spot, or those of a model that was trained on stories."""
    names = {"here": "Trained here and now", "model": "Of a model"}
    source = controls.segmented("Which table?", "table", list(names), "here", names, named=False)
    {"here": trained_here, "model": of_a_model}[source]()


def trained_here() -> None:
    """A table that is caught while it is learned."""
    with panel() as p:
        p.examples(
            {
                "shuffle the words": {"scheme": "none", "look": "learned"},
                "before training": {"step": 0},
                "half-way": {"step": 60},
                "trained": {"step": learning.STEPS},
                "only the previous token": {"task": "previous", "step": learning.STEPS},
            }
        )
        with p.controls:
            task = controls.segmented("Repeat which token before?", "task", list(TASKS), "nearby", TASKS)
            step = controls.slider("Training steps", "step", 0, learning.STEPS, learning.STEPS, learning.EVERY)
            with st.spinner(f"Training a one-layer model for {learning.STEPS} steps, a few seconds, once"):
                shown = views.learned(task, step)
            st.metric("Loss on new texts (nats)", f"{shown.result.losses[step // learning.EVERY]:.2f}")
            st.caption(str(say.loss_bounds(shown.result)))
        with p.picture:
            p.show(shown)
        p.what_to_see(
            "The table of position embeddings starts as noise and is trained like any other weight. "
            "To repeat one of the last four tokens, neighbouring positions may be confused; to repeat exactly the "
            "previous token, they must not be. Compare the cosines of neighbours under both tasks: the caption has the "
            "number. Both are runs of a Transformer of one "
            f"layer, one head and width 32, {learning.STEPS} steps of {learning.ROWS} sequences of "
            f"{learning.SEQ} random tokens out of {learning.VOCAB}, trained on this server. The table of "
            "a model trained on stories is under “Of a model”."
        )
        p.question(
            "What does a learned table say about position 32, one beyond the longest text it was trained on?",
            "Nothing: there is no row 32. Sinusoidal vectors, RoPE and ALiBi can at least be computed for any position "
            "(whether the model then does something sensible is another matter).",
        )


def no_table(config: ModelConfig, _: object) -> str | None:
    """Why a model is of no use here."""
    if config.positions.learned:
        return None if config.max_seq_len >= FEWEST else f"its table has fewer than {FEWEST} positions."
    return f"its positions are {config.positions.kind}, so there is no table of vectors to look at."


def of_a_model() -> None:
    """The table of a trained model: the one that ships, or a visitor's own."""
    with panel() as p:
        p.examples(
            {
                "shuffle the words": {"scheme": "none", "look": "learned"},
                "a previous-token head": {"of": MODEL, "reader": 0},
                "a head of another kind": {"of": MODEL, "reader": 2},
                "the first sixteen": {"of": MODEL, "positions": 16},
            }
        )
        with p.controls:
            model_name = models.choose(
                "decoder", "encoder", key="of", default=MODEL, why_not=no_table, reads="the stream"
            )
            config = models.config(model_name)
            longest = min(MOST, config.max_seq_len)
            n = controls.slider("Positions shown", "positions", FEWEST // 2, longest, min(64, longest))
            head = controls.place("Head of the first layer", "reader", config.attention.n_heads)
            shown = views.position_vectors(model_name, n, head)
            table = shown.result
            previous = f"{table.back(head)[1]:.2f}"
            st.metric("Weight on the previous token", previous, help="mean over sequences of random tokens")
            st.caption(str(say.other_weights(table, head)))
        with p.picture:
            p.show(shown)
            p.show(views.components(model_name, n))
        p.what_to_see(
            "Nothing in the data says that 3 is next to 4. Where neighbouring positions have become alike in training, "
            "a band runs along the diagonal of the cosines; an untrained table has cosines around 0. The attention is "
            "averaged over random tokens, so only the positions are left in it. "
            f"{say.previous_weights(table)} A head with a large one is a previous-token head, which "
            "induction heads in the layers above can use."
        )
        p.question(
            "stories-learned has a context of 64 tokens. A model trained on sequences of 256 had, after 1,900 steps, "
            "nearly the table it began with. Why?",
            "Each row of the table is learned by itself, from the sequences that reach that far. With four times as "
            "many positions, and fewer sequences per step, each was seen a third as often; sinusoids and RoPE have "
            "nothing to learn there. Both runs are on the model's card.",
        )
