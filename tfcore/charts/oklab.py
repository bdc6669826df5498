"""Colours as numbers: hex, contrast, and perceptually even mixing.

OKLab is a colour space in which equal steps look equally large, so a scale that runs straight through it does not
invent edges the data do not have.  Björn Ottosson, "A perceptual color space for image processing" (2020).
"""

import math

Triple = tuple[float, float, float]


def rgb(colour: str) -> Triple:
    """Parse "#rrggbb" into red, green, blue in 0..1 (sRGB, gamma encoded)."""
    if len(colour) != 7 or colour[0] != "#":
        raise ValueError(f"{colour!r} is not a colour of the form #rrggbb")
    return tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))  # type: ignore[return-value]


def hex_of(red: float, green: float, blue: float) -> str:
    """The inverse of `rgb`; values outside 0..1 are clipped to the nearest colour a screen has."""
    return "#" + "".join(f"{round(255 * min(max(c, 0.0), 1.0)):02x}" for c in (red, green, blue))


def linear(c: float) -> float:
    """Undo sRGB's gamma for one channel: the result is proportional to light."""
    return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4


def encoded(c: float) -> float:
    """The inverse of `linear`."""
    return 12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055


def luminance(colour: str) -> float:
    """Relative luminance in 0..1 (WCAG 2.2)."""
    red, green, blue = (linear(c) for c in rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio in 1..21 (WCAG 2.2); 3 is the least for graphics, 4.5 the least for text."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def to_oklab(colour: str) -> Triple:
    """Lightness in 0..1 and the two opponent axes (green-red, blue-yellow) of a "#rrggbb" colour."""
    red, green, blue = (linear(c) for c in rgb(colour))
    long = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    medium = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    short = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )


def from_oklab(lightness: float, a: float, b: float) -> str:
    """The inverse of `to_oklab`, clipped to what a screen can show."""
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return hex_of(
        encoded(max(4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short, 0.0)),
        encoded(max(-1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short, 0.0)),
        encoded(max(-0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short, 0.0)),
    )


def mix(one: str, other: str, t: float, via: str | None = None) -> str:
    """The colour a fraction t of the way from one to other, in even steps of lightness.

    With `via` the hue bends towards that colour on the way (a quadratic Bézier curve in the two hue axes), while the
    lightness still changes at a constant rate: that is what keeps a scale from near-black to near-white colourful.
    """
    start, end = to_oklab(one), to_oklab(other)
    straight = tuple(p + (q - p) * t for p, q in zip(start, end, strict=True))
    if via is None:
        return from_oklab(*straight)
    bend = to_oklab(via)
    a, b = ((1 - t) ** 2 * start[i] + 2 * t * (1 - t) * bend[i] + t**2 * end[i] for i in (1, 2))
    return from_oklab(straight[0], a, b)
