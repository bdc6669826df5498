"""The front page's stage: a text and its river."""

import streamlit as st

from pages.ui import cache, controls, flow, fragments, in_your_text, links, notices, page, places, text
from pages.ui.loading import models
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.reading import say_nothing_read, text_box
from pages.ui.session import session
from tfcore.generation.sampling import Sampling
from tfcore.measures.answers import answers_of
from tfcore.measures.effect_metric import Quantity
from tfcore.views.inside import flow as views
from tfcore.views.sources import Reading

CHARACTERS = 2_000
REAL = "smollm2"
TEXT = "Sam was a little boy. One day, Sam said that"
BALL = "Max lost his red ball. One day Max found the red"
NAMES = "When Mary and John went to the store, John gave a drink to"
NONE = {"heads": "", "measured": "0", "open": "", "zoom": "", "widths": flow.STATE}
SHIPPED_UNTIL = "3"  # version of links up to which the page began with the model that ships
PAGE = "inside/flow/page.py"
BELOW = "home:model"  # of the map further down


@fragments.fragment
def show() -> None:
    """The text, the river, what can be done with it: what is below need not be sent again when a head changes."""
    box, choice = st.columns([8, 2], vertical_alignment="bottom")
    with choice:
        model = models.choose(default=models.first(SHIPPED_UNTIL), reads="the stream")
    first = NAMES if model == REAL and not links.is_old(SHIPPED_UNTIL) else TEXT
    with box:
        pasted = text_box(model, "Your text", "text", first, CHARACTERS, height=68, named=False)
    offer_real(model, pasted)
    real = {"Mary or John?": {**NONE, "model": REAL, "text": NAMES}}
    shipped = {
        "he or she?": {**NONE, "model": models.DEFAULT, "text": TEXT},
        "a red ball again": {**NONE, "model": models.DEFAULT, "text": BALL},
    }
    page.try_this({**(real if REAL in models.fitting("decoder", why_not=models.silent) else {}), **shipped})
    network, tokenizer = cache.model(model)
    place, below = st.container(), st.container(horizontal=True, vertical_alignment="center", gap="medium")
    config = network.config
    writes = config.architecture == "decoder" and not models.silent(config, tokenizer)
    names_classes = config.classes is not None and not (models.other_scores(config) or models.reads_mean(config))
    usual = views.passage_of(Reading(model, pasted), None) if writes or names_classes else None
    notices.tokens(*((usual.total, len(usual.ids)) if usual else (0, 0)))
    if usual is None:
        name = text.escape(model, text.NAME)
        place.info(f"A river is drawn of decoders, which write, and of what names classes. Below is the map of {name}.")
    elif not usual.ids:
        with place:
            say_nothing_read(
                model, pasted, "text", "There is no text yet: type or paste some above, or pick an example."
            )
    else:
        with below:
            button = st.container(width="content")
            sampling = flow.choose_sampling() if writes else None
        has_choice = len(usual.choices) > 1
        with place:
            in_your_text.above(pasted)
            drawn = draw(model, pasted, flow.asked_token(usual) if has_choice else None, sampling, has_choice)
            in_your_text.reserve()
        if sampling is not None:
            with button:
                flow.write(drawn, sampling)
        with below:
            flow.restore(drawn)
            view = {"model": model, "heads": drawn.heads, **links.text_parameters("text", pasted), **explained(drawn)}
            links.to(PAGE, view, "The same on its own page", ":material/waves:")
    with below:
        links.to(places.place("lessons").file, {}, "All lessons", ":material/school:")
    if usual is not None and usual.ids:
        shows = flow.in_river if has_choice else flow.in_one_river
        in_your_text.fill(Reading(model, pasted), views.TOKENS, shows, flow.begins_with(pasted) if writes else None)
    if not session().in_whole_run and st.session_state.get(BELOW) != model:
        st.rerun()


def explained(drawn: flow.DrawnFlow) -> dict[str, str]:
    """How the address of the page on the flow says what is explained."""
    network, tokenizer = cache.model(drawn.model)
    pieces, of_classes = answers_of(network, tokenizer).tokens(drawn.ranked), network.config.classes is not None
    words = [f"{rank + 1}: {text.visible(pieces[rank])}" for rank in flow.asked_ranks()]
    said = dict(zip(("word", "against"), words, strict=False))
    if of_classes:
        return {"by": "the class" if len(words) == 1 else "two classes", "widths": flow.asked_widths(), **said}
    if drawn.choice is not None:
        said["token"] = flow.token_labels(drawn.passage)[drawn.choice]
    return {"by": "the next token" if len(words) == 1 else "two tokens", "widths": flow.asked_widths(), **said}


def draw(
    model: str, pasted: str, token: int | None, sampling: Sampling | None, has_choice: bool = True
) -> flow.DrawnFlow:
    """The river of a text, traced from the prediction after a token, of which there may be a choice; None: the last."""
    opened, (rank, *other) = flow.asked_layers(model), flow.asked_ranks()
    drawn = flow.read(model, pasted, token)
    explained = Quantity("prediction", drawn.ranked[rank])
    if other:
        explained = Quantity("difference", drawn.ranked[rank], drawn.ranked[other[0]])
    drawn = flow.toward(drawn, explained)

    def measure(*ranks: int) -> None:
        controls.set_values(measured=" ".join(map(str, ranks)))

    choosing = flow.choose_token if has_choice else None
    flow.show(drawn, opened, explained, sampling, measure, lambda place: measure(rank, place), choosing)
    return drawn
