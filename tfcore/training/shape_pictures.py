"""Pictures of shapes, drawn from a seed: a large one, whose colour names the picture, small ones of other colours."""

import math

import numpy as np
from jaxtyping import Float, UInt8
from numpy import ndarray
from PIL import Image, ImageDraw

KINDS = ("circle", "ring", "square", "triangle", "star", "cross", "heart", "crescent")
COLOURS = {
    "red": (205, 45, 40),
    "orange": (240, 140, 30),
    "yellow": (240, 215, 50),
    "green": (50, 150, 70),
    "blue": (45, 95, 200),
    "purple": (135, 65, 175),
}
VARIED = 14.0  # standard deviation of a shape's colour, of 255
FINER = 4  # times as many pixels a side are drawn of a shape as are kept, so that edges are smooth
LARGE = (0.24, 0.36)  # radius of the large shape, as a share of the picture's side
SMALL = (0.06, 0.10)
N_SMALL = 3
TURNED = 0.4  # radians, to either side
GRAIN = 6.0  # standard deviation of the noise, of 255


def shape_picture(colour: int, side: int, seed: int) -> UInt8[ndarray, "side side 3"]:
    """A picture of a large shape in one of COLOURS and of N_SMALL small ones in others, of any kinds, anywhere, on a
    ground that goes from one shade of grey to another, with noise."""
    draws = np.random.default_rng((seed, colour))
    image = Image.fromarray(_ground(side, draws))
    for other in draws.choice([other for other in range(len(COLOURS)) if other != colour], N_SMALL):
        _draw(image, int(other), draws.uniform(*SMALL), draws)
    _draw(image, colour, draws.uniform(*LARGE), draws)  # last: no small one covers it
    noise = draws.standard_normal((side, side, 3), dtype=np.float32) * GRAIN
    return np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8)


def _ground(side: int, draws: np.random.Generator) -> UInt8[ndarray, "side side 3"]:
    """A shade of grey that becomes another, from left to right or from top to bottom."""
    first, last = draws.uniform(20, 235, (2, 1, 1, 1))
    share = np.linspace(0, 1, side)[None, :, None]
    ground = np.broadcast_to(first + (last - first) * share * 0.5, (side, side, 3))
    return np.ascontiguousarray(ground if draws.random() < 0.5 else ground.swapaxes(0, 1)).astype(np.uint8)


def _draw(image: Image.Image, colour: int, radius: float, draws: np.random.Generator) -> None:
    """One shape of a radius, of any kind, turned a little, in about a colour."""
    side = image.width
    middle = draws.uniform(radius, 1 - radius, 2)
    shade = np.clip(np.array([*COLOURS.values()][colour]) + draws.normal(0, VARIED, 3), 0, 255)
    turn = draws.uniform(-TURNED, TURNED)
    outlines = _outlines(KINDS[draws.integers(len(KINDS))])
    rotation = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    left, top = (int((one - radius) * side) for one in middle)  # a square that has all of it
    across = math.ceil(2 * radius * side) + 1
    mask = Image.new("L", (across * FINER, across * FINER))
    pen = ImageDraw.Draw(mask)
    for outline, filled in outlines:
        points = ((outline @ rotation.T * radius + middle) * side - (left, top)) * FINER
        pen.polygon([(float(x), float(y)) for x, y in points], fill=255 * filled)
    image.paste(
        tuple(int(one) for one in shade), box=(left, top), mask=mask.resize((across, across), Image.Resampling.BOX)
    )


def _outlines(kind: str) -> list[tuple[Float[ndarray, "point 2"], int]]:
    """Polygons within a circle of radius 1, and whether each is filled or cut out of those before."""
    around = np.linspace(0, 2 * math.pi, 49)[:-1]
    circle = np.stack((np.cos(around), np.sin(around)), axis=1)
    match kind:
        case "circle":
            return [(circle, 1)]
        case "ring":
            return [(circle, 1), (0.55 * circle, 0)]
        case "square":
            return [(_corners(4), 1)]
        case "triangle":
            return [(_corners(3), 1)]
        case "star":
            points = _corners(10)
            points[1::2] *= 0.42
            return [(points, 1)]
        case "cross":
            bar = np.array([[-0.95, -0.28], [0.95, -0.28], [0.95, 0.28], [-0.95, 0.28]])
            return [(bar, 1), (bar[:, ::-1], 1)]
        case "heart":  # x = 16 sin^3 t, y = 13 cos t - 5 cos 2t - 2 cos 3t - cos 4t
            x = 16 * np.sin(around) ** 3
            y = 13 * np.cos(around) - 5 * np.cos(2 * around) - 2 * np.cos(3 * around) - np.cos(4 * around)
            return [(np.stack((x, -y), axis=1) / 17, 1)]
        case _:  # crescent
            return [(circle, 1), (0.85 * circle + [0.45, 0], 0)]


def _corners(n: int) -> Float[ndarray, "point 2"]:
    """n points around a circle."""
    around = np.arange(n) * 2 * math.pi / n
    return np.stack((np.cos(around), np.sin(around)), axis=1)
