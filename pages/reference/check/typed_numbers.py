"""Numbers as people type them: 1,234 and 1.2e6 and 124.4 M and 85.9 GB; anything else gets one sentence."""

import math
import re
import unicodedata
from dataclasses import dataclass

LONGEST = 40  # characters that a number may have
LARGEST = 1e40
COUNTS = {
    "": 1.0,
    "k": 1e3,
    "thousand": 1e3,
    "m": 1e6,
    "million": 1e6,
    "b": 1e9,
    "g": 1e9,
    "bn": 1e9,
    "billion": 1e9,
    "t": 1e12,
    "trillion": 1e12,
}
BYTES = {"b": 1.0, "byte": 1.0, "bytes": 1.0} | {
    f"{letter}{middle}b": (1024.0 if middle else 1000.0) ** power
    for power, letter in enumerate("kmgtp", 1)
    for middle in ("", "i")
}
_NUMBER = re.compile(
    r"(?P<sign>[-+]?)(?P<digits>\d{1,3}(?:[, _]\d{3})+(?:\.\d*)?|\d+\.?\d*|\.\d+)"
    r"(?:\s*e(?P<power>[-+]?\d{1,4}))?\s*(?P<unit>[a-z%/ -]*)"
)
_QUOTIENT = re.compile(r"(\d{1,6}(?:\.\d{1,6})?) ?(/|\^|\*\*) ?\(?(-?\d{1,6})\)?")


@dataclass(frozen=True, slots=True)
class Typed:
    """A number as it was typed.

    Args:
        value: the number in base units; None where it is none.
        problem: then, one sentence that says what would work.
    """

    value: float | None
    problem: str = ""


def typed_number(text: str, unit: str = "") -> Typed:
    """Read a number.

    A comma parts thousands, a point decimals. k, M, B (or G) and T are thousand to trillion; in a question about
    bytes GB is 10^9 and GiB 2^30 of them. A number without a unit is in the unit asked for.

    Args:
        text: what was typed; digits of any script are read.
        unit: asked for, such as "GB" or "tokens"; "" for a plain number.
    """
    clean = (
        unicodedata.normalize("NFKC", text[: 4 * LONGEST]).replace("\u2212", "-").strip().lower().lstrip("~≈=").strip()
    )
    if not clean:
        return Typed(None, "Type a number, such as 1,234, 1.2e6, 124.4 M or 85.9 GB.")
    if len(clean) > LONGEST:
        return Typed(None, f"That is longer than {LONGEST} characters: a number such as 1.2e6 is enough.")
    if (quotient := _QUOTIENT.fullmatch(clean)) is not None and (number := _quotient(*quotient.groups())) is not None:
        return Typed(number)
    match = _NUMBER.fullmatch(_decimal_digits(clean))
    if match is None:
        return Typed(None, _advice(clean))
    return _with_unit(match, unit)


def _decimal_digits(text: str) -> str:
    """Digits of any script as 0 to 9."""
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)


def _quotient(first: str, sign: str, second: str) -> float | None:
    """1/16 or 2^-4; None where that is no number of a sensible size."""
    base, other = float(first), int(second)
    if sign == "/":
        return base / other if other else None
    if not base or abs(other * math.log10(base)) > math.log10(LARGEST):
        return None
    return float(base**other)


def _with_unit(match: re.Match[str], unit: str) -> Typed:
    digits = re.sub(r"[, _]", "", match["digits"])
    value = float(f"{match['sign']}{digits}e{match['power'] or 0}")
    said = match["unit"].strip().rstrip("-")
    factor = _factor(said, unit)
    if factor is None:
        example = (
            "85.9 GB or 80 GiB"
            if unit.lower() in BYTES
            else f"a plain number{f' of {unit}' if unit else ''}, or 124.4 M"
        )
        return Typed(None, f"The unit “{said}” is not known here: write {example}.")
    if not math.isfinite(value) or abs(value * factor) > LARGEST:
        return Typed(None, "That is larger than anything in a Transformer: check the exponent.")
    return Typed(value * factor)


def _factor(said: str, unit: str) -> float | None:
    """The factor of a unit; None if it is unknown."""
    asked = unit.lower()
    if asked in BYTES:
        return BYTES.get(said or asked)
    if said == "%":
        return 0.01
    words = {asked, asked.removesuffix("s"), ""}
    head, _, tail = said.partition(" ")
    for size, rest in ((head, tail.strip()), ("", said)):
        if size in COUNTS and rest in words:
            return COUNTS[size]
    return None


def _advice(clean: str) -> str:
    if re.fullmatch(r"[-+]?\d+,\d+.*", clean):
        return "A comma separates thousands here, as in 1,234: write a decimal point, as in 4.5."
    return "That is not a number this page can read: write it like 1,234, 1.2e6, 124.4 M, 85.9 GB or 1/16."
