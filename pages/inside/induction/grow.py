"""The page on induction: a model trained here and now, until the heads form."""

import streamlit as st

from pages.inside.induction.training_steps import numbers
from pages.ui import controls, head_links
from pages.ui.frame import panel
from pages.ui.work import live
from tfcore.measures.heads.induction_moments import Moment
from tfcore.measures.quantities import counted
from tfcore.training.growing import GrowConfig, grow
from tfcore.views.inside import induction as views
from tfcore.views.inside.induction.say.training import uniform_loss_text

TRY = {
    "two layers": {"layers": 2, "steps": 700},
    "one layer: it cannot": {"layers": 1},
    "longer": {"layers": 2, "steps": 1200},
    "another seed": {"layers": 2, "steps": 700, "seed": 3},
}


def grow_one() -> None:
    """Show the section; the training begins by itself, and its curves grow."""
    with panel() as p:
        p.examples(TRY)
        with p.controls:
            layers = controls.slider("Layers", "layers", 1, 2, 2)
            steps = controls.slider("Training steps", "steps", 200, 1500, 700, 100)
            seed = controls.slider("Seed of weights and batches", "seed", 0, 20, 0)
            beside = st.container()
        config = GrowConfig(n_layers=layers, steps=steps, seed=seed)

        def draw(moments: list[Moment]) -> None:
            with beside:
                numbers(moments, -1, config.vocab_size)
            p.show(views.course(config, so_far=moments))
            p.show(views.maps(config, so_far=moments[-1]), hint=head_links.IN_TRAINING)

        again = {"seed": controls.next_seed(seed)}
        live.watch_training(config, lambda: grow(config), lambda moment: moment.step, again, (beside, p.picture), draw)
        st.caption(
            f"{counted(layers, 'layer')} of attention, 4 heads of 16, width 64, no feed-forward layer; "
            f"vocabulary {config.vocab_size}, {config.rows} sequences of {config.seq} tokens per step, AdamW. After "
            "arXiv:2209.11895; the shipped model `induction` is larger."
        )
        p.what_to_see(
            "Wait for the phase change: with two layers the loss on the second copy usually falls steeply after some "
            "hundred steps, and the stripes form in the same steps. Another seed moves the step and the heads. With "
            "one layer there is no composition of heads, and the loss stays near that of a uniform guess, "
            f"{uniform_loss_text(config.vocab_size)}."
        )
        p.question(
            "Nothing in the data changes at the step where the heads form. Why does the loss not fall smoothly?",
            "Each half is useless alone: a previous-token head lowers the loss only if an induction head reads what it "
            "writes, and an induction head only if it is written. Until there is a little of both, the gradient for "
            "either is tiny; then each makes the other more useful, and both grow fast.",
        )
