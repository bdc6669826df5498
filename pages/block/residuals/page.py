"""The page on residual connections: gradients, sublayer ablation, initial weights, dropout."""

from collections.abc import Callable

import streamlit as st

from pages.block.probing import measure_all
from pages.block.residuals.ablation import MODEL, TEXT, skip_blocks
from pages.block.residuals.facts import FACTS
from pages.ui import controls, page
from pages.ui.frame import panel
from pages.ui.loading import models
from pages.ui.reading import usual
from tfcore.measures.deep_networks import COMPARED, DEEPEST, INIT_NAMES, networks, powers_of_two, start_networks
from tfcore.views.block import residuals as views
from tfcore.views.block.normalisation.measure.depths import probe_of
from tfcore.views.block.residuals import passes_of, say, stream_sizes_of
from tfcore.views.sources import Reading

# ---- gradients ----

METRICS = {"no skip, no norm": "First layer's gradient, no skip, no norm", "pre-LN": "with skips and norms (pre-LN)"}


def gradients() -> None:
    """Gradients against depth, and networks of one depth layer by layer."""
    with panel() as p:
        p.examples(
            {
                "six layers": {"layers": 6},
                "64 layers": {"layers": 64, "init": "xavier"},
                "small weights": {"layers": 32, "init": "normal"},
                "GPT-2's weights": {"layers": 32, "init": "gpt2"},
            }
        )
        with p.controls:
            deepest = controls.slider("Layers of the deepest network", "layers", 1, DEEPEST, DEEPEST)
            init = controls.select("Initial weights", "init", list(INIT_NAMES), "xavier", INIT_NAMES)
            depths = powers_of_two(deepest)
            measure_all(probe_of, [network for name in COMPARED for network in networks(name, depths, init)])
            shown = views.gradients(deepest, init)
            first = say.first_gradients(shown.result)
            for name, label in METRICS.items():
                st.metric(label, first.number(name))
        with p.picture:
            p.show(shown)
        st.subheader(f"Inside the networks of {deepest} layers", anchor=False)
        inside = views.layer_by_layer(deepest, init)
        p.show(inside)
        p.what_to_see(
            f"{first.with_and_without} {say.norms_alone(first, say.rank_collapse(inside.result))} The residual "
            "connection is the 1 in the bracket: a way back to the first layer without any factor. Without it, whether "
            "the gradient vanishes depends on the norm and on the initial weights: choose others. The lowest row is "
            "rank collapse (arXiv:2103.03404): without residual connections attention makes all tokens alike."
        )
        p.question(
            "Post-LN has skips as well, but a norm sits on the stream after every sum. Is the path still free?",
            "Not quite: each norm divides the gradient by the size of the sum, so the 1 becomes a product of such "
            "factors (arXiv:2002.04745). What post-LN's warm-up is for is the large gradient of the last layers, which "
            "the page on normalisation shows.",
        )


# ---- initial weights ----

NETWORKS = ("pre-LN", "no norm", "no skip, no norm")


def initial_weights() -> None:
    """Activations by depth, for each way to draw the first weights."""
    with panel() as p:
        p.examples(
            {
                "12 layers": {"layers": 12, "network": "pre-LN"},
                "64 layers": {"layers": 64, "network": "pre-LN"},
                "without norms": {"layers": 24, "network": "no norm"},
                "no norm, no skip": {"layers": 12, "network": "no skip, no norm"},
            }
        )
        with p.controls:
            n_layers = controls.slider("Layers N", "layers", 1, DEEPEST, 48)
            wiring = controls.select("Network", "network", list(NETWORKS), "pre-LN")
            measure_all(stream_sizes_of, list(start_networks(n_layers, wiring).values()))
            shown = views.starts(n_layers, wiring)
            growth = say.stream_growth(shown.result, wiring)
            for start in ("std 0.02", "GPT-2: 0.02, outputs / √(2N)"):
                st.metric(f"Growth, {start.partition(':')[0]}", growth.growth(start), help="last size / first size")
        with p.picture:
            p.show(shown)
        p.what_to_see(
            "Under pre-LN each sublayer adds a vector of about the same size, independent of the others, so the "
            "variance grows by the same amount each time and the stream with the root of the depth. GPT-2 divides the "
            "matrices that write to the stream by √(2N), since there are 2N of them: the sum then grows by the same "
            "factor at any depth (move the depth and compare the two numbers at the left). Without norms the size of "
            "each addition depends on the size of the stream, which then grows or shrinks exponentially with depth."
        )
        p.question(
            "Why 1/√(2N), and not 1/√N or 1/(2N)?",
            "N blocks write twice each: 2N independent vectors, whose variances add up. For the sum to have the "
            "variance of one, each variance must be divided by 2N, so each standard deviation by √(2N). With 1/(2N) "
            "the sum would have a variance of 1/(2N).",
        )


# ---- dropout ----


def dropout() -> None:
    """Dropout on an activation of a trained model."""
    with panel() as p:
        with p.controls:
            share = controls.slider("Share dropped p", "p", 0.0, 0.9, 0.3, 0.05)
            training = controls.toggle("Training (off: inference)", "training", True)
            seed = controls.slider("Draw", "draw", 0, 99, 0)
            model_name = models.choose(
                "decoder", "encoder", default=MODEL, why_not=models.attention_alone, reads="the stream"
            )
            n_layers = models.config(model_name).n_layers
            with page.more_settings():
                layer = controls.place("Layer", "layer", n_layers, 1)
        reading = Reading(model_name, usual(model_name, TEXT))
        shown, apart = views.dropped(reading, layer, share, training, seed), say.TwoPasses(passes_of(share, training))
        with p.controls:
            st.metric(
                "Two passes differ by up to",
                apart.number,
                apart.why,
                delta_color="off",
                delta_arrow="off",
                help="largest difference of a score, two layers with this p",
            )
        with p.picture:
            p.show(shown)
            p.show(views.means(reading, layer, share, training, seed))
        p.examples(
            {
                "as in 2017": {"p": 0.1, "training": True},
                "half": {"p": 0.5, "training": True},
                "nearly all": {"p": 0.9, "training": True},
                "inference": {"training": False},
                "another draw": {"draw": controls.next_seed(seed, 99), "training": True},
            }
        )
        p.what_to_see(
            "What is dropped is drawn anew at every step of training. The rest is multiplied by 1/(1 − p), so that the "
            "mean is the same as at inference, when nothing is dropped: single draws scatter around it as the theory "
            "says. At inference dropout is the identity, and the same text gives the same numbers, bit by bit."
        )
        p.question(
            "What would go wrong without the factor 1/(1 − p)?",
            "In training every sum would be 1 − p times as large on average as at inference, when nothing is dropped: "
            "then each layer would get larger inputs than it was trained on. The paper of 2012 does it the other way "
            "round, with smaller weights at inference.",
        )


SECTIONS: dict[str, Callable[[], None]] = {
    "Gradients": gradients,
    "Skip blocks": skip_blocks,
    "Initial weights": initial_weights,
    "Dropout": dropout,
}

page.begin(FACTS)
SECTIONS[controls.sections(FACTS.sections)]()
