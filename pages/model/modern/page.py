"""From the Transformer of 2017 to today's, one switch at a time."""

from collections.abc import Callable

import streamlit as st

from pages.model.modern.facts import FACTS
from pages.model.modern.one_head import one_head
from pages.model.modern.second_wave import second_wave
from pages.model.modern.words import ABOUT, FIRST, SIZE_NAMES
from pages.ui import controls, links, page
from pages.ui.components.figure import Event
from pages.ui.components.player import player
from pages.ui.frame import panel
from pages.ui.loading import model_map
from pages.ui.work import live
from tfcore.training.modernisation import SWITCHES
from tfcore.views.model import modern as views
from tfcore.views.model.modern import measure, say

NAMES = list(SWITCHES)
LAST = len(NAMES) - 1
BEGIN = NAMES.index("GQA")  # of all switches it changes most that is counted; links of before begin with the first
PERIOD = 1.5  # seconds a switch, when they play


def click(event: Event) -> None:
    """A click on a bar chooses its switch."""
    match event["customdata"]:
        case [int(step)]:
            controls.set_values(step=step)


def first_wave() -> None:
    """The effects of the switches made, and the block before and after the last of them; then one head."""
    with panel() as p:
        p.examples(
            {
                "where it began": {"step": 0},
                "a smaller KV cache": {"step": 4, "size": "large"},
                "a gated layer": {"step": 5},
                "today's": {"step": LAST},
            }
        )
        with p.controls:
            step = controls.slider("Switches made", "step", 0, LAST, 1 if links.is_old("3") else BEGIN)
            player("step", 0, LAST, step, label="one switch after the other", period=PERIOD, everywhere=True)
            size = controls.select("Size to count", "size", list(FIRST), "small", SIZE_NAMES)
            seed = controls.slider("Weights of the timed models", "seed", 0, 20, 0)
            place = st.container()
        key = ("modern", seed)

        def show(points: list[measure.Speed]) -> None:
            """The effects as far as they are known."""
            p.show(views.switches(FIRST[size], SIZE_NAMES[size], step, seed, so_far=points), on_click=click)

        total, again = len(NAMES) * measure.ROUNDS, {"seed": controls.next_seed(seed)}
        live.watch_measurement(key, lambda: measure.race(seed), total, (place, p.picture), show, again)
        versions, name = views.versions_of(FIRST[size]), NAMES[step]
        st.subheader(f"Switch {step}: {name}" if step else name, anchor=False)
        st.markdown(ABOUT[name])
        for column, at, side in zip(st.columns(2, gap="medium"), (step - 1, step), ("before", "after"), strict=True):
            with column:
                if at < 0:
                    st.caption("This is where it begins.")
                    continue
                st.markdown(f"**{side}:** {NAMES[at]}" if step else f"**{NAMES[at]}**")
                last = versions[step - 1].config if at == step and step else None
                model_map.show(views.change(versions[at].config, last, NAMES[at], side))
        trained = measure.trained()
        effects = (
            str(say.loss_changes(trained.losses))
            if trained is not None
            else "The losses of models trained alike are not here yet: their recipe is ladder-modernisation."
        )
        p.what_to_see(
            f"{say.size_changes(versions)} {effects} Several of the switches were made for stable training or for "
            "speed in large models, which models of this size cannot show. Choose a larger size: the balance of the "
            "parameters changes."
        )
        p.question(
            "Which of the eight would you undo first if memory for long contexts were of no concern?",
            "GQA: it exists to make the KV cache smaller. It also saves the parameters of W_K and W_V, and its query "
            "heads have to share their keys and values for it.",
        )
    one_head()


# what draws each section, computed and sent only when it is looked at
SECTIONS: dict[str, Callable[[], None]] = {"first": first_wave, "second": second_wave}

page.begin(FACTS)
SECTIONS[controls.sections(FACTS.sections)]()
