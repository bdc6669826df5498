"""Numbers in words, as sentences and figures say them: 85.9 GB or 80.0 GiB, 70 B parameters, 5.8 × 10²³ operations.

Decimal and binary units differ by 7 per cent at a gigabyte and by 10 at a terabyte.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

Unit = Literal["decimal", "binary"]
PREFIXES: dict[Unit, tuple[str, ...]] = {
    "decimal": ("B", "kB", "MB", "GB", "TB", "PB", "EB"),
    "binary": ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"),
}
STEPS: dict[Unit, int] = {"decimal": 1000, "binary": 1024}
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def amount(value: float, unit: Unit = "decimal") -> str:
    """85,899,345,920 as "85.9 GB" (10^9 bytes) or "80.0 GiB" (2^30 bytes): three digits."""
    step, size = STEPS[unit], float(abs(value))
    prefixes = iter(PREFIXES[unit])
    prefix = next(prefixes)
    while size >= 999.5 and (following := next(prefixes, "")):
        size, prefix = size / step, following
    digits = 0 if prefix == "B" or size >= 99.95 else 1 if size >= 9.995 else 2
    return f"{'−' if value < 0 else ''}{size:,.{digits}f} {prefix}"


def both(value: float) -> str:
    """Bytes in decimal units, and behind them in binary ones."""
    return f"{amount(value)} ({amount(value, 'binary')})"


def scale(largest: float, unit: Unit) -> tuple[float, str]:
    """The number by which to divide bytes on an axis up to this value, and the unit's name."""
    power, names = 0, PREFIXES[unit]
    while largest >= 1.5 * STEPS[unit] ** (power + 1) and power + 1 < len(names):
        power += 1
    return float(STEPS[unit] ** power), names[power]


def span(values: Sequence[float], form: str) -> str:
    """0.31 to 0.45, from the least to the largest; one number where both read the same. `form` as in format()."""
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def whole(n: int) -> str:
    """124,439,808: every digit."""
    return f"{n:,}"


def counted(n: int, what: str) -> str:
    """1 layer, 1,024 layers."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def percent(share: float) -> str:
    """0.12 as "12 %", 0.00123 as "0.12 %": a share in per cent, with two digits that count below 10; of one below
    0.001 %, that it is."""
    if 0 < share < 1e-5:
        return "<0.001 %"
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"


def gigabytes(n: float) -> str:
    """Bytes in words of the size of models, of toys, too."""
    if 0 < n < 1e6:
        return f"{max(1, n / 1e3):.0f} kB"
    return f"{n / 1e9:,.0f} GB" if n >= 1e11 else f"{n / 1e9:.1f} GB" if n >= 1e9 else f"{n / 1e6:.0f} MB"


def short(count: float) -> str:
    """124.4 M, 8.03 B: a count in few digits."""
    for size, unit in ((1e12, " T"), (1e9, " B"), (1e6, " M"), (1e3, " k")):
        if count >= size:
            return f"{count / size:.{1 if count >= 100 * size else 2}f}{unit}"
    return f"{count:,.0f}"


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


def in_ten(number: float) -> str:
    """A positive number in ten characters at most: 17.45, 887,504, 1.2 × 10⁶."""
    if number < 100_000:
        return f"{number:,.2f}"
    return f"{number:,.0f}" if number < 999_999.5 else power(number)


def prefixed(count: float, unit: str = "B") -> str:
    """134.2 MB, 1.0 TFLOP: bytes or operations with a decimal prefix, one digit after the point."""
    for size, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:,.1f} {prefix}{unit}"
    return f"{count:,.0f} {unit}"


def compact(value: float, digits: int = 3) -> str:
    """1.250, −∞, 3.1e−03: a number of any size in few signs; `digits` after the point if neither large nor tiny."""
    if math.isinf(value):
        return f"{value}".replace("-", "−").replace("inf", "∞")
    if value == 0 or 0.01 <= abs(value) < 1000:
        return f"{value:.{digits}f}".replace("-", "−")
    return f"{value:.1e}".replace("-", "−")


def si(value: float) -> str:
    """35.1 G: a number with a letter for its thousands, three digits; the unit follows."""
    number, letters = float(value), iter(("", "k", "M", "G", "T", "P", "E"))
    letter = next(letters)
    while abs(number) >= 999.5 and (following := next(letters, "")):
        number, letter = number / 1000, following
    return f"{number:.3g} {letter}"


def few_digits(value: float) -> str:
    """A number of any size in few characters."""
    if not 0.001 <= abs(value) < 100_000:
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(value) >= 99.5 else f"{value:.2g}"


def listed(values: Mapping[str, float], between: str) -> str:
    """pre-LN 0.25, post-LN 1.5: each value behind its name, in few digits."""
    return between.join(f"{name} {few_digits(value)}" for name, value in values.items())
