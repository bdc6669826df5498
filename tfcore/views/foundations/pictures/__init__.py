"""Attention over a picture: one head, all heads of a layer, rollout, how far heads look, what learned tokens take."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import UInt8
from numpy import ndarray

from tfcore.charts.guesses import guesses_figure
from tfcore.charts.heads_by_layer import by_layer
from tfcore.pictures import cut, prepared
from tfcore.views.finding import Finding, state
from tfcore.views.foundations.pictures import draw, measure
from tfcore.views.foundations.pictures.measure import Drawn, SeenPicture
from tfcore.views.foundations.tokens.measure import signals
from tfcore.views.kept import kept
from tfcore.views.sources import File, Source, opened
from tfcore.views.view import View, view

SIDE = 448  # pixels of a picture before a model scales it
HEIGHT = 320
NOTE = "Clear: the largest weight; veiled: none."
PAPER = "arXiv:2010.11929, equations 1 to 4"


def _seen(source: Source, kind: Drawn) -> SeenPicture:
    return measure.see(opened(source, pictures=True)[0], measure.drawn_picture(kind, SIDE))


seen_drawn = kept(_seen, entries=4)


def decoded(data: bytes) -> UInt8[ndarray, "side side 3"]:
    """The pixels of a PNG, JPEG or WebP file, cropped to a square; see read_picture, also for what it refuses."""
    return signals.read_picture(data, SIDE)


def seen_of(model: Source, picture: Drawn | File) -> SeenPicture:
    """A picture as a model has read it; one of your own is kept nowhere.

    Args:
        picture: one that is drawn here, or a file, which an application may have shown to the model already.
    """
    if not isinstance(picture, File):
        return seen_drawn(model, picture)
    content: Any = picture.read(decoded)
    return content if isinstance(content, SeenPicture) else measure.see(opened(model, pictures=True)[0], content)


def _place(seen: SeenPicture, token: int) -> tuple[int, int] | None:
    """Row and column of a patch; None of a learned token."""
    if token < seen.learned:
        return None
    row, column = divmod(token - seen.learned, seen.patches.rows)
    return row, column


def _table(seen: SeenPicture, weights: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"token": [seen.name(i) for i in range(len(weights))], "weight": weights})


@view
def head(model: Source, picture: Drawn | File, layer: int, head: int, token: int) -> View:
    """The attention of one token in one head, laid over the picture.

    Args:
        picture: "balls", "scene", "rings" or "shapes", which are drawn here, or a file of your own.
        token: the query: first come the learned tokens, then the patches, line by line.
    """
    seen = seen_of(model, picture)
    weights = seen.patterns[layer, head, token]
    patches = weights[seen.learned :]
    finding = state(
        "strongest patch",
        "Head {layer}.{head}: {query} attends most to {key} ({weight:.3f}); half of the weight is on {half} of {n} "
        "patches, {learned:percent} of all on {names}.",
        layer=layer,
        head=head,
        query=seen.name(token),
        key=seen.name(seen.learned + int(patches.argmax())),
        weight=float(patches.max()),
        half=_half(patches),
        n=len(patches),
        names=", ".join(seen.patches.tokens),
        learned=float(weights[: seen.learned].sum()),
    )
    return View(
        key="head",
        title="One head over the picture",
        result=weights,
        chart=draw.laid_over(signals.data_address(seen.pixels), seen.grid(weights), _place(seen, token), height=HEIGHT),
        findings=(finding,),
        note=NOTE,
        table=lambda: _table(seen, weights),
        formula=(
            r"x = [x_{cls};\, E\,p_1;\, \dots;\, E\,p_n] + E_{pos}, \qquad "
            r"A = \mathrm{softmax}(QK^\top/\sqrt{d_k})"
        ),
        papers=f"{PAPER}; registers: arXiv:2309.16588",
        terms=("patch", "register"),
        code=(prepared, cut, measure.see),
    )


def _half(patches: np.ndarray) -> int:
    """The smallest number of patches that together have half of the weight of all."""
    summed = np.cumsum(np.sort(patches)[::-1].astype(float))
    return int(np.searchsorted(summed, (0.5 - 1e-6) * summed[-1])) + 1


@view
def heads(model: Source, picture: Drawn | File, layer: int, head: int, token: int) -> View:
    """The attention of one token in every head of a layer; see head."""
    seen = seen_of(model, picture)
    weights = seen.patterns[layer, :, token]
    grids = seen.grid(weights)
    counts = [_half(one[seen.learned :]) for one in weights]
    narrow, wide = int(np.argmin(counts)), int(np.argmax(counts))
    finding = state(
        "narrow and wide",
        "For {query} half of the weight is on {few} of {n} patches in head {layer}.{narrow}, on {many} in "
        "{layer}.{wide}.",
        query=seen.name(token),
        layer=layer,
        narrow=narrow,
        few=counts[narrow],
        n=seen.patches.rows**2,
        wide=wide,
        many=counts[wide],
    )
    hovers = [f"head {layer}.{i}: {count} patches have half of its weight" for i, count in enumerate(counts)]
    return View(
        key="heads",
        title="Every head of the layer",
        result=grids,
        chart=draw.small_maps(grids, layer, head, hovers, height=HEIGHT),
        findings=(finding,),
        note="Each map: 0 to its largest weight.",
        table=lambda: pd.DataFrame({"head": range(len(counts)), "patches with half of the weight": counts}),
    )


@view
def rollout(model: Source, picture: Drawn | File, token: int) -> View:
    """Attention rollout: what reaches a token through all layers, if residual connections count for a half."""
    seen = seen_of(model, picture)
    rolled = seen.rolled[token]
    own = float(rolled[token])
    shown = rolled.copy()
    if token >= seen.learned:
        shown[token] = 0  # what it keeps of itself would outshine the others
    patches = shown[seen.learned :]
    finding = state(
        "rollout",
        "Through all {n:counted layer}, most reaches {query} from {key} ({weight:.3f}); of itself {own:.3f} is left.",
        n=len(seen.patterns),
        query=seen.name(token),
        key=seen.name(seen.learned + int(patches.argmax())),
        weight=float(patches.max()),
        own=own,
    )
    return View(
        key="rollout",
        title="Rollout through all layers",
        result=rolled,
        chart=draw.laid_over(signals.data_address(seen.pixels), seen.grid(shown), _place(seen, token), height=HEIGHT),
        findings=(finding,),
        note="Mean maps multiplied: no values, no feed-forward layers.",
        table=lambda: _table(seen, rolled),
        formula=r"\tilde A = \prod_{l=L}^{1} \tfrac12\,(\bar A_l + I), \qquad \bar A_l = \text{mean over heads}",
        papers="Attention rollout: arXiv:2005.00928, section 3",
        code=(measure.rollout,),
    )


@view
def distances(model: Source, picture: Drawn | File, layer: int, head: int) -> View:
    """How far each head looks from a patch, on average (arXiv:2010.11929, figure 7)."""
    seen = seen_of(model, picture)
    apart = seen.distances
    even = _even(seen.patches.rows)
    near = np.unravel_index(int(apart.argmin()), apart.shape)
    finding = state(
        "distances",
        "Head {near} looks nearest, {low:.1f} patches away on average; {local:counted head} of {n} stay below half of "
        "{even:.1f}, what even attention gives. Head {layer}.{head}: {own:.1f}.",
        near=f"{near[0]}.{near[1]}",
        low=float(apart.min()),
        local=int((apart < even / 2).sum()),
        n=apart.size,
        even=even,
        layer=layer,
        head=head,
        own=float(apart[layer, head]),
    )
    hover = "head %{customdata[0]}.%{customdata[1]}: %{y:.1f} patches away"
    return View(
        key="distances",
        title="How far heads look",
        result=apart,
        chart=by_layer(
            apart, layer, head, "mean distance (patches)", hover, top=1.15 * max(even, float(apart.max())), height=300
        ),
        findings=(finding,),
        table=lambda: _by_head(apart, "mean distance (patches)"),
        papers="Mean attention distance: arXiv:2010.11929, figure 7 and appendix D.7, there over many pictures",
        code=(measure.mean_distances,),
    )


@cache
def _even(rows: int) -> float:
    """The mean distance between two patches of a square of rows * rows."""
    places = np.stack(np.divmod(np.arange(rows**2), rows), axis=1)
    return float(np.linalg.norm(places[:, None] - places[None], axis=-1).mean())


def _by_head(values: np.ndarray, name: str) -> pd.DataFrame:
    layers, heads = np.indices(values.shape)
    return pd.DataFrame({"layer": layers.ravel(), "head": heads.ravel(), name: values.ravel()})


@view
def learned(model: Source, picture: Drawn | File, layer: int, head: int) -> View:
    """The share of the patches' attention that goes to learned tokens: the class token and registers."""
    seen = seen_of(model, picture)
    shares = measure.learned_weights(seen)
    summed = shares.sum(-1)
    most = np.unravel_index(int(summed.argmax()), summed.shape)
    by_token = {name: float(shares[..., i].mean()) for i, name in enumerate(seen.patches.tokens)}
    finding: Finding = state(
        "learned tokens",
        "Patches give {mean:percent} of their attention to learned tokens, on average over heads ({tokens:each "
        "percent}), and {most:percent} in head {place}.",
        mean=float(summed.mean()),
        tokens=by_token,
        most=float(summed.max()),
        place=f"{most[0]}.{most[1]}",
    )
    hover = "head %{customdata[0]}.%{customdata[1]}: %{y:.2f} of its weight"
    return View(
        key="learned",
        title="Weight on learned tokens",
        result=shares,
        chart=by_layer(summed, layer, head, "share on learned tokens", hover, top=1.05, height=300),
        findings=(finding,),
        table=lambda: _by_head(summed, "share on learned tokens"),
        papers="Registers: arXiv:2309.16588",
        code=(measure.learned_weights,),
    )


@view
def classes(model: Source, picture: Drawn | File) -> View:
    """The most likely classes of a picture, of a model that has a head for them.

    Raises:
        ValueError: it has none.
    """
    seen = seen_of(model, picture)
    if not seen.classes:
        raise ValueError("this model has no head that tells classes of pictures apart")
    names, probabilities = zip(*seen.classes, strict=True)
    return View(
        key="classes",
        title="The most likely classes",
        result=seen.classes,
        chart=guesses_figure(np.array(probabilities), list(names), height=210),
        findings=(state("class", "Most likely: {name}, with {share:percent}.", name=names[0], share=probabilities[0]),),
        table=lambda: pd.DataFrame({"class": names, "probability": probabilities}),
    )
