"""Queries, keys and values as points of planes, and the outputs among the values."""

from collections.abc import Sequence

from tfcore.views.foundations.attention.measure.steps import AttentionSteps, Vectors
from tfcore.views.view import Scene

PLANES = (
    {
        "title": "● queries and ■ keys: the more they point the same way, the higher the score.",
        "label": "Queries and keys",
        "kinds": ["query", "key"],
    },
    {
        "title": "◆ values. Rings: outputs; lines: the weights of the chosen query.",
        "label": "Values and outputs",
        "kinds": ["value"],
    },
)
VALUES = 1  # the place of their plane
WIDEST = 9  # pixels of the line to a value that has all the weight
HEIGHT = 230  # pixels; planes are square, and as wide as there is room


def points_scene(
    points: tuple[Vectors, Vectors, Vectors],
    computed: AttentionSteps,
    words: Sequence[str],
    chosen: int,
    limit: float,
    step: float,
    titles: Sequence[str],
) -> Scene:
    """Points in two planes, with the outputs as rings and the chosen query's weights as lines.

    Args:
        points: queries, keys and values, each with two coordinates.
        limit: the largest coordinate.
        step: of the grid that points lie on.
        titles: the accessible name of each output.
    """
    outputs, weights = computed.outputs.tolist(), computed.weights[chosen].tolist()
    marks = [
        {"plane": VALUES, "at": at, "title": title, "strong": i == chosen}
        for i, (at, title) in enumerate(zip(outputs, titles, strict=True))
    ]
    links = [
        {"plane": VALUES, "from": list(value), "to": outputs[chosen], "width": round(WIDEST * weight, 2)}
        for value, weight in zip(points[2], weights, strict=True)
    ]
    data = {
        "tokens": list(words),
        "kinds": [kind for plane in PLANES for kind in plane["kinds"]],
        "planes": PLANES,
        "points": [list(point) for kind in points for point in kind],
        "chosen": chosen,
        "limit": limit,
        "step": step,
        "marks": marks,
        "links": links,
    }
    return Scene(module="planes", data=data, height=HEIGHT)
