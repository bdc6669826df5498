"""Section of the page on the residual stream: the logit lens, and the tuned lens where there is one."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inside import metric
from pages.inside import reading as _reading
from pages.inside.reading import Reading
from pages.inside.stream import experiments
from pages.inside.stream.choice import TOKENS, Choice, choose
from pages.ui import cache, controls, page
from pages.ui.components.figure import Event, figure
from pages.ui.program import made
from tfcore.analysis.inside import logit_lens as analysis
from tfcore.analysis.inside.logit_lens import Cells, Lens, TokenPath
from tfcore.figures.inside import logit_lens as figures
from tfcore.inspection.capture import layer_of
from tfcore.inspection.tuned_lens import TunedLens
from tfcore.loading.tuned_lenses import load_tuned_lens, with_tuned_lens
from tfcore.measures import lenses

BESIDE = 4  # tokens drawn beside the chosen one
WIDTH = 9  # columns up to which every half block has one
COLUMNS = 11  # at most, of a model with more stages
ROWS = 32  # positions shown at a time
LENSES = {"logit": "logit lens", "tuned": "tuned lens"}

every_guess = cache.of_model(max_entries=12)(experiments.every_guess)
compared = cache.of_model(max_entries=12)(experiments.compared)


@cache.shared(max_entries=2)
def states(model: str, pasted: str, bos: bool | None, tuned: str | None) -> Any:
    """The stream after every stage and at every position: 18 MB of 128 tokens of smollm2."""
    ids = _reading.read(model, pasted, TOKENS, bos).ids
    return lenses.stage_states(cache.model(model)[0], ids, None if tuned is None else load_tuned_lens(tuned))


@cache.data(max_entries=256)
def followed(
    model: str, pasted: str, bos: bool | None, position: int, tokens: tuple[int, ...], tuned: str | None
) -> TokenPath:
    return analysis.tokens_at(cache.model(model)[0], states(model, pasted, bos, tuned), position, tokens)


@cache.data(max_entries=12)
def cells(model: str, pasted: str, bos: bool | None, stages: tuple[str, ...], tuned: str | None) -> Cells:
    """What is printed in each cell, and its hover text."""
    tokens = _reading.read(model, pasted, TOKENS, bos).tokens
    return analysis.lens_cells(*every_guess(model, pasted, TOKENS, stages, bos, tuned), tokens)


def choose_lens(model: str) -> str | None:
    """The name of the tuned lens that reads the stream; None: the logit lens. A choice where the model has both."""
    if model not in with_tuned_lens():
        return None
    return (
        model if controls.segmented("Lens", "by_lens", list(LENSES), "logit", LENSES, named=False) == "tuned" else None
    )


def choose_row(event: Event) -> None:
    if isinstance(event["y"], int | float) and 0 <= event["y"] < TOKENS:
        controls.set_values(position=int(event["y"]))


def logit_lens(reading: Reading, tuned: str | None, more: Any) -> None:
    """The section."""
    picture = st.container()
    choice = choose(reading, more)
    with more:
        stages, first = choose_stages(reading.model), choose_rows(len(reading.ids))
    with picture:
        grid(choice, stages, tuned, first)
    page.what_to_see(
        f"Read a row from left to right. {about_lens(reading, tuned)} {on_its_way(reading, stages, tuned)}"
    )
    programs = [on_the_way(choice, tuned)]
    if reading.model in with_tuned_lens():
        programs.append(both(choice))
    metric.elsewhere("the logit lens", reading, choice.quantity, choice.position)
    page.question(
        "By the logit lens, from which stage on does stories predict “ball” after the last “red”, and what makes it "
        "certain?",
        "Look at the last row of the example. After feed-forward 0 “red” itself still leads; from attention 1 on "
        "“ball” leads, with other things that may be red behind it; attention 3 raises it to 99.9 %: layer 3 has the "
        "induction heads, which attend to what followed “red” the first time.",
    )
    page.how_it_is_computed(
        *programs,
        formula=(
            r"\mathrm{LogitLens}(x_\ell) = \mathrm{Norm}_{final}(x_\ell)\, W_U, \qquad "
            r"\mathrm{TunedLens}(x_\ell) = \mathrm{LogitLens}(A_\ell\, x_\ell + b_\ell)"
        ),
        code=(lenses.lens_logits, analysis.logit_lens, TunedLens, lenses.tuned_lens_logits, lenses.divergence),
        papers=(
            "The logit lens, as in arXiv:2303.08112, section 2, which also shows where it misleads: a model need not "
            "write its intermediate predictions in the directions that its last norm and unembedding read. The tuned "
            "lens: section 3 of the same."
        ),
        terms=("logit lens", "tuned lens", "KL divergence"),
    )


def on_its_way(reading: Reading, stages: tuple[str, ...], tuned: str | None) -> str:
    """Where the framed token is the prediction in the end, and before; nothing of a text that ends with its first
    token."""
    found, _ = every_guess(reading.model, reading.pasted, TOKENS, stages, reading.bos, tuned)
    return str(analysis.correct_on_the_way(found)) if len(reading.ids) > 1 else ""


def about_lens(reading: Reading, tuned: str | None) -> str:
    """What the first column is by the logit lens, and why; what the tuned lens does first."""
    if tuned is not None:
        return (
            "The **tuned lens** first sends each state through an affine map of its stage, trained on stories to make "
            "the predictions those of the whole model. The first column is therefore what tends to follow one token, "
            "no longer that token itself."
        )
    config = cache.model(reading.model)[0].config
    found, _ = every_guess(reading.model, reading.pasted, TOKENS, lenses.stages(config)[:1], reading.bos)
    said = str(analysis.embedding_predicts_input(found, reading.ids, config.tie_embeddings))
    if reading.model in with_tuned_lens():
        return said
    return f"{said} A tuned lens has to be trained for each model: {' and '.join(with_tuned_lens())} have one here."


def choose_stages(model: str) -> tuple[str, ...]:
    """The stages that have a column: all of a small model, some of those of chosen layers of a large one."""
    config = cache.model(model)[0].config
    names = lenses.stages(config)
    if len(names) <= WIDTH:
        return names
    last = config.n_layers - 1
    begin = controls.slider("From layer", "from_layer", 0, last, 0)
    end = controls.slider("to layer", "to_layer", 0, last, last)
    by_block = controls.toggle("One column a block, not two", "blocks", True)
    blocks = range(min(begin, end), max(begin, end) + 1)
    within = [name for name in names[1:] if layer_of(name) in blocks]
    if by_block:
        within = [name for name in within if not name.endswith("resid_mid")]
    return analysis.spread_out([*names[:1], *within] if 0 in blocks else within, COLUMNS)


def choose_rows(n: int) -> int:
    """The first position that has a row, of a text of n tokens."""
    return controls.slider("First position shown", "from", 0, n - ROWS, n - ROWS) if n > ROWS else 0


def grid(choice: Choice, stages: tuple[str, ...], tuned: str | None, first: int) -> None:
    """The top predictions, printed."""
    reading = choice.reading
    found, pieces = every_guess(reading.model, reading.pasted, TOKENS, stages, reading.bos, tuned)
    printed = cells(reading.model, reading.pasted, reading.bos, stages, tuned)
    n = len(reading.ids)
    shown = experiments.grid(found, printed, reading.tokens, choice.position, first, ROWS)
    figure(
        shown.figure,
        key="lens",
        height=figures.grid_height(min(ROWS, n)),
        min_width=figures.CELL * len(stages) + 130,
        on_click=choose_row,
        cursor=True,
        table=lambda: _table(found, pieces, reading.tokens),
        alt=shown.alt,
        caption="Left the token read, in the cells the top prediction (stronger colour: more probable), right the "
        f"token that follows; framed where they agree. {shown.findings[1]} Click a row to look closer.",
    )


def _table(found: Lens, pieces: list[list[list[str]]], tokens: list[str]) -> pd.DataFrame:
    rows = [
        {
            "position": i,
            "token": token,
            "stage": stage,
            "prediction": pieces[s][i][0],
            "probability": found.probability[s, i, 0],
        }
        for i, token in enumerate(tokens)
        for s, stage in enumerate(found.stages)
    ]
    return pd.DataFrame(rows)


def on_the_way(choice: Choice, tuned: str | None) -> page.Experiment:
    """The chosen token and the model's top predictions, stage by stage, at the chosen position."""
    ids, pieces, _ = _reading.guesses(*choice.key[:2], TOKENS, choice.position, choice.reading.bos)
    tokens = [(choice.token, choice.piece)]
    if choice.other is not None:
        tokens.append((choice.other, _reading.piece(choice.reading.model, choice.other)))
    known = {token for token, _ in tokens}
    tokens += [(token, piece) for token, piece in zip(ids, pieces, strict=True) if token not in known]
    tokens = tokens[: BESIDE + 1]
    chosen = tuple(token for token, _ in tokens)
    path = followed(*choice.key, chosen, tuned)
    shown = experiments.lens(cache.model(choice.reading.model)[1], path, chosen)
    st.subheader(f"{_reading.shown(choice.piece)} stage by stage, at position {choice.position}", anchor=False)
    figure(
        shown.figure,
        key="climb",
        height=320,
        min_width=420,
        table=lambda: pd.DataFrame(path.probability, columns=[piece for _, piece in tokens]).assign(stage=path.stages),
        alt=shown.alt,
        caption=f"'{choice.label}' and the other top predictions at the end. {shown.caption}",
    )
    path_made = made(experiments.followed, *choice.key[:2], TOKENS, choice.position, chosen, choice.reading.bos, tuned)
    return page.experiment_of("One position", experiments.lens, choice.reading.model, path_made, chosen)


def both(choice: Choice) -> page.Experiment:
    """How far both lenses are from the model's own predictions, and from which stage on they agree with its last."""
    model, pasted, bos, position = choice.key
    found = compared(model, model, pasted, TOKENS, bos)
    shown = experiments.both_lenses(cache.model(model)[1], found, position)
    st.subheader("Logit lens and tuned lens against the model's own predictions", anchor=False)
    figure(
        shown.figure,
        key="both",
        height=280,
        min_width=420,
        table=lambda: pd.DataFrame(
            {"stage": found.stages, "logit lens": found.logit.mean(1), "tuned lens": found.tuned.mean(1)}
        ),
        alt=shown.alt,
        caption=shown.caption,
    )
    found_made = made(experiments.compared, model, model, pasted, TOKENS, bos)
    return page.experiment_of("Both lenses", experiments.both_lenses, model, found_made, position)
