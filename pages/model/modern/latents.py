"""The page on modern blocks: latent attention (MLA) on a text, what is cached and what is rebuilt."""

import streamlit as st

from pages.ui import controls, links
from pages.ui.frame import panel
from pages.ui.loading import models
from pages.ui.text import escape
from tfcore.config import ModelConfig
from tfcore.views.model import latents as views
from tfcore.views.model.latents.measure import SHARES

SHARE = 25  # per cent: stories loses nothing by it, and smollm2 a nat per token
ROTATION = (
    "A model that is trained with latents has a second vector beside them: a short key that is rotated and that all "
    "heads share, because a rotation between two matrices would keep them from being multiplied into one."
)


def latents(model: str, text: str) -> None:
    """Show the latents of a text: a model's own, or those that are fitted to one that was trained without.

    Args:
        text: of at least two tokens.
    """
    st.subheader("Latent attention (MLA) on your text: what is cached, what is rebuilt", anchor=False)
    config = models.config(model)
    trained = views.has_latents(config)
    why = views.why_no_latents(config) or (None if trained else views.why_none_fitted(model))
    if why is not None:
        st.info(f"{escape(model)}: {why} Choose stories above.")
    elif trained:
        own(model, text, config)
    else:
        fitted(model, text, config)


def own(model: str, text: str, config: ModelConfig) -> None:
    """Show the latents that a model was trained with."""
    with panel() as p:
        with p.controls:
            layer = controls.place("Layer", "cached", config.n_layers, config.n_layers // 2)
            links.to("inference/kv_cache/page.py", {"part": "large"}, "The whole cache", ":material/arrow_outward:")
        with p.picture:
            p.show(views.cached(model, text, layer, SHARE))
        p.what_to_see(
            f"{ROTATION} The keys and values on the right are made again whenever they are read, or never: between a "
            "query and a latent the matrices of both can be multiplied into one beforehand."
        )


def fitted(model: str, text: str, config: ModelConfig) -> None:
    """Show latents that are fitted to a model, and what they cost."""
    with panel() as p:
        p.examples({"a tenth of the cache": {"latent": 10}, "half of it": {"latent": 50}, "all of it": {"latent": 100}})
        with p.controls:
            share = controls.stops("Latent, % of keys and values", "latent", SHARES, SHARE)
            layer = controls.place("Layer", "cached", config.n_layers, config.n_layers // 2)
            head = controls.place("Head", "reads", config.attention.n_heads, 0)
            links.to(
                "inference/kv_cache/page.py",
                {"part": "large", "of": "deepseek_v2"},
                "DeepSeek-V2's cache",
                ":material/arrow_outward:",
            )
        with p.picture:
            with st.spinner("Fitting latents to a few paragraphs, once for each model"):
                p.show(views.cached(model, text, layer, share))
            p.show(views.losses(model, text, share))
        left, right = st.columns(2, gap="medium")
        with left:
            p.show(views.map_before(model, text, layer, head))
        with right:
            p.show(views.map_after(model, text, layer, head, share))
        p.what_to_see(
            "A key and a value for each KV head are kept of a token (above), or one short vector (below), from which a "
            f"matrix makes all of them again. {ROTATION} This model has none; its keys are rebuilt first and rotated "
            "then."
        )
        p.question(
            "Latents fitted to a trained model have to be long before the loss is that of the model. Why can those of "
            "a model trained with them be much shorter (DeepSeek-V2: 512 numbers for 32,768)?",
            "Training with a latent makes a model put there what it needs. Fitted afterwards, it keeps the directions "
            "in which keys and values are longest on other texts, and what a head reads may lie in a short one: the "
            "squared error is small long before the loss is.",
        )
