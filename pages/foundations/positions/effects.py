"""Panel of the page on positions: every scheme in turn on one head of a trained model."""

import pandas as pd
import streamlit as st

from pages.foundations.positions import experiments
from pages.ui import cache, controls, notices, page
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.program import made
from pages.ui.reading import first_tokens, say_nothing_read, text_box
from tfcore import positions
from tfcore.analysis.foundations.position_effects import position_effects
from tfcore.config import ModelConfig
from tfcore.figures.foundations.position_scores import added_figure

MODEL = "stories"
TOKENS = 40  # of the text that are used
CHARACTERS = 2_000
TEXT = (
    "Once upon a time there was a little dog named Max. Max had a red ball. One day the little dog lost the red ball."
)
NAMES: dict[str, str] = {
    "none": "none",
    "sinusoidal": "sinusoidal",
    "learned": "learned",
    "rope": "RoPE",
    "alibi": "ALiBi",
}


effects_on = cache.of_model(max_entries=48)(experiments.effects_on)


def no_use(config: ModelConfig, _: object) -> str | None:
    """Why a model is of no use here."""
    if config.positions in ("rope", "learned"):
        return None
    return f"its positions are {config.positions}, and the experiment needs a model with RoPE or learned ones."


def effects() -> None:
    """The panel that compares them all."""
    st.markdown(
        "**One head, one text, every scheme in turn**: queries and keys of a trained model before they know any "
        "position, then with each scheme's own positions. Learned position embeddings belong to the model that learned "
        "them: choose one that did, and they are the fifth."
    )
    page.try_this(
        {
            "a local head": {"model": MODEL, "of_head": 1},
            "a head that reaches farther": {"model": MODEL, "of_head": 4},
            "hardly changed by RoPE": {"model": MODEL, "of_head": 5},
            "with learned positions": {"model": "stories-learned", "of_head": 0},
            "one word repeated": {"said": "no no no no no no no no no no no no"},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        row = controls.text_row()
        model_name = models.choose("decoder", default=MODEL, why_not=no_use)
        pasted = text_box(model_name, "Text", "said", TEXT, CHARACTERS, height=120, row=row)
        head = controls.place("Head of the first layer", "of_head", models.config(model_name).n_heads)
    if not pasted:
        st.info("There is no text yet: type or paste some.")
        return
    read, found = first_tokens(model_name, pasted, TOKENS), effects_on(model_name, pasted, TOKENS, head)
    notices.tokens(read.total, len(read.ids))
    if not found:
        said = "The tokenizer of this model makes no token of this text: type something else."
        say_nothing_read(model_name, pasted, "said", said)
        return
    n, trained = len(found["none"].weights), NAMES[models.config(model_name).positions]
    table = pd.DataFrame(
        {
            "scheme": [NAMES[name] for name in found],
            "weight on the previous token": [effect.previous for effect in found.values()],
            "mean distance (tokens)": [effect.distance for effect in found.values()],
            "largest change of a score": [effect.largest for effect in found.values()],
        }
    )
    shown = experiments.together(found, NAMES, head)
    with right:
        figure(
            added_figure(found, NAMES, height=250),
            key="added",
            height=250,
            min_width=620,
            table=lambda: table,
            alt="What each scheme adds to the scores of one head; nothing at all without positions.",
            caption=f"What each scheme changes the scores by, (query, key) = ({n}, {n}); full colour is ±8.",
        )
        figure(
            shown.figure,
            key="weights",
            height=250,
            min_width=620,
            table=lambda: table,
            alt=shown.alt,
            caption=shown.caption,
        )
        st.dataframe(table, hide_index=True)
    page.what_to_see(
        "ALiBi adds the same biases to every text. RoPE's change depends on the content of both tokens and on the "
        "distance. Sinusoidal vectors go through W_Q and W_K like any other input, so their change depends on both "
        f"positions and on the content. This model was trained with {trained} positions, so only that picture is what "
        "the head computes; the others show what each scheme would do to the same head."
    )
    page.question(
        "Take a text of one word repeated. With which schemes do the weights of a row still differ?",
        "With all of them: only without positions is every row of weights uniform. With ALiBi and RoPE the weights "
        "depend on the distance, with position embeddings on both positions: try it with the last button.",
    )
    page.how_it_is_computed(
        page.experiment(
            experiments.together, made(experiments.effects_on, model_name, pasted, TOKENS, head), NAMES, head
        ),
        formula=(
            r"\underbrace{W_Q(x_i + p_i)\cdot W_K(x_j + p_j)}_{\text{sinusoidal, learned}} \qquad "
            r"\underbrace{R_i q_i \cdot R_j k_j}_{\text{RoPE}} \qquad "
            r"\underbrace{q_i\cdot k_j - m\,(i-j)}_{\text{ALiBi}}"
        ),
        code=(position_effects, positions.rotate, positions.alibi_bias),
        papers="Sinusoidal: arXiv:1706.03762, 3.5. RoPE: arXiv:2104.09864. ALiBi: arXiv:2108.12409",
    )
