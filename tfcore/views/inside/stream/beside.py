"""The same token in two texts or two models: where it comes up, and which parts write it."""

import pandas as pd

from tfcore.measures.logit_attribution import Against
from tfcore.measures.token_text import visible
from tfcore.views.beside import counterpart, ids_of, legend_of, names_of
from tfcore.views.inside.stream.draw.lens import paths_beside_figure
from tfcore.views.inside.stream.draw.parts import beside_figure
from tfcore.views.inside.stream.measure.lens import TokenPath, path_of
from tfcore.views.inside.stream.measure.parts import LARGEST, contributions_of, instalments_beside
from tfcore.views.inside.stream.measure.text import answers, read_of
from tfcore.views.inside.stream.say.beside import largest_difference, led_from
from tfcore.views.sources import Reading, opened
from tfcore.views.view import View, view

Place = tuple[int, int]  # of a prediction: position in the text, and the id of the token that is followed


def place_beside(first: Reading, second: Reading, place: Place) -> Place | None:
    """The place in the second reading of what stands at a place of the first; None where its model has no token of the
    same text, or no class of the same name."""
    position, token = place
    if first.model != second.model:
        here, there = (opened(one.model)[0].config.classes for one in (first, second))
        if (here is None) != (there is None):
            return None
        named = ids_of(second.model) if there is None else {name: i for i, name in enumerate(there.labels)}
        found = named.get(answers(first, [token])[0])
        if found is None:
            return None
        token = found
    return counterpart(first, second, read_of(first).tokens, read_of(second).tokens, position), token


@view
def lens_beside(first: Reading, second: Reading, place: Place, other: Place) -> View:
    """The logit lens of one token in two texts, or in two models, by the share of the model that is behind.

    Args:
        place, other: position and token in the first reading and in the second.
    """
    paths = tuple(path_of(one, at, (token,), "logit") for one, (at, token) in ((first, place), (second, other)))
    names, (piece,) = names_of(first, second), answers(first, place[1:])
    return View(
        key="lens-beside",
        title=f"{visible(piece)}, beside another",
        result=paths,
        chart=paths_beside_figure((paths[0], paths[1]), (0, 0), legend_of(first, second), height=320),
        min_width=340,
        findings=(led_from((paths[0], paths[1]), piece, names),),
        table=lambda: pd.concat([_table(path, name) for path, name in zip(paths, names, strict=True)]),
        terms=("logit lens",),
    )


def _table(path: TokenPath, name: str) -> pd.DataFrame:
    return pd.DataFrame({"of": name, "stage": path.stages, "probability": path.probability[:, 0]})


@view
def parts_beside(first: Reading, second: Reading, place: Place, other: Place, against: Against = "mean") -> View:
    """The shares of the parts of a model in one token's logit, in two texts; of two models, those of kinds of parts.

    Args:
        place, other: position and token in the first reading and in the second.
        against: see summed.
    """
    attributed = [contributions_of(one, *at, against) for one, at in ((first, place), (second, other))]
    names, (piece,) = names_of(first, second), answers(first, place[1:])
    rows = instalments_beside(attributed[0], attributed[1], LARGEST, by_kind=first.model != second.model)
    return View(
        key="parts-beside",
        title=f"Shares in the logit of {visible(piece)}, beside another",
        result=rows,
        chart=beside_figure(rows, legend_of(first, second)),
        min_width=340,
        findings=(largest_difference(rows, piece, names, (attributed[0].logit, attributed[1].logit)),),
        table=lambda: pd.DataFrame(rows, columns=["part", *names]),
    )
