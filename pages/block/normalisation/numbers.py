"""The numbers that a visitor types."""

import math
import re

from pages.ui import text

MOST = 32  # numbers
LARGEST = 1e6
CHARACTERS = 400
NUMBERS = "2, 4, 4, 5, 7, 8"
LETTERS = 20  # of what is no number, repeated


def read_numbers(pasted: str) -> tuple[float, ...]:
    """The numbers of a text, apart by commas, spaces or semicolons.

    Raises:
        ValueError: one sentence that says what is wrong and what would work.
    """
    words = [word for word in re.split(r"[\s,;]+", pasted.replace("−", "-")) if word]
    if not words:
        raise ValueError(f"There are no numbers yet: type some, such as {NUMBERS}.")
    if len(words) > MOST:
        raise ValueError(f"These are {len(words)} numbers, and the picture has room for {MOST}: leave some out.")
    numbers = []
    for word in words:
        try:
            number = float(word)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or abs(number) > LARGEST or "_" in word:
            shown = text.escape(text.visible(text.shorten(word, LETTERS)))
            raise ValueError(f"“{shown}” is no number from −1,000,000 to 1,000,000: write them like {NUMBERS}.")
        numbers.append(number)
    return tuple(numbers)
