"""The page on features: a small dictionary trained here and now, beside the shipped one."""

from typing import Any

import streamlit as st

from pages.ui import controls, page
from pages.ui.frame import Panel, panel
from pages.ui.loading import models
from pages.ui.work import live
from tfcore.measures.dictionaries import growth
from tfcore.training.growing_dictionaries import GrowDictionaryConfig, Grown, grow_dictionary
from tfcore.views.inside import features as views
from tfcore.views.inside.features import MODEL, STREAM

ROWS = 388
BEGIN = GrowDictionaryConfig()
FEATURES = (128, 256, 512, 1_024)
TOP_K = (4, 8, 16, 32)
STEPS = (50, 100, 200, 300, 600)
RATES = (3e-4, 1e-3, 5e-3, 2e-2)
TRY: dict[str, dict[str, Any]] = {
    "the stream": {"dictionary": STREAM, "n_features": 512, "k": 16},
    "a feed-forward layer": {"dictionary": 2, "n_features": 512, "k": 16},
    "four features a token": {"dictionary": STREAM, "n_features": 512, "k": 4},
    "few features": {"dictionary": STREAM, "n_features": 128, "k": 16},
    "too high a rate": {"dictionary": STREAM, "rate": 2e-2},
}


def grow_one() -> None:
    """Show the section; the training begins by itself."""
    with panel() as p:
        with p.controls:
            config = choose()
            beside = st.container()
        live.watch_training(
            config,
            lambda: grow_dictionary(config),
            lambda grown: grown.moment.step,
            {"grow_seed": controls.next_seed(config.seed)},
            (beside, p.picture),
            lambda grown: show(p, grown, config),
        )
        models.only(MODEL, "the text that a small dictionary is trained on here ships for it alone.")
        like = config.shipped.config
        p.what_to_see(
            "Where the dictionary learns, its curves rise; the dashed lines are the shipped one, on the same text. It "
            f"has {like.n_features:,} features, {like.top_k} at a token, and was trained longer, on more text. **Loss "
            "recovered**: 100 % where the model predicts as well with the reconstruction as without, 0 % where it "
            "predicts as badly as with zeros; below 0 %, which the axis does not show, worse than that. Fewer features "
            "at a token reconstruct less. The cosines begin at those of random directions, and move to the right as "
            "features are learned: a feature that two trainings find independently is less likely to be an accident "
            "of one of them."
        )
        p.question(
            "Before the first step all features are random directions. With 512 features, 16 at a token, they already "
            "recover more than half of the loss in the stream, and almost nothing in layer 2. Why the difference?",
            "Loss recovered compares with zeros. Zeros in the place of the stream take away all that the model has "
            "computed so far, so that a poor reconstruction is still far better. Zeros in the place of one "
            "feed-forward layer cost little, and a poor reconstruction costs about as much. The measure compares "
            "dictionaries of one place, not of two; that is why explained variance stands beside it.",
        )


def choose() -> GrowDictionaryConfig:
    """Three controls in sight, the others under More settings."""
    offered = views.dictionaries_of(MODEL)
    dictionary = controls.segmented("Features of", "dictionary", list(offered), STREAM, offered)
    n_features = controls.stops("Features", "n_features", FEATURES, BEGIN.n_features)
    top_k = controls.stops("Features at a token (k)", "k", TOP_K, BEGIN.top_k)
    with page.more_settings():
        steps = controls.stops("Steps", "grow_steps", STEPS, BEGIN.steps)
        rate = controls.stops("Learning rate", "rate", RATES, BEGIN.rate, {one: f"{one:g}" for one in RATES})
        seed = controls.slider("Seed of weights and order", "grow_seed", 0, 20, BEGIN.seed)
    return GrowDictionaryConfig(
        dictionary=dictionary, n_features=n_features, top_k=top_k, steps=steps, rate=rate, seed=seed
    )


def show(p: Panel, grown: list[Grown], config: GrowDictionaryConfig) -> None:
    """Both figures so far, and at the end the features."""
    moments = [one.moment for one in grown]
    p.show(views.quality(config, so_far=moments))
    p.show(views.cosines(config, so_far=moments))
    if grown[-1].features is not None:
        st.markdown(
            f"**The features it found**, most like a shipped one first; named by the {growth.NAMED} tokens that each "
            "is active on most often. A click on a column's name sorts by it."
        )
        st.dataframe(views.feature_table(grown[-1], config.dictionary), hide_index=True, height=ROWS)
