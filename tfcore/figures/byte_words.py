"""Bytes in words, in decimal and in binary units, which differ by 7 per cent at a gigabyte and by 10 at a terabyte."""

from typing import Literal

Unit = Literal["decimal", "binary"]
PREFIXES: dict[Unit, tuple[str, ...]] = {
    "decimal": ("B", "kB", "MB", "GB", "TB", "PB", "EB"),
    "binary": ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"),
}
STEPS: dict[Unit, int] = {"decimal": 1000, "binary": 1024}


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
    """In decimal units, and in binary ones behind."""
    return f"{amount(value)} ({amount(value, 'binary')})"


def scale(largest: float, unit: Unit) -> tuple[float, str]:
    """What to divide bytes by on an axis up to this value, and the unit's name."""
    power, names = 0, PREFIXES[unit]
    while largest >= 1.5 * STEPS[unit] ** (power + 1) and power + 1 < len(names):
        power += 1
    return float(STEPS[unit] ** power), names[power]
