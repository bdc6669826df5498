"""Section of the page on the residual stream: the logit lens, and the other lenses that the model has."""

from typing import Any

import streamlit as st

from pages.inside import metric
from pages.inside import reading as _reading
from pages.inside.reading import ReadText
from pages.inside.stream.choices import TOKENS, ExplainedPrediction, beside_place, choose
from pages.ui import controls
from pages.ui.components.figure import Event
from pages.ui.frame import panel
from tfcore.inspection.capture import layer_of
from tfcore.loading.lenses import with_lens
from tfcore.measures.lenses import stages
from tfcore.views.inside import stream as views
from tfcore.views.inside.stream.lens import ROWS
from tfcore.views.inside.stream.measure.lens import LENSES, By, lens_of, lenses_of, reader_of, spread_out
from tfcore.views.inside.stream.say.lens import correct_on_the_way, embedding_predicts_input
from tfcore.views.sources import Reading, opened

BESIDE = 4  # tokens drawn beside the chosen one
WIDTH = 9  # columns up to which every half block has one
COLUMNS = 11  # at most, of a model with more stages


def choose_lens(model: str) -> By:
    """The lens that reads the stream; a choice where the model has several."""
    offered = lenses_of(model)
    return (
        controls.segmented("Lens", "by_lens", list(offered), "logit", LENSES, named=False) if offered[1:] else "logit"
    )


def choose_row(event: Event) -> None:
    if isinstance(event["y"], int | float) and 0 <= event["y"] < TOKENS:
        controls.set_values(position=int(event["y"]))


def logit_lens(reading: ReadText, by: By, more: Any, other: Reading | None) -> None:
    """Show the section; `other` stands beside it."""
    with panel(None) as p:
        picture = st.container()
        choice = choose(reading, more)
        with more:
            chosen, first = choose_stages(reading.model, by), choose_rows(len(reading.ids))
        with picture:
            grid = views.lens(reading.whole, chosen, by, choice.position, first)
            p.show(grid, choose_row, "Click a row to look closer.")
        st.subheader(f"{_reading.shown(choice.piece)} stage by stage, at position {choice.position}", anchor=False)
        p.show(views.stage_by_stage(reading.whole, choice.position, followed(choice), by))
        if other is not None and (there := beside_place(choice, other)) is not None:
            p.show(views.lens_beside(reading.whole, other, (choice.position, choice.token), there))
        if lenses_of(reading.model)[1:]:
            st.subheader("The lenses against the model's own predictions", anchor=False)
            p.show(views.lenses(reading.whole, chosen, choice.position, first))
        metric.elsewhere("the logit lens", reading, choice.quantity, choice.position)
        # Nothing of a text that ends with its first token.
        on_its_way = str(correct_on_the_way(grid.result)) if len(reading.ids) > 1 else ""
        p.what_to_see(f"Read a row from left to right. {about_lens(reading, by)} {on_its_way}")
        p.question(
            "By the logit lens, from which stage on does stories predict “ball” after the last “red”, and what makes "
            "it certain?",
            "Look at the last row of the example. After feed-forward 0 “red” itself still leads; from attention 1 on "
            "“ball” leads, with other things that may be red behind it; attention 3 raises it to 99.9 %: layer 3 has "
            "the induction heads, which attend to what followed “red” the first time.",
        )


def followed(choice: ExplainedPrediction) -> tuple[int, ...]:
    """The tokens that are followed through the stages: the chosen one or two, and the model's top predictions."""
    reading = choice.reading
    ids, _, _ = _reading.guesses(reading.model, reading.pasted, TOKENS, choice.position, reading.bos)
    chosen = [choice.token, *([] if choice.other is None else [choice.other])]
    return tuple([*chosen, *(token for token in ids if token not in chosen)][: BESIDE + 1])


ABOUT: dict[By, str] = {
    "tuned": "The **tuned lens** first sends each state through an affine map of its stage, trained to make the "
    "predictions those of the whole model. The first column is therefore what tends to follow one token, no longer "
    "that token itself.",
    "jacobian": "The **Jacobian lens** first multiplies each state by the mean derivative of this and all later final "
    "states with respect to it: it reads what a state makes the model say, here or later.",
    "patchscope": "A **Patchscope** lets the model itself read a state: it takes the place of the last token's, after "
    "the same block, in the prompt “cat -> cat, 1135 -> 1135, hello -> hello, ?”, and the blocks above do the rest.",
}


def about_lens(reading: ReadText, by: By) -> str:
    """Explain the first column of the logit lens, or what another lens does first."""
    if by != "logit":
        return ABOUT[by]
    config = opened(reading.model)[0].config
    if config.classes is not None:
        return "The first column reads the embedding alone: the class that is read in the vector of each token."
    read, _ = lens_of(reading.whole, stages(config)[:1], "logit")
    said = str(embedding_predicts_input(read, reading.ids, config.tie_embeddings))
    if "tuned" in lenses_of(reading.model):
        return said
    names = with_lens("tuned")
    return (
        f"{said} A tuned lens has to be trained for each model: {', '.join(names[:-1])} and {names[-1]} have one here."
    )


def choose_stages(model: str, by: By) -> tuple[str, ...]:
    """The stages that have a column: all of a small model, some of those of chosen layers of a large one."""
    config, names = opened(model)[0].config, reader_of(model, by).stages
    if len(names) <= WIDTH:
        return names
    last = config.n_layers - 1
    begin = controls.slider("From layer", "from_layer", 0, last, 0)
    end = controls.slider("to layer", "to_layer", 0, last, last)
    by_block = controls.toggle("One column a block, not two", "blocks", True)
    blocks = range(min(begin, end), max(begin, end) + 1)
    within = [name for name in names if not name.endswith("resid_pre") and layer_of(name) in blocks]
    if by_block:
        within = [name for name in within if not name.endswith("resid_mid")]
    embedded = [name for name in names if name.endswith("resid_pre")]
    return spread_out([*embedded, *within] if 0 in blocks else within or names[-1:], COLUMNS)


def choose_rows(n: int) -> int:
    """The first position that has a row, of a text of n tokens."""
    return controls.slider("First position shown", "from", 0, n - ROWS, n - ROWS) if n > ROWS else 0
