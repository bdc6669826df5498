"""Another text, or the same text in another model, beside what a page shows: one way in for all pages that compare."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui import cache, controls, fragments
from pages.ui.loading import model_settings, models, own_models
from pages.ui.reading import text_box
from tfcore.config import Architecture
from tfcore.measures.counterfactual import counterfactual
from tfcore.views.sources import Reading

NOTHING = "nothing"
WITH = {NOTHING: "nothing", "text": "another text", "model": "another model"}

replaced_word = cache.of_model(max_entries=64)(counterfactual)


def choose(
    reading: Reading,
    usual: str,
    characters: int,
    tokens: int,
    *,
    place: DeltaGenerator,
    of: Architecture = "decoder",
    why_not: models.WhyNot | None = None,
) -> Reading | None:
    """The reading that stands beside one of a model by name, or None. The choice stands where this is called.

    Args:
        usual: the text that is offered where no word of the first one can be replaced.
        characters, tokens: of a text, at most.
        place: of the second text or model.
        of, why_not: models that will do, see models.choose.
    """
    name = str(reading.model)
    against = controls.segmented("Compare with", "with", list(WITH), NOTHING, WITH)
    if against == NOTHING:
        return None
    with place:
        if against == "model":
            return Reading(other_model(name, of, why_not=why_not), reading.text)
        begin = (replaced_word(name, reading.text, tokens) if of == "decoder" else None) or usual
        return Reading(name, other_text(name, begin, characters), bos=reading.bos)


def other_text(name: str, usual: str, characters: int, height: int = 68) -> str:
    """A box for the other text; stops the page where it is empty."""
    pasted = text_box(name, "Other text", "text2", usual, characters, height=height, kind="other")
    if not pasted.strip():
        st.info("There is no other text yet: type or paste some.")
        fragments.stop()
    return pasted


def other_model(name: str, *of: Architecture, why_not: models.WhyNot | None = None) -> str:
    """A select of the models but the first; it begins with the one that ships beside a real one, or the other way
    round."""
    first = other_of(name, *of, why_not=why_not)
    return models.choose(*of, key="model2", label="Other model", default=first, why_not=why_not)


def other_of(name: str, *of: Architecture, why_not: models.WhyNot | None = None) -> str:
    """The model that stands beside another at first: beside an adapter the base that it changes, if it may be shown."""
    base = models.base_of(name)
    if base is not None and own_models.is_own(base) and model_settings.read().refusal(base) is None:
        models.remember(base)
        return base
    if base is not None and base in models.fitting(*of, why_not=why_not):
        return base
    known = models.names(*of) if why_not is None else models.fitting(*of, why_not=why_not)
    there = [one for one in known if one != name] or [name]
    return next(one for one in (models.DEFAULT, models.REAL, *there) if one in there)
