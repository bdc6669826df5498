"""The page on induction: a model trained here and now, until the heads form."""

import streamlit as st

from pages.inside.induction import experiments
from pages.inside.induction import training_steps as film
from pages.ui import controls, page
from pages.ui.program import made
from pages.ui.work import live
from tfcore.analysis.inside import phase_change
from tfcore.measures.heads import induction_moments
from tfcore.measures.heads.induction_moments import Moment
from tfcore.measures.quantities import counted
from tfcore.training.growing import GrowConfig, grow

TRY = {
    "two layers": {"layers": 2, "steps": 700},
    "one layer: it cannot": {"layers": 1},
    "longer": {"layers": 2, "steps": 1200},
    "another seed": {"layers": 2, "steps": 700, "seed": 3},
}


def grow_one() -> None:
    """The section: the training begins by itself and grows under the eye."""
    page.try_this(TRY)
    left, right = st.columns([1, 3], gap="large")
    with left:
        layers = controls.slider("Layers", "layers", 1, 2, 2)
        steps = controls.slider("Training steps", "steps", 200, 1500, 700, 100)
        seed = controls.slider("Seed of weights and batches", "seed", 0, 20, 0)
        beside = st.container()
    with right:
        picture = st.container()
    config = GrowConfig(n_layers=layers, steps=steps, seed=seed)

    def draw(moments: list[Moment]) -> None:
        with beside:
            film.numbers(moments, -1, config.vocab_size)
        show(moments, config)

    again = {"seed": controls.next_seed(seed)}
    live.watch_training(config, lambda: grow(config), lambda moment: moment.step, again, (beside, picture), draw)
    page.what_to_see(
        "Wait for the phase change: with two layers the loss on the second copy usually falls steeply after some "
        "hundred steps, and the stripes form in the same steps. Another seed moves the step and the heads. With one "
        "layer there is no composition of heads, and the loss stays near that of a uniform guess, "
        f"{phase_change.uniform_loss_text(config.vocab_size)}."
    )
    moments = made(experiments.trained, config)
    st.caption(
        f"{counted(layers, 'layer')} of attention, 4 heads of 16, width 64, no feed-forward layer; "
        f"vocabulary {config.vocab_size}, {config.rows} sequences of {config.seq} tokens per step, AdamW. After "
        "arXiv:2209.11895; the shipped model `induction` is larger."
    )
    page.question(
        "Nothing in the data changes at the step where the heads form. Why does the loss not fall smoothly?",
        "Each half is useless alone: a previous-token head lowers the loss only if an induction head reads what it "
        "writes, and an induction head only if it is written. Until there is a little of both, the gradient for either "
        "is tiny; then each makes the other more useful, and both grow fast.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.course, moments, -1, config.steps, config.vocab_size, log=False),
        code=(grow, induction_moments.moment, phase_change.loss_fall),
    )


def show(moments: list[Moment], config: GrowConfig) -> None:
    """The curves so far and the maps now."""
    film.course(moments, -1, config.steps, config.vocab_size, log=False)
    st.markdown(f"**Found.** {phase_change.formed_yet(moments)}")
    film.maps(moments[-1])
