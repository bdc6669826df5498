"""How many minutes a lesson takes: an estimate for somebody who reads what stands at its stops and does what they ask.

words.json has the words of each stop: those of its card with the answer, of what there is to see, and, where the stop
before is on another page, of the question and the claim that the page begins with. A test counts them again, and one in
a browser.
"""

import json
from functools import cache
from pathlib import Path

WORDS = 200  # read in a minute; adults read 238 of a text that tells no story (Brysbaert, 10.1016/j.jml.2019.104047)
PICTURE = 30  # seconds to find in a figure what is said of it
ACTION = 30  # seconds for what is to be done, and for what it changes
QUESTION = 20  # seconds for a prediction, and to compare it
STEP = 5  # minutes that an estimate is rounded to
COUNTED = Path(__file__).with_name("words.json")


@cache
def counted() -> dict[str, list[int]]:
    """Key of a lesson -> the words of each of its stops."""
    return dict(json.loads(COUNTED.read_text("utf-8")))


def minutes(key: str) -> int:
    """What a lesson that ships takes, each stop of which has a figure, something to do, and a question."""
    words = counted()[key]
    seconds = 60 * sum(words) / WORDS + len(words) * (PICTURE + ACTION + QUESTION)
    return STEP * round(seconds / 60 / STEP)
