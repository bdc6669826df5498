"""Which heads copy: one of them on tokens that repeat, a score of each, and the loss with some ablated."""

import math
from typing import Literal

import numpy as np
import pandas as pd

from tfcore.charts.tokens import token_heatmap
from tfcore.measures.heads.induction_heads import Place, copying, foreseeable, rows_for, scores_of
from tfcore.measures.heads.kinds import targets
from tfcore.measures.one_text import pieces_of
from tfcore.measures.token_text import tick_labels
from tfcore.views.finding import Finding, state
from tfcore.views.foundations.heads.measure.attention_maps import map_table
from tfcore.views.inside.induction.draw.find import head_grid, losses_figure, scale_end
from tfcore.views.inside.induction.measure.find import CopyTask, copying_of, losses_alone
from tfcore.views.inside.induction.say.find import copy_losses, first_hidden, highest_scores, induction_stripe
from tfcore.views.sources import Source, opened
from tfcore.views.view import View, view

Score = Literal["induction", "previous token", "duplicate", "alone"]
LEAST_END = 0.1  # where the colours of a map without its first token end at least: smaller weights stay pale
NAMES: dict[Score, str] = {
    "induction": "induction",
    "previous token": "previous token",
    "duplicate": "duplicate token",
    "alone": "loss when ablated",
}


@view
def losses(model: Source, task: CopyTask, off: tuple[Place, ...]) -> View:
    """The loss of every token of a text that repeats, by the whole model and without some heads.

    Args:
        off: heads that are ablated, as (layer, head).
    """
    network, tokenizer = opened(model)
    whole, copies = copying_of(model, task, ()), task.kind != "once"
    cut = copying_of(model, task, off) if off else None
    labels = tick_labels(pieces_of(tokenizer, whole.ids.tolist()))
    read = f"Mean over {rows_for(network.config)} sequences" if task.kind == "random" else "One sequence"
    return View(
        key="losses",
        title="The loss of each token",
        result=(whole, cut),
        chart=losses_figure(whole, cut, labels, math.log(network.config.vocab_size), height=300),
        min_width=350,
        findings=(copy_losses(whole, cut, off, copies),),
        note=f"{read}; shaded: the {'second copy' if copies else 'repeated tokens'}.",
        table=lambda: pd.DataFrame(
            {
                "token": labels[1:],
                "whole model": whole.losses,
                "with heads ablated": (cut or whole).losses,
                "repeated": whole.repeated,
            }
        ),
        formula=r"\text{induction score} = \frac{1}{n} \sum_{q=n}^{2n-1} A_{q,\; q-n+1}",
        papers=(
            "Induction heads and this test: arXiv:2209.11895. The three scores are those of TransformerLens's head "
            "detector per query that has something to find; of a doubled token (“the the”) the query itself is left "
            "out here, where the detector counts it. Only decoders are offered: an encoder also sees what follows a "
            "token, and an encoder-decoder reads a second text. Dotted: baseline loss of a uniform guess, ln of the "
            "vocabulary."
        ),
        code=(copying, scores_of, targets, foreseeable),
    )


@view
def stripe(
    model: Source, task: CopyTask, off: tuple[Place, ...], layer: int, head: int, hide_first: bool = False
) -> View:
    """The attention pattern of one head on a text that repeats. See losses.

    Args:
        hide_first: whether the map is drawn without its first token, on which a head rests that finds nothing
            (arXiv:2309.17453). The other weights stay what they are; their colours end at the largest.
    """
    now, place = copying_of(model, task, off), (layer, head)
    pattern, n = now.patterns[place], len(now.ids)
    tokens = pieces_of(opened(model)[1], now.ids.tolist())
    labels = tick_labels(tokens)
    hidden: tuple[Finding, ...] = ()
    striped, end = induction_stripe(now, place, off), 1.0
    if hide_first and n > 1:
        share, rest = float(pattern[1:, 0].mean()), pattern * (np.arange(n) > 0)
        end = max(float(rest.max()), LEAST_END)
        hidden, pattern = (first_hidden(tokens[0], share, place, end),), rest
    return View(
        key="stripe",
        title="The attention pattern of one head",
        result=now,
        chart=token_heatmap(pattern, labels, zmax=end, height=520, bar=False),
        min_width=420,
        cursor=True,
        described=state("pattern", "Attention pattern. {stripe}", stripe=striped),
        findings=(striped, *hidden),
        note=f"Shape (query, key) = ({n}, {n}).",
        table=lambda: map_table(pattern, labels, labels),
    )


@view
def scores(model: Source, task: CopyTask, off: tuple[Place, ...], score: Score, layer: int, head: int) -> View:
    """A number for every head; the one that is looked at is framed, those ablated are crossed out. See losses.

    Args:
        score: a mean weight, or "alone": the loss when the head alone is ablated.
    """
    now = copying_of(model, task, off)
    values = losses_alone(model, task) if score == "alone" else now.scores[score]
    height = min(420, max(170, 46 * len(values) + 60))
    layers, heads = np.indices(values.shape)
    measured = {NAMES[kind]: now.scores[kind].ravel() for kind in NAMES if kind != "alone"}
    return View(
        key="grid",
        title="A number for every head",
        result=values,
        chart=head_grid(values, (layer, head), off, NAMES[score], scale_end(values, score != "alone"), height),
        min_width=300,
        findings=(highest_scores(values, score),),
        table=lambda: pd.DataFrame({"layer": layers.ravel(), "head": heads.ravel(), **measured}),
    )
