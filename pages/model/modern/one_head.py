"""The page on modern blocks: soft caps, learned sinks and QK-norm, switched on in one head of a trained model."""

import streamlit as st

from pages.ui import controls, notices, page
from pages.ui.frame import panel
from pages.ui.loading import models
from pages.ui.reading import first_tokens, say_nothing_read, text_box
from tfcore.views.model import modern as views
from tfcore.views.model.modern.measure import Switch

CHARACTERS = 2_000
TEXT = (
    "Once upon a time there was a little dog named Max. Max had a red ball. One day the little dog lost the red ball."
)
NAMES: dict[Switch, str] = {"cap": "soft cap", "sink": "learned sink", "norm": "QK-norm"}
ABOUT: dict[Switch, str] = {
    "cap": "**Soft cap** (Gemma 2): scores are bent so that none goes beyond the cap, small ones hardly.",
    "sink": "**Learned sink** (gpt-oss): a score besides those of the keys takes part in each softmax and belongs to "
    "no token. A head that has nothing to attend to need not look at the first token for that.",
    "norm": "**QK-norm** (ViT-22B, Gemma 3, Qwen3): queries and keys are divided by their root mean square, so a score "
    "is a cosine times a constant.",
}


def one_head() -> None:
    """Show one head before and after a switch that its model was trained without."""
    st.subheader("Three more, on one head of a trained model", anchor=False)
    with panel() as p:
        p.examples(
            {
                "sharp scores, capped": {"switch": "cap", "cap": 5, "layer": 0, "head": 3},
                "a cap that nothing reaches": {"switch": "cap", "cap": 50, "layer": 0, "head": 3},
                "a head that rests": {"switch": "sink", "sink": 3.0, "layer": 1, "head": 1},
                "normalised": {"switch": "norm", "layer": 1, "head": 3},
            }
        )
        with p.controls:
            row = controls.text_row()
            model = models.choose("decoder", "encoder", reads="a head")
            text = text_box(model, "Text", "text", TEXT, CHARACTERS, height=110, row=row, end="first")
            switch = controls.segmented("Switch", "switch", list(NAMES), "cap", NAMES)
            amount = 0.0
            if switch == "cap":
                amount = float(controls.slider("Soft cap", "cap", 1, 50, 5))
            elif switch == "sink":
                amount = controls.slider("Score of the sink", "sink", -10.0, 20.0, 3.0, 0.5)
            config = models.config(model)
            with page.more_settings():
                layer = controls.layer_among(config.attention_layers, 0)
                head = controls.place("Head", "head", config.attention.n_heads, 3)
        read = first_tokens(model, text, views.TOKENS)
        notices.tokens(read.total, len(read.ids), which="first")
        if not read.ids:
            say_nothing_read(model, text, "text", "There is no text yet: type or paste some.")
            return
        with p.picture:
            st.markdown(ABOUT[switch])
            given = model, text, layer, head, switch, amount
            left, right = st.columns(2, gap="medium")
            with left:
                p.show(views.head_before(*given))
            with right:
                p.show(views.head_after(*given))
        p.what_to_see(
            "Both maps are computed from the same queries and keys, those of the model on this text. It was trained "
            "without the switch, so the second map is what the switch does, not what a model trained with it would do: "
            "that one would learn other queries and keys. A cap and QK-norm bound the scores, which keeps training "
            "stable where they would grow; a sink leaves them as they are."
        )
        p.question(
            "With a learned sink the weights of a row sum to less than 1. What does the head write where the sink "
            "takes nearly all?",
            "Nearly nothing: it writes the values of the tokens by their weights, and the sink has no value. Without "
            "one a head can only write little by attending to a token whose value is small, which is what the first "
            "token becomes in many models.",
        )
