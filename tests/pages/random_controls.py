"""A visitor who sets every control of a page to something: any valid value, drawn with a seed."""

from random import Random
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.pages.visits import run

KINDS = ("segmented_control", "selectbox", "select_slider", "toggle", "pills", "slider", "text_area", "text_input")
TEXTS = (
    "Tom & Ann: 1 + 1 = 2? 100% true; a=b#c",
    "Once upon a time there was a fox. The fox saw a dog, and the dog saw the fox.",
    "Línea uno,\nlínea dos / “drei”",
)
ROUNDS = 4  # a choice may lead to a section with choices of its own


def controls(test: AppTest) -> dict[str, Any]:
    """Key -> the element, of every control that an address can set."""
    found = [element for kind in KINDS for element in getattr(test, kind)]
    return {element.key: element for element in found if element.key and not getattr(element, "disabled", False)}


def values(test: AppTest) -> dict[str, Any]:
    """Key -> what the control holds."""
    return {key: element.value for key, element in controls(test).items()}


def drawn(element: Any, random: Random) -> Any:
    """A valid value for this control."""
    if element.type == "slider":
        steps = round((element.max - element.min) / element.step)
        value = element.min + random.randint(0, steps) * element.step
        return value if isinstance(element.min, int) else round(min(value, element.max), 10)
    if element.type in ("text_area", "text_input"):
        return random.choice(TEXTS)
    if element.type == "toggle":
        return random.random() < 0.5
    if element.type == "button_group" and not element._is_single_select:
        return random.sample(element.options, random.randint(0, len(element.options)))
    return random.choice(element.options)


def set_all(test: AppTest, seed: int | str) -> AppTest:
    """Set every control, those that appear on the way too; the kinds come in the order above."""
    random, done = Random(seed), set[str]()
    for _ in range(ROUNDS):
        new = {key: element for key, element in controls(test).items() if key not in done}
        if not new:
            break
        for element in new.values():
            element.set_value(drawn(element, random))
        done |= new.keys()
        test = run(test)
    return test
