"""Numbers of many digits in words: 70 B parameters, 5.8 × 10²³ operations."""

import math

from tfcore.figures.model.parameters import short

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def round_count(count: float) -> str:
    """70 B, 1.33 T, 405 M: a count as people say it, three digits at most."""
    if not math.isfinite(count):
        return "endless"
    number, _, unit = short(float(f"{count:.3g}")).partition(" ")
    return f"{float(number.replace(',', '')):g} {unit}" if unit else number


def power(value: float, digits: int = 1) -> str:
    """5.8 × 10²³; a bare power of ten as 10²³."""
    if value <= 0 or not math.isfinite(value):
        return f"{value:g}"
    mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
    ten = f"10{str(int(exponent)).translate(RAISED)}"
    return ten if float(mantissa) == 1 else f"{mantissa} × {ten}"
