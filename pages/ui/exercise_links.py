"""Links between pages and the exercises whose figure they draw, both ways, from what tfcore.exercises says."""

from functools import cache
from urllib.parse import parse_qsl, quote_plus

from pages.facts import Page
from pages.ui import links, places

EXERCISES = "exercises"  # the page


def parts(address: str) -> tuple[Page, dict[str, str]]:
    """The page and the settings of a view that an exercise names."""
    key, _, settings = address.partition("?")
    return places.place(key), dict(parse_qsl(settings))


def address(view: str) -> str:
    """A view as a link in Markdown says it."""
    place, settings = parts(view)
    said = "&".join(f"{name}={quote_plus(value)}" for name, value in settings.items())
    return f"{place.facts.key}?{said}" if said else place.facts.key


def to_page(view: str) -> None:
    """A link to the page whose figure an exercise draws."""
    place, settings = parts(view)
    links.to(place.file, settings, f"The page: **{place.facts.title}**", ":material/arrow_outward:")


@cache
def of_page(key: str) -> dict[str, str]:
    """The exercises whose figure a page draws: name -> title."""
    from tfcore import exercises  # when a drawer opens: it imports the figures of many pages

    return {name: one.title for name, one in exercises.EXERCISES.items() if parts(one.page)[0].facts.key == key}


def to_exercises(names: dict[str, str]) -> None:
    """A link to each of these exercises."""
    for name, title in names.items():
        links.to(
            places.place(EXERCISES).file, {"exercise": name}, f"Write it yourself: **{title}**", ":material/exercise:"
        )
