"""The lenses: the stream after each part of a model, read as if it were the last, through a map, or by the model."""

import pandas as pd

from tfcore.inspection.affine_lens import AffineLens
from tfcore.measures.lenses import affine_reader, divergence, lens_logits, patchscope_reader, stage_names
from tfcore.measures.token_text import label, tick_labels
from tfcore.views.finding import state
from tfcore.views.inside.stream.draw.lens import CELL, divergence_figure, lens_grid, token_path_figure
from tfcore.views.inside.stream.measure.lens import (
    LENSES,
    By,
    Lens,
    cells_of,
    compared_of,
    lens_of,
    logit_lens,
    path_of,
)
from tfcore.views.inside.stream.measure.text import answers, read_of
from tfcore.views.inside.stream.say.lens import (
    correct_at_ends,
    correct_by_stage,
    leads_from,
    lens_divergences,
    probability_by_stage,
)
from tfcore.views.sources import Reading
from tfcore.views.view import View, view

ROWS = 32  # positions shown at a time


@view
def lens(reading: Reading, stages: tuple[str, ...], by: By, position: int, first: int = 0) -> View:
    """The top prediction after each stage, read by a lens, at some positions of a text.

    Args:
        stages: names of the stream's states, a column each.
        by: the lens that reads them: logit, patchscope; tuned, jacobian where the model's name has one.
        position: that is marked.
        first: position that is shown first.
    """
    read, pieces = lens_of(reading, stages, by)
    printed, tokens = cells_of(reading, stages, by), read_of(reading).tokens
    labels, shown = tick_labels(tokens, 10), slice(first, first + ROWS)
    return View(
        key="lens",
        title="The lens at every position",
        result=read,
        chart=lens_grid(
            printed.words[shown],
            read.probability[:, shown, 0].T,
            read.correct_cells()[:, shown].T,
            printed.hovers[shown],
            labels[shown],
            following_labels(reading, read, labels)[shown],
            stage_names(read.stages),
            position,
            first,
        ),
        min_width=CELL * len(stages) + 130,
        cursor=True,
        described=correct_by_stage(read),
        findings=(
            state(
                "lens",
                "Left the token read, in the cells the top prediction (stronger colour: more probable), right the "
                "{right}; framed where they agree. {ends}",
                right="token that follows" if read.classes is None else "class that the model names there in the end",
                ends=correct_at_ends(read),
            ),
        ),
        table=lambda: _table(read, pieces, tokens),
        formula=(
            r"\begin{gathered} \mathrm{LogitLens}(x_\ell) = \mathrm{Norm}_{final}(x_\ell)\, W_U, \qquad "
            r"\mathrm{TunedLens}(x_\ell) = \mathrm{LogitLens}(A_\ell\, x_\ell + b_\ell) \\ "
            r"\mathrm{JacobianLens}(x_\ell) = \mathrm{LogitLens}(J_\ell\, x_\ell), \quad J_\ell = "
            r"\mathbb{E}_{t} \sum_{t' \ge t} \frac{\partial x_{L,t'}}{\partial x_{\ell,t}} \end{gathered}"
        ),
        papers=(
            "The logit lens, as in arXiv:2303.08112, section 2, which also shows where it misleads: a model need not "
            "write its intermediate predictions in the directions that its last norm and unembedding read. The tuned "
            "lens: section 3 of the same. The Jacobian lens: arXiv:2607.15495, and its reference code. "
            "Patchscopes: arXiv:2401.06102, section 4.1, where the model itself reads a state that "
            "was put in the place of the last token of another prompt."
        ),
        terms=("logit lens", "tuned lens", "Jacobian lens", "Patchscope", "KL divergence"),
        code=(lens_logits, logit_lens, AffineLens, affine_reader, patchscope_reader, divergence),
    )


def following_labels(reading: Reading, read: Lens, labels: list[str]) -> list[str]:
    """What stands to the right of each row: the token that follows, or the class of the end."""
    return [*labels[1:], ""] if read.classes is None else tick_labels(answers(reading, read.classes.tolist()), 10)


def _table(read: Lens, pieces: list[list[list[str]]], tokens: list[str]) -> pd.DataFrame:
    rows = [
        {
            "position": i,
            "token": token,
            "stage": stage,
            "prediction": pieces[s][i][0],
            "probability": read.probability[s, i, 0],
        }
        for i, token in enumerate(tokens)
        for s, stage in enumerate(read.stages)
    ]
    return pd.DataFrame(rows)


@view
def stage_by_stage(reading: Reading, position: int, tokens: tuple[int, ...], by: By) -> View:
    """The probability of some tokens, read by a lens from the stream after every stage. See lens.

    Args:
        tokens: ids, the first of which is spoken of.
    """
    path, names = path_of(reading, position, tokens, by), answers(reading, tokens)
    path_finding = probability_by_stage(path, names[0])
    return View(
        key="climb",
        title="One position",
        result=path,
        chart=token_path_figure(path, tick_labels(names, 12), stage_names(path.stages), height=320),
        min_width=420,
        described=path_finding,
        findings=(
            state(
                "climb",
                "'{token}' and the other top predictions at the end. {course}",
                token=label(names[0], 12),
                course=path_finding,
            ),
        ),
        table=lambda: pd.DataFrame(path.probability, columns=names).assign(stage=path.stages),
    )


@view
def lenses(reading: Reading, stages: tuple[str, ...], position: int, first: int = 0) -> View:
    """How far each lens of a model is from the model's own predictions, at those of some stages that it reads. See
    lens.

    Args:
        first: of the positions that are averaged, as many as lens shows.
    """
    compared = compared_of(reading, stages, first, first + ROWS)
    if 0 <= position - first < ROWS:
        here = {by: read.at(position - first) for by, read in compared.items()}
    else:
        here = compared_of(reading, stages, position, position + 1)
    (piece,) = answers(reading, here["logit"].best[-1].tolist())
    return View(
        key="lenses",
        title="The lenses",
        result=compared,
        chart=divergence_figure(compared, height=280),
        min_width=420,
        findings=(lens_divergences(compared), leads_from(here, position, piece)),
        table=lambda: pd.concat(
            [
                pd.DataFrame({"lens": LENSES[by], "stage": read.stages, "divergence": read.divergence.mean(1)})
                for by, read in compared.items()
            ]
        ),
    )
