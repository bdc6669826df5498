"""The page on features: a small dictionary trained here and now, beside the shipped one."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.inside.features import experiments
from pages.inside.features.explore import DICTIONARIES, MODEL, STREAM, words
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.program import made
from pages.ui.work import live
from tfcore.measures.dictionaries import growth, quality
from tfcore.measures.dictionaries.growth import DictionaryMoment
from tfcore.measures.token_text import visible
from tfcore.training import growing_dictionaries as growing
from tfcore.training.dictionaries import InTraining
from tfcore.training.growing_dictionaries import GrowDictionaryConfig, Grown, grow_dictionary

HEIGHT, BELOW, ROWS = 360, 240, 388
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
    """The section: the training begins by itself."""
    left, right = st.columns([1, 3], gap="large")
    with left:
        config = choose()
        beside = st.container()
    with right:
        picture = st.container()
    live.watch_training(
        config,
        lambda: grow_dictionary(config),
        lambda found: found.moment.step,
        {"grow_seed": controls.next_seed(config.seed)},
        (beside, picture),
        lambda found: show(found, config),
    )
    models.only(MODEL, "transcoders are trained for its layers alone.")
    moments = made(experiments.trained, config)
    like = config.shipped.config
    page.what_to_see(
        "Where the dictionary learns, its curves rise; the dashed lines are the shipped one, on the same text. It has "
        f"{like.n_features:,} features, {like.top_k} at a token, and was trained longer, on more text. **Loss "
        "recovered**: 100 % where the model predicts as well with the reconstruction as without, 0 % where it predicts "
        "as badly as with zeros; below 0 %, which the axis does not show, worse than that. Fewer features at a token "
        "reconstruct less. The cosines begin at those of random directions, and move to the right as features are "
        "learned: a feature that two trainings find independently is less likely to be an accident of one of them."
    )
    page.question(
        "Before the first step all features are random directions. With 512 features, 16 at a token, they already "
        "recover more than half of the loss in the stream, and almost nothing in layer 2. Why the difference?",
        "Loss recovered compares with zeros. Zeros in the place of the stream take away all that the model has "
        "computed so far, so that a poor reconstruction is still far better. Zeros in the place of one feed-forward "
        "layer cost little, and a poor reconstruction costs about as much. The measure compares dictionaries "
        "of one place, not of two; that is why explained variance stands beside it.",
    )
    page.how_it_is_computed(
        page.experiment_of("Its quality", experiments.quality, moments, config.steps, HEIGHT),
        page.experiment_of("Beside the shipped one", experiments.cosines, moments, BELOW),
        formula=(
            r"\mathcal{L} = \frac{\lVert y - \hat y \rVert^2}{\mathrm{Var}(y)} + \frac{1}{32}\,\mathcal{L}_{aux} "
            r"\qquad \text{loss recovered} = \frac{L_{zeros} - L_{\hat y}}{L_{zeros} - L}"
        ),
        code=(grow_dictionary, InTraining, quality.dictionary_quality, growth.closest_features),
        papers=(
            "TopK features and the auxiliary loss, which revives features that no longer fire: arXiv:2406.04093, "
            f"section 2.3 and appendix A.2. {growing.BATCHES} batches of {growing.ROWS} windows of 48 tokens, again "
            f"and again, with Adam; measured on {growing.HELD_OUT} windows of other stories, the features named on "
            f"{growing.NAMED_ON}, of which the former are a part. All are from the validation split of TinyStories "
            "(arXiv:2305.07759), windows in which features of the shipped dictionaries are strongest; those were "
            "trained on other text, and also on the divergence of predictions (arXiv:2405.12241)."
        ),
        terms=("transcoder", "sparse autoencoder"),
    )


def choose() -> GrowDictionaryConfig:
    """Three controls in sight, the others under More settings."""
    dictionary = controls.segmented("Features of", "dictionary", list(DICTIONARIES), STREAM, DICTIONARIES)
    n_features = controls.stops("Features", "n_features", FEATURES, BEGIN.n_features)
    top_k = controls.stops("Features at a token (k)", "k", TOP_K, BEGIN.top_k)
    with page.more_settings():
        steps = controls.stops("Steps", "grow_steps", STEPS, BEGIN.steps)
        rate = controls.stops("Learning rate", "rate", RATES, BEGIN.rate, {one: f"{one:g}" for one in RATES})
        seed = controls.slider("Seed of weights and order", "grow_seed", 0, 20, BEGIN.seed)
    return GrowDictionaryConfig(
        dictionary=dictionary, n_features=n_features, top_k=top_k, steps=steps, rate=rate, seed=seed
    )


def show(found: list[Grown], config: GrowDictionaryConfig) -> None:
    """Both figures so far, and at the end the features."""
    moments = [one.moment for one in found]
    shown = experiments.quality(moments, config.steps, HEIGHT)
    figure(
        shown.figure,
        key="quality",
        height=HEIGHT,
        min_width=340,
        table=lambda: quality_table(moments),
        alt=shown.alt,
        caption=shown.caption,
    )
    shown = experiments.cosines(moments, BELOW)
    figure(
        shown.figure,
        key="cosines",
        height=BELOW,
        min_width=340,
        table=lambda: pd.DataFrame({"cosine": moments[-1].cosine, "closest": moments[-1].closest}),
        alt=shown.alt,
        caption=shown.caption,
    )
    if found[-1].features is not None:
        st.markdown(
            f"**The features it found**, most like a shipped one first; named by the {growth.NAMED} tokens that each "
            "is active on most often. A click on a column's name sorts by it."
        )
        st.dataframe(feature_table(found[-1], config.dictionary), hide_index=True, height=ROWS)


def quality_table(moments: list[DictionaryMoment]) -> pd.DataFrame:
    """Every moment."""
    return pd.DataFrame(
        [
            (m.step, m.quality.loss_recovered, m.quality.explained_variance, m.quality.l0, m.quality.dead)
            for m in moments
        ],
        columns=["step", "loss recovered", "explained variance", "features a token", "never fire"],
    )


def feature_table(last: Grown, dictionary: int) -> pd.DataFrame:
    """Each feature that fires, its tokens, and the shipped one that writes most nearly the same."""
    features, moment, shipped = last.features, last.moment, words(dictionary)
    if features is None:
        raise ValueError("features are named at the end of a training")
    tokenizer = cache.model(MODEL)[1]
    order = [int(i) for i in np.argsort(-moment.cosine, kind="stable") if features.fires[i]]

    def named(feature: int) -> str:
        ids = [int(id_) for id_ in features.tokens[feature] if id_ >= 0]
        return " ".join(visible(token) for token in tokenizer.tokens(ids))

    return pd.DataFrame(
        {
            "feature": order,
            "its tokens": [named(i) for i in order],
            "fires at": features.fires[order],
            "share on the first": [f"{features.share[i]:.0%}" for i in order],
            "closest shipped": [f"{moment.closest[i]} {shipped[moment.closest[i]]}" for i in order],
            "cosine": moment.cosine[order].round(2),
        }
    )
