"""A sublayer or a block skipped: the next token without it, and the loss of every token."""

from collections.abc import Sequence

import pandas as pd

from tfcore.charts.part_by_token import part_by_token
from tfcore.measures import interventions
from tfcore.measures.answers import answers_of
from tfcore.measures.token_text import tick_labels
from tfcore.views.finding import state
from tfcore.views.inside.effects import next_token
from tfcore.views.inside.stream.measure.skip import (
    SkipsOfLayer,
    all_skips,
    each_of,
    effect_of,
    skip_each,
    skip_edits,
    skip_titles,
    skips,
)
from tfcore.views.inside.stream.measure.text import read_of
from tfcore.views.inside.stream.say.skip import loss_increases
from tfcore.views.sources import Reading, opened
from tfcore.views.view import View, view

ROWS = 30  # of the picture; of a model with more parts, those of one kind


@view
def without(reading: Reading, position: int, skipped: str, token: int, against: int | None = None) -> View:
    """The next token, or the class, with a sublayer or a block skipped.

    Args:
        position: of the text, after which is predicted.
        skipped: as in "attention 0", "feed-forward 2" or "block 1".
        token: id of the one that the numbers are about.
        against: id of one whose logit is compared with its own.
    """
    model, tokenizer = opened(reading.model)
    names = skips(model.config)[skip_titles(model.config).index(skipped)]
    read, effect = read_of(reading).tokens[position], effect_of(reading, position, names)
    runs = "whole model", f"without {skipped}"
    return next_token(effect, answers_of(model, tokenizer), read, position, runs, token, against)


def rows_shown(titles: Sequence[str], skipped: str) -> list[int]:
    """All skips of a model that has few, or those of the kind that is skipped."""
    rows = list(range(len(titles)))
    if len(rows) <= ROWS:
        return rows
    kind = skipped.rpartition(" ")[0]
    return [i for i in rows if titles[i].rpartition(" ")[0] == kind]


@view
def loss_increase(
    reading: Reading, position: int, skipped: str, *, so_far: Sequence[SkipsOfLayer] | None = None
) -> View:
    """The loss increase of every token when a sublayer or block is skipped. See without.

    Args:
        so_far: the layers that are measured; None measures all of them.
    """
    config, tokens = opened(reading.model)[0].config, read_of(reading).tokens
    losses = all_skips(config, each_of(reading) if so_far is None else so_far)
    titles = skip_titles(config)
    row, rows = titles.index(skipped), rows_shown(titles, skipped)
    named, values = [titles[i] for i in rows], losses.loss_increase[rows]
    increases = loss_increases(losses, row, titles)
    return View(
        key="increase",
        title="Loss increase of every token",
        result=losses,
        chart=part_by_token(
            values,
            named,
            tick_labels(tokens[1:], 10),
            limit=5.0,  # nats, from which on all colours are the same
            chosen=(rows.index(row), position if position < len(tokens) - 1 else -1),
            hover="without %{y}: loss of %{x} %{z:+.2f} nats",
            axis="token to predict",
            height=90 + 26 * len(named),
        ),
        min_width=620,
        described=increases,
        findings=(
            state(
                "increases",
                "Loss increase of each token, (skipped, token) = {shape}. {increases}",
                shape=values.shape,
                increases=increases,
            ),
        ),
        table=lambda: pd.DataFrame(values.T, columns=named).assign(token=tokens[1:]),
        formula=r"x_{\ell+1} = x_\ell \quad\text{instead of}\quad x_{\ell+1} = x_\ell + f_\ell(x_\ell)",
        papers=(
            "Skipping single layers of residual networks: arXiv:1605.06431, section 4.1. All sets of them: the "
            "page on residual connections."
        ),
        code=(skip_each, skip_edits, interventions.effect),
    )
