"""The page on residual connections: any set of sublayers of a trained model left out."""

from typing import Any

import streamlit as st

from pages.ui import controls, fragments, notices, text
from pages.ui.components.figure import Event, place_of
from pages.ui.frame import panel
from pages.ui.loading import models
from pages.ui.reading import last_tokens
from tfcore.views.block import residuals as views
from tfcore.views.block.residuals import TOKENS, say
from tfcore.views.sources import Reading

MODEL = "stories"
CHARACTERS = 2_000
TEXT = (
    "Once upon a time, there was a little girl named Lily. She had a red ball. "
    "One day the ball rolled away and Lily ran after it."
)
N_LAYERS = 4
KEYS = [f"{part}{i}" for i in range(N_LAYERS) for part in ("attention", "mlp")]  # in the order of the sublayers
SKIPPED = {"attention2", "mlp2"}  # in the default view


def click(event: Event) -> None:
    """A click on a dot leaves out the sublayers that it leaves out."""
    if (row := place_of(event, 2 ** len(KEYS))) is not None:
        controls.set_values(**{key: bool(row >> s & 1) for s, key in enumerate(KEYS)})


def keep(*skipped: str) -> dict[str, Any]:
    """The switches with these sublayers off."""
    return {key: key not in skipped for key in KEYS}


def read_text() -> str:
    """The box for the text; stops the page when it has too few tokens."""
    pasted = controls.text_area("Text", "text", TEXT, CHARACTERS, height=110, end="last")
    ids, _, total = last_tokens(MODEL, pasted, TOKENS)
    notices.tokens(total, len(ids))
    if len(ids) < 2:
        st.info("There are fewer than two tokens: type or paste a text, or press Ctrl+Z in the box.")
        fragments.stop()
    return pasted


def skip_blocks() -> None:
    """A loss for each set of sublayers that is left out."""
    with panel((2, 3)) as p:
        p.examples(
            {
                "the whole model": keep(),
                "without block 2": keep("attention2", "mlp2"),
                "without the first attention": keep("attention0"),
                "only attention": keep(*KEYS[1::2]),
                "only feed-forward": keep(*KEYS[::2]),
                "no sublayer at all": keep(*KEYS),
            }
        )
        with p.controls:
            reading = Reading(MODEL, read_text())
            models.only(
                MODEL, "its eight sublayers make 2⁸ = 256 subsets; larger models have too many to run them all."
            )
            st.caption("Sublayers of the model that are kept:")
            kept: dict[str, bool] = {}
            for part, label in (("attention", "attention"), ("mlp", "feed-forward")):
                with st.container(horizontal=True, gap="small"):
                    for i in range(N_LAYERS):
                        key = f"{part}{i}"
                        kept[key] = controls.toggle(f"{label} {i}", key, key not in SKIPPED)
        without = tuple(s for s, key in enumerate(KEYS) if not kept[key])
        shown = views.skipped(reading, without)
        chosen, single = say.chosen_subset(shown.result, without), say.single_ablations(shown.result)
        with p.picture:
            p.show(shown, click, "Click a dot.")
            one, two = st.columns(2)
            one.metric("Loss, whole model", chosen.whole_loss, help="nats per token")
            two.metric("Loss, your set", chosen.chosen_loss, chosen.increase, delta_color="inverse")
        for title, left_out in (("Continuation of the whole model", ()), (f"Continuation {chosen.words}", without)):
            st.markdown(f"**{title}:** {text.escape(views.continued(reading, left_out))}")
        p.what_to_see(
            f"{single} On a story, such as the model was trained on, the mean loss grows with the number left out; the "
            "caption has the means of this text. In the paper's view a residual network is an ensemble of 2ᴺ paths "
            "through its N sublayers; each sublayer that is left out takes half of them away."
        )
        p.question(
            "Which sublayer can the model spare least, and why might it be that one?",
            f"On this text {single.values['most']} (the highest dot of the column at 1). Whatever comes after it, the "
            "unembedding included, was trained on a stream to which it has added. With all eight left out, the stream "
            "is the embedding alone, and the unembedding, the same table, gives a high logit to the token itself.",
        )
