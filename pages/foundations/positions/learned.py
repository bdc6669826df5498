"""The panel of learned position vectors: trained on the spot, and those of a model that was trained on stories."""

import pandas as pd
import streamlit as st

from pages.foundations.positions import experiments
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.program import made
from tfcore.analysis.foundations import learned_positions
from tfcore.config import ModelConfig
from tfcore.figures.foundations.learned_positions import waves_figure

MODEL = "stories-learned"
FEWEST = 8  # positions of a table that is shown
MOST = 128
TASKS: dict[learned_positions.Task, str] = {"nearby": "any of 4", "previous": "the last"}

FORMULA = r"x_p = E[\mathrm{token}_p] + P[p], \qquad P \in \mathbb{R}^{n_{max} \times d} \text{ trained}"
PAPERS = "Learned positions: arXiv:1705.03122, section 3.1; used by BERT (arXiv:1810.04805) and GPT-2."
learn = cache.data(max_entries=4)(learned_positions.learn_positions)


table_of = cache.of_model(max_entries=8)(learned_positions.position_table)


def no_table(config: ModelConfig, _: object) -> str | None:
    """Why a model is of no use here."""
    if config.positions == "learned":
        return None if config.max_seq_len >= FEWEST else f"its table has fewer than {FEWEST} positions."
    return f"its positions are {config.positions}, so there is no table of vectors to look at."


def learned() -> None:
    """The panel of learned position vectors."""
    names = {"here": "Trained here and now", "model": "Of a model"}
    source = controls.segmented("Which table?", "table", list(names), "here", names, named=False)
    {"here": _here, "model": _of_a_model}[source]()


def _here() -> None:
    """A table that is caught while it is learned."""
    page.try_this(
        {
            "before training": {"step": 0},
            "half-way": {"step": 60},
            "trained": {"step": learned_positions.STEPS},
            "only the previous token": {"task": "previous", "step": learned_positions.STEPS},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        task = controls.segmented("Repeat which token before?", "task", list(TASKS), "nearby", TASKS)
        step = controls.slider(
            "Training steps", "step", 0, learned_positions.STEPS, learned_positions.STEPS, learned_positions.EVERY
        )
        with st.spinner(f"Training a one-layer model for {learned_positions.STEPS} steps, a few seconds, once"):
            run = learn(task)
        shown, found = experiments.learned(run, step), learned_positions.learning(run, step // learned_positions.EVERY)
        st.metric("Loss on new texts (nats)", found.loss_text)
        st.caption(found.bounds)
    with right:
        figure(
            shown.figure,
            key="learned",
            height=360,
            min_width=720,
            table=lambda: pd.DataFrame(run.tables[step // learned_positions.EVERY]),
            alt=f"Position vectors, their cosines and attention. {shown.alt}",
            caption=shown.caption,
        )
    page.what_to_see(
        "The table of position embeddings starts as noise and is trained like any other weight. "
        "To repeat one of the last four tokens, neighbouring positions may be confused; to repeat exactly the previous "
        "token, they must not be. Compare the cosines of neighbours under both tasks: the caption has the number. Both "
        "are runs of a Transformer of one "
        f"layer, one head and width 32, {learned_positions.STEPS} steps of {learned_positions.ROWS} sequences of "
        f"{learned_positions.SEQ} random tokens out of {learned_positions.VOCAB}, trained on this server. The table of "
        "a model trained on stories is under “Of a model”."
    )
    page.question(
        "What does a learned table say about position 32, one beyond the longest text it was trained on?",
        "Nothing: there is no row 32. Sinusoidal vectors, RoPE and ALiBi can at least be computed for any position "
        "(whether the model then does something sensible is another matter).",
    )
    page.how_it_is_computed(
        page.experiment(experiments.learned, made(learned_positions.learn_positions, task), step),
        formula=FORMULA,
        code=(learned_positions.learn_positions, learned_positions.draw_batch),
        papers=PAPERS,
    )


def _of_a_model() -> None:
    """The table of a trained model: the one that ships, or a visitor's own."""
    page.try_this(
        {
            "a previous-token head": {"of": MODEL, "reader": 0},
            "a head of another kind": {"of": MODEL, "reader": 2},
            "the first sixteen": {"of": MODEL, "positions": 16},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        model_name = models.choose("decoder", "encoder", key="of", default=MODEL, why_not=no_table)
        config = models.config(model_name)
        longest = min(MOST, config.max_seq_len)
        n = controls.slider("Positions shown", "positions", FEWEST // 2, longest, min(64, longest))
        head = controls.place("Head of the first layer", "reader", config.n_heads)
    result = table_of(model_name, n)
    shown, found = experiments.position_vectors(result, head), learned_positions.table_attention(result, head)
    components = str(learned_positions.component_share(result))
    with left:
        st.metric("Weight on the previous token", found.previous_text, help="mean over sequences of random tokens")
        st.caption(found.others)
    with right:
        figure(
            shown.figure,
            key="position_table",
            height=360,
            min_width=720,
            table=lambda: pd.DataFrame(result.table),
            alt=f"{model_name}. {shown.alt}",
            caption=f"{model_name}. {shown.caption}",
        )
        figure(
            waves_figure(result),
            key="waves",
            height=280,
            table=lambda: pd.DataFrame(result.waves),
            alt=components,
            caption=components,
        )
    page.what_to_see(
        "Nothing in the data says that 3 is next to 4. Where neighbouring positions have become alike in training, a "
        "band runs along the diagonal of the cosines; an untrained table has cosines around 0. The attention is "
        "averaged over random tokens, so only the positions are left in it. "
        f"{learned_positions.previous_weights(result)} A head with a large one is a previous-token head, which "
        "induction heads in the layers above can use."
    )
    page.question(
        "stories-learned has a context of 64 tokens. A model trained on sequences of 256 had, after 1,900 steps, "
        "nearly the table it began with. Why?",
        "Each row of the table is learned by itself, from the sequences that reach that far. With four times as many "
        "positions, and fewer sequences per step, each was seen a third as often; sinusoids and RoPE have nothing to "
        "learn there. Both runs are on the model's card.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.position_vectors, made(learned_positions.position_table, model_name, n), head),
        formula=FORMULA,
        code=(learned_positions.position_table,),
        papers=PAPERS,
    )
