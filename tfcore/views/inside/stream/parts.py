"""Direct logit attribution: each part's share in one token's logit."""

import pandas as pd

from tfcore.charts.boards import board, board_height
from tfcore.charts.promoted import promoted_figure
from tfcore.measures.interventions import Part, Whole, columns_of, flat_parts, part_title
from tfcore.measures.logit_attribution import (
    Against,
    Contributions,
    contributions,
    frozen_norm,
    promoted_by,
    stream_parts,
)
from tfcore.measures.token_text import label, tick_labels
from tfcore.views.finding import state
from tfcore.views.inside.scale_end import scale_end
from tfcore.views.inside.stream.draw.parts import part_role, running_sum
from tfcore.views.inside.stream.measure.parts import (
    LARGEST,
    contributions_of,
    instalments,
    largest_instalments,
    promoted_of,
    shares_by_part,
)
from tfcore.views.inside.stream.measure.text import answers, read_of
from tfcore.views.inside.stream.say.parts import largest_instalment, largest_part, logit_sum, promotes
from tfcore.views.sources import Reading, opened
from tfcore.views.view import View, view


@view
def summed(reading: Reading, position: int, token: int, against: Against = "mean", *, every: bool = False) -> View:
    """The logit of a token as a sum of the shares of the model's parts, in the order of computation.

    Args:
        position: of the text, after which the token is predicted.
        token: its id.
        against: whose logit is taken off: a token's, the mean of all, or nothing.
        every: all parts of a model that has many, not the largest alone.
    """
    attributed = contributions_of(reading, position, token, against)
    many = len(instalments(attributed)) > LARGEST + 1
    rows = instalments(attributed) if every else largest_instalments(attributed, LARGEST)
    names, shares = zip(*rows, strict=True)
    height = 130 + max(13, min(31, 780 // len(names))) * len(names)
    return View(
        key="sum",
        title="The sum of all parts",
        result=attributed,
        chart=running_sum(names, shares, [part_role(name) for name in names], height),
        described=logit_sum(attributed, answers(reading, [token])[0]),
        findings=(
            state(
                "shares",
                "Shares in the order of computation, all heads of a layer in one bar{rest}. {largest}",
                rest="; the largest, and all others in one" if many and not every else "",
                largest=largest_instalment(attributed),
            ),
        ),
        table=lambda: _table(attributed),
        formula=(
            r"x_L = x_{embedding} + \sum_{\ell} \Big( \sum_{h} \mathrm{head}_{\ell,h} + \mathrm{FF}_\ell \Big), \qquad "
            r"\mathrm{logit}_t - \mathrm{logit}_{ref} = \sum_{parts} \frac{\gamma \odot part}{s} \cdot "
            r"\big(W_U[t] - W_U[ref]\big)"
        ),
        papers=(
            "Direct logit attribution, as in arXiv:2211.00593, section 3.1. With LayerNorm each part also loses its "
            "mean; biases of the model, where it has any, are a part of their own. In the formula s is what the final "
            "norm divides the whole x_L by, held fixed; γ are its weights."
        ),
        code=(contributions, frozen_norm, stream_parts, promoted_by),
    )


@view
def parts(reading: Reading, position: int, token: int, against: Against, layer: int, part: str) -> View:
    """Direct logit attribution: each part's share in the logit of one token, exactly (the final norm held fixed).

    See summed.

    Args:
        layer, part: that is framed, as in "head 0" or "feed-forward".
    """
    attributed = contributions_of(reading, position, token, against)
    shares, names = shares_by_part(attributed)
    titles = [[f"{name} of layer {layer}" for name in names] for layer in range(len(shares))]
    end = scale_end(shares, titles, least=1e-3)
    return View(
        key="board",
        title="All parts",
        result=attributed,
        chart=board(
            shares,
            columns_of(attributed.parts),
            "layer %{y}, part %{text}: %{z:.3f} logits",
            limit=end.end,
            selected=[(layer, names.index(part))],
            height=board_height(len(shares), row=44),
        ),
        min_width=350,
        described=largest_part(attributed),
        findings=(
            state(
                "fields",
                "One field per head{mixer}{forward}: (layer, part) = {shape}. {largest}",
                mixer=", per convolution or state beside attention (mix)" if "mixer" in names else "",
                forward=" or feed-forward layer (FF)" if "feed-forward" in names else "",
                shape=shares.shape,
                largest=largest_part(attributed),
            ),
            *([end] if end.beyond else []),
        ),
        table=lambda: _table(attributed),
    )


def _table(attributed: Contributions) -> pd.DataFrame:
    """Every part with its share."""
    rows = [("embedding", attributed.embedding), ("positions", attributed.position), ("biases", attributed.biases)]
    rows += [(part_title(part), attributed.share(part)) for part in flat_parts(attributed.parts)]
    return pd.DataFrame([*rows, ("logit of the model", attributed.logit)], columns=["part", "share"])


@view
def promoted(reading: Reading, position: int, layer: int, head: int | Whole | None) -> View:
    """The logits that one head or feed-forward layer raises and lowers most by what it writes at a position.

    Args:
        head: "ff" (or None) for the feed-forward layer, "mix" for a convolution or a state beside attention.
    """
    part = Part(layer, "ff" if head is None else head)
    ids, pieces = read_of(reading).ids, promoted_of(reading, position, part)
    classes = opened(reading.model)[0].config.classes
    following = ids[position + 1] if classes is None and position + 1 < len(ids) else None
    marked = pieces.ids.index(following) if following in pieces.ids else None
    return View(
        key="writes",
        title="What one part writes",
        result=pieces,
        chart=promoted_figure(
            tick_labels(pieces.tokens),
            pieces.shares,
            None if marked is None else label(pieces.tokens[marked], 12),
            height=300,
            axis=f"share in each {'token' if classes is None else 'class'}'s logit",
            up=part_role(pieces.part),
        ),
        described=promotes(pieces),
        findings=(
            state(
                "written",
                "What {part} writes here, projected on the {answers}: the logits it raises most relative to the mean, "
                "and those it lowers most.{marked}",
                part=pieces.part,
                answers="vocabulary" if classes is None else "classes",
                marked="" if marked is None else " ◂ follows in the text.",
            ),
        ),
        table=lambda: pd.DataFrame({"token" if classes is None else "class": pieces.tokens, "share": pieces.shares}),
    )
