"""The circuit of two heads: what a later head reads of what an earlier one wrote, and the tests of both."""

import math

import numpy as np
import pandas as pd

from tfcore.measures.heads.compositions import compose, compositions, random_composition
from tfcore.measures.heads.induction_heads import copying_ranks, copying_score, evaluate_heads, evaluated_tokens
from tfcore.views.finding import state
from tfcore.views.inside.induction.draw.circuit import head_tests_figure, path_patching_figure, strips_figure
from tfcore.views.inside.induction.measure.circuit import composition_of, patch_paths, paths_of, tests_of
from tfcore.views.inside.induction.measure.find import kinds_of
from tfcore.views.inside.induction.say.circuit import (
    best_induction_head,
    drawn_pairs,
    highest_composition,
    patched_losses,
    rank_of_head,
)
from tfcore.views.sources import Source, opened
from tfcore.views.view import View, view


@view
def composition(model: Source, layer: int) -> View:
    """Which heads read what earlier heads wrote: composition scores of their matrices (after arXiv:2209.11895).

    Args:
        layer: of the later heads.
    """
    result, kinds = composition_of(model, layer), kinds_of(model)
    width, thinned = opened(model)[0].config.d_model, drawn_pairs(result.scores["key"].size)
    return View(
        key="strips",
        title="The composition",
        result=result,
        chart=strips_figure(result, layer, kinds.previous, kinds.induction, height=420),
        min_width=340,
        findings=(highest_composition(result, layer, width), *([thinned] if thinned else [])),
        note="Filled: from a previous-token head to an induction head; grey: random matrices of the same shapes. "
        "Nothing is subtracted.",
        table=lambda: _pairs(result.scores, layer),
        formula=(
            r"\underbrace{W_{QK}^{\,2}}_{\text{what head 2 attends to}} = W_Q^\top W_K, \quad "
            r"\underbrace{W_{OV}^{\,1}}_{\text{what head 1 writes}} = W_O W_V, \qquad "
            r"\text{K-composition} = \frac{\lVert W_{QK}^{\,2}\, W_{OV}^{\,1} \rVert_F}"
            r"{\lVert W_{QK}^{\,2} \rVert_F\, \lVert W_{OV}^{\,1} \rVert_F}"
        ),
        papers="Composition: A Mathematical Framework for Transformer Circuits (2021).",
        code=(compose, compositions, random_composition),
    )


def _pairs(scores: dict[str, np.ndarray], layer: int) -> pd.DataFrame:
    """Every pair with its three scores."""
    pairs = [{"reads": f"{layer}.{h}", "wrote": f"{below}.{e}"} for h, below, e in np.ndindex(scores["key"].shape)]
    return pd.DataFrame(pairs).assign(**{kind: of_kind.ravel() for kind, of_kind in scores.items()})


@view
def path_patching(model: Source, seed: int) -> View:
    """Path patching: do queries, keys or values need what previous-token heads wrote? (arXiv:2304.05969)

    Args:
        model: with induction heads, and previous-token heads below them.
        seed: of the random tokens, which repeat.
    """
    kinds, vocab_size = kinds_of(model), opened(model)[0].config.vocab_size
    runs = paths_of(model, seed, tuple(kinds.previous), tuple(kinds.induction))
    losses = patched_losses(runs, kinds.previous, kinds.induction)
    return View(
        key="doors",
        title="Path patching",
        result=runs,
        chart=path_patching_figure(runs, math.log(vocab_size), height=320),
        min_width=340,
        described=state("path patching", "Path patching. {losses}", losses=losses),
        findings=(losses,),
        table=lambda: pd.DataFrame(
            [(run.patched, run.induction, run.first_loss, run.second_loss) for run in runs],
            columns=["patched", "induction weight", "first loss", "second loss"],
        ),
        papers="Path patching: arXiv:2304.05969.",
        code=(patch_paths,),
    )


@view
def head_tests(model: Source, seed: int, *, by_rank: bool = False) -> View:
    """Prefix matching against copying, for every head (arXiv:2209.11895), by their scores or by rank.

    Args:
        seed: of the random tokens.
    """
    result, induction = tests_of(model, seed), kinds_of(model).induction
    tokens = evaluated_tokens(opened(model)[0].config)
    best, ranks = best_induction_head(result, induction, tokens), rank_of_head(result, induction, tokens)
    layers, heads = np.indices(result.prefix.shape)
    return View(
        key="tests",
        title="Prefix matching and copying",
        result=result,
        chart=head_tests_figure(result, induction, tokens, height=320, by_rank=by_rank),
        min_width=340,
        findings=(best, *([ranks] if ranks else [])),
        note="Filled: the induction heads.",
        table=lambda: pd.DataFrame(
            {
                "layer": layers.ravel(),
                "head": heads.ravel(),
                "prefix matching": result.prefix.ravel(),
                "copying": result.copying.ravel(),
                "largest weight on the right token": result.prefix_first.ravel(),
                "own logit raised most": result.copying_first.ravel(),
                "mean rank of the own logit": result.copying_rank.ravel(),
            }
        ),
        papers="Prefix matching and copying: arXiv:2209.11895, head activation evaluators; by rank, which is our own, "
        "what counts is whether the right token comes first, not by how much.",
        code=(evaluate_heads, copying_score, copying_ranks),
    )
