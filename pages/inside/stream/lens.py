"""Section of the page on the residual stream: the logit lens."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.inside import reading as _reading
from pages.inside.reading import Reading
from pages.inside.stream import experiments as experiments
from pages.inside.stream.choice import TOKENS, Choice
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import Event, figure
from tfcore.analysis.inside import lens as measures
from tfcore.analysis.inside.lens import Climb, Lens
from tfcore.figures.inside import lens as figures

BESIDE = 4  # tokens drawn beside the chosen one
WIDTH = 9  # columns up to which every half block has one


@cache.data(max_entries=12)
def lens(model: str, pasted: str) -> tuple[Lens, list[list[list[str]]]]:
    """Guesses everywhere, and the same as pieces of text."""
    network, tokenizer = cache.model(model)
    found = measures.logit_lens(network, _reading.read(model, pasted, TOKENS).ids)
    return found, [[tokenizer.tokens(row) for row in stage] for stage in found.best.tolist()]


@cache.data(max_entries=256)
def climb(model: str, pasted: str, position: int, tokens: tuple[int, ...]) -> Climb:
    return measures.climb(cache.model(model)[0], _reading.read(model, pasted, TOKENS).ids, position, tokens)


def choose_row(event: Event) -> None:
    if isinstance(event["y"], int | float) and 0 <= event["y"] < TOKENS:
        controls.set_values(position=int(event["y"]))


def logit_lens(choice: Choice) -> None:
    """The section."""
    found, pieces = lens(choice.reading.model, choice.reading.pasted)
    grid(choice, found, pieces)
    page.what_to_see(
        f"Read a row from left to right. {own_token(choice.reading, found)} The correct next token, framed, is often "
        "the prediction some layers before the end, and sometimes lost again."
    )
    on_the_way(choice, found)
    st.latex(r"\mathrm{LogitLens}(x_\ell) = \mathrm{Norm}_{final}(x_\ell)\, W_U")
    page.source(measures.lens_logits, measures.logit_lens)
    st.caption(
        "The logit lens, as in arXiv:2303.08112, section 2, which also shows where it misleads: a model need not write "
        "its intermediate predictions in the directions that its last norm and unembedding read."
    )
    page.question(
        "At which stage does stories predict “ball” after the last “red”, and what makes it certain?",
        "Look at the last row of the example. After feed-forward 0 “red” itself still leads; from attention 1 on "
        "“ball” leads, with other things that may be red behind it; attention 3 raises it to 99.9 %: layer 3 has the "
        "induction heads, which attend to what followed “red” the first time.",
    )


def own_token(reading: Reading, found: Lens) -> str:
    """What the embedding alone predicts, and why."""
    share = measures.repeats(found, reading.ids)
    tied = cache.model(reading.model)[0].config.tie_embeddings
    why = (
        "The unembedding is tied to the embedding, so a token's own vector is read as that token"
        if tied
        else "The unembedding is a matrix of its own, not tied to the embedding"
    )
    return f"Read from the embedding alone, {share:.0%} of the positions predict the very token just read. {why}."


def grid(choice: Choice, found: Lens, pieces: list[list[list[str]]]) -> None:
    """The top predictions, printed."""
    reading = choice.reading
    n, stages = len(reading.ids), list(range(len(found.stages)))
    if len(stages) > WIDTH and controls.toggle("One column a block, not two", "blocks", True):
        stages = [s for s in stages if not found.stages[s].endswith("resid_mid")]
    names = [_reading.stage_names(found.stages)[s] for s in stages]
    words, hovers = cells(reading.model, reading.pasted, tuple(stages))
    right = np.zeros((n, len(stages)), dtype=bool)
    right[:-1] = (found.place[stages] == 0).T
    following = [*reading.labels[1:], ""]
    hits = right.sum(0).tolist()
    height = figures.grid_height(n)
    figure(
        figures.lens_grid(
            words, found.chance[stages, :, 0].T, right, hovers, reading.labels, following, names, choice.position
        ),
        key="lens",
        height=height,
        min_width=figures.CELL * len(stages) + 130,
        on_click=choose_row,
        cursor=True,
        table=lambda: _table(found, pieces, reading.tokens),
        alt=f"Logit lens: predictions at {n} positions after {len(stages)} stages. Correct of {n - 1}: {hits[0]} read "
        "from the "
        "embedding, " + ", ".join(f"{hit} after {name}" for hit, name in list(zip(hits, names, strict=True))[1:]) + ".",
        caption="Left the token read, in the cells the top prediction (stronger colour: more probable), right the "
        f"token that follows; framed where they agree. Correct of {n - 1}: {hits[0]} after the embedding, {hits[-1]} "
        "at the end. Click a row to look closer.",
    )


@cache.data(max_entries=12)
def cells(model: str, pasted: str, stages: tuple[int, ...]) -> tuple[list[list[str]], list[list[str]]]:
    """What is printed in each cell, and what the pointer says over it, (position, stage)."""
    found, pieces = lens(model, pasted)
    labels = _reading.read(model, pasted, TOKENS).labels
    words = [[text.label(pieces[s][i][0], 8) for s in stages] for i in range(len(labels))]
    return words, [[_sentence(found, pieces, labels, s, i) for s in stages] for i in range(len(labels))]


def _sentence(found: Lens, pieces: list[list[list[str]]], labels: list[str], s: int, i: int) -> str:
    """The top predictions, and the rank of the token that follows."""
    guesses = ", ".join(
        f"{text.label(one, 10)} {p:.0%}" for one, p in zip(pieces[s][i], found.chance[s, i].tolist(), strict=True)
    )
    if i + 1 == len(labels):
        return guesses
    return f"{guesses}<br>'{labels[i + 1]}' has rank {found.place[s, i] + 1}, {found.right[s, i]:.1%}"


def _table(found: Lens, pieces: list[list[list[str]]], tokens: list[str]) -> pd.DataFrame:
    rows = [
        {
            "position": i,
            "token": token,
            "stage": stage,
            "prediction": pieces[s][i][0],
            "probability": found.chance[s, i, 0],
        }
        for i, token in enumerate(tokens)
        for s, stage in enumerate(found.stages)
    ]
    return pd.DataFrame(rows)


def on_the_way(choice: Choice, found: Lens) -> None:
    """The chosen token and the model's top predictions, stage by stage, at the chosen position."""
    ids, pieces, _ = _reading.guesses(*choice.key[:2], TOKENS, choice.position)
    others = [(token, piece) for token, piece in zip(ids, pieces, strict=True) if token != choice.token]
    tokens = [(choice.token, choice.piece), *others[:BESIDE]]
    path = climb(*choice.key, tuple(token for token, _ in tokens))
    stages = _reading.stage_names(found.stages)
    leads = [stages[s] for s in range(len(stages)) if path.place[s, 0] == 0]
    lead = f"It is the top prediction after {', '.join(leads)}" if leads else "It is the top prediction at no stage"
    steps = ", ".join(f"{chance:.0%}" for chance in path.chance[:, 0])
    st.subheader(f"{_reading.shown(choice.piece)} stage by stage, at position {choice.position}", anchor=False)
    figure(
        figures.climb_figure(path, [text.label(piece, 12) for _, piece in tokens], stages, 320),
        key="climb",
        height=320,
        min_width=420,
        table=lambda: pd.DataFrame(path.chance, columns=[piece for _, piece in tokens]).assign(stage=found.stages),
        alt=f"Probability of '{choice.label}' stage by stage: {steps}.",
        caption=f"'{choice.label}' and the other top predictions at the end. {lead}. Stage by stage: {steps}.",
    )
    page.experiment(experiments.lens, *choice.key[:2], TOKENS, choice.position, [token for token, _ in tokens])
