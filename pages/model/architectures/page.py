"""Encoder, decoder and encoder-decoder side by side, and each at the work it was made for."""

import streamlit as st

from pages.model.architectures.facts import FACTS
from pages.model.architectures.tasks import SHOW
from pages.ui import controls, fragments, page
from pages.ui.frame import Panel, panel, show
from tfcore.config import Architecture
from tfcore.views.model import architectures as views

WIDTHS = [4, 4, 5]
# kind: (what it is trained to do, what it is good for, blocks in the drawing)
KINDS: dict[Architecture, tuple[str, str, int]] = {
    "encoder": (
        "Masked language modelling: predict the masked tokens from both sides.",
        "For search, classification, tagging. It is not trained to generate text.",
        12,
    ),
    "decoder": (
        "Causal language modelling: predict every token from those before it.",
        "For generation, and what can be put as generation: chat, code, answers.",
        12,
    ),
    "encoder-decoder": (
        "Sequence to sequence: encode one text, generate another token by token.",
        "For translation, speech recognition, summaries.",
        6,
    ),
}


@fragments.fragment
def three_kinds(p: Panel) -> None:
    """The drawings and the masks."""
    for place, (kind, (_, _, layers)) in zip(st.columns(WIDTHS, gap="medium"), KINDS.items(), strict=True):
        with place:
            st.subheader(views.TITLES[kind], anchor=False)
            show(views.stack(kind, layers))
    for place, (trained, good, _) in zip(st.columns(WIDTHS, gap="medium"), KINDS.values(), strict=True):
        place.markdown(f"*{trained}* {good}")
    with st.container(horizontal=True):
        read = controls.slider("Source tokens", "read", 1, len(views.READ), len(views.READ))
        written = controls.slider("Target tokens so far", "written", 1, len(views.WRITTEN), 4)
    for place, kind in zip(st.columns(WIDTHS, gap="medium"), KINDS, strict=True):
        with place:
            p.show(views.mask(kind, read, written))


page.begin(FACTS)
with panel(None) as p:
    p.examples(
        {
            "adjective after noun": {"job": "translate", "sentence": "She gave me a red book yesterday.", "step": 6},
            "the pronoun comes first": {"job": "translate", "sentence": "I know him very well.", "step": 1},
            "first target token": {"read": 6, "written": 1},
            "continue a story": {"job": "stories", "new": 24},
        }
    )
    with p.picture:
        three_kinds(p)
    p.what_to_see(
        "The encoder's mask is a full square (bidirectional): each token attends to the whole text. The decoder's is a "
        "triangle (causal): no token attends to later ones, so each can be predicted. The encoder-decoder has a full "
        "square for the source, a triangle for the target, and cross-attention, lower left: every target token attends "
        "to the whole source."
    )
    p.question(
        "A decoder can translate as well: it reads the sentence, then generates. What does it lack that the "
        "encoder-decoder has?",
        "Bidirectional attention over the source. In the decoder each source token attends only to itself and those "
        "before it, so the state of the first token has nothing of the last; the encoder's states depend on the whole "
        "sentence. A prefix-LM allows the square in a single stack: see the page on masks.",
    )

st.header("Each at its own task", anchor=False)
SHOW[controls.sections(FACTS.sections)]()

st.header("Which real models are which?", anchor=False)
st.dataframe(
    views.real_models(),
    hide_index=True,
    width="stretch",
    placeholder="–",
    column_config={
        "year": st.column_config.NumberColumn(format="%d"),
        "parameters": st.column_config.NumberColumn(format="compact", help="Counted from the config, where we have it"),
        "paper": st.column_config.LinkColumn(display_text=r"abs/(.*)"),
    },
)
