"""One stage of the walk as the page shows it: before, after, what it cost."""

from typing import Any, Literal, NamedTuple

import streamlit as st

from pages.ui import controls, fragments, head_links, keys, page, text
from pages.ui.components.scene import Told
from pages.ui.frame import Panel, show
from pages.ui.streamlit_internals import WRAPPER
from tfcore.measures.token_text import character_code, characters_of
from tfcore.views.finding import Finding
from tfcore.views.start import walkthrough as views
from tfcore.views.start.walkthrough.draw import stage_height
from tfcore.views.start.walkthrough.measure.heads import HeadSteps
from tfcore.views.start.walkthrough.measure.tensors import stage_tensors
from tfcore.views.start.walkthrough.measure.walk import WalkedText, with_next_token
from tfcore.views.start.walkthrough.say.costs import cost_metrics
from tfcore.views.start.walkthrough.say.prediction import likeliest_token, text_counts
from tfcore.views.start.walkthrough.say.stages import stage_finding
from tfcore.views.start.walkthrough.say.words import StageWords
from tfcore.views.view import View

# Before and after stand side by side in boxes of one height; where they are stacked, each is as high as it must be.
STACKED = f"""<style>@media (max-width: 640px) {{
  [class*=st-key-walk-], {WRAPPER}:has(> [class*=st-key-walk-]) {{
    height: auto !important; flex: 0 0 auto !important; }}
}}</style>"""
CLICK = "Click a score or a weight, or press Enter, to see why the head looks there."
OF_TEXT = ("characters", "tokens", "ids")


class Here(NamedTuple):
    """The place in the walk.

    Args:
        model, text, hidden: the walk: of which text through which model, and the position of a masked token.
        layer, head: that are looked into.
        name: of the stage.
        walked, words: the walk's tensors, and the words of the stage.
    """

    model: str
    text: str
    hidden: int | None
    layer: int
    head: int
    name: str
    walked: WalkedText
    words: StageWords

    @property
    def height(self) -> int:
        """Pixels of the pictures, the same at every stage."""
        return stage_height(len(self.walked.tokens))

    def numbers(self, when: Literal["before", "after"]) -> View:
        """The tensors before or after the stage."""
        return views.stage(self.model, self.text, self.name, self.layer, self.head, when, self.hidden)

    def prediction(self, height: int) -> View:
        """The most likely tokens."""
        return views.answer(self.model, self.text, self.layer, self.hidden, self.name, height)

    def happened(self) -> Finding:
        """The effect of the stage of numbers."""
        walk = self.walked.walk
        return stage_finding(walk, stage_tensors(walk, self.name, self.head), self.name, self.walked.tokens)


def side_by_side(here: Here, arrow: Literal["top", "center"] = "center") -> tuple[Any, Any]:
    """Places for before and after, with an arrow between them that says what happens."""
    left, between, right = st.columns([8, 3, 8])
    with between, st.container(height=here.height, border=False, vertical_alignment=arrow, key="walk-arrow"):
        st.latex(r"\rule{0pt}{1.8em}\xrightarrow{\;" + here.words.arrow + r"\;}")
    return left, right


def text_stage(p: Panel, here: Here) -> None:
    """A stage of text alone, as chips. The first one shows what comes out at the other end as well."""
    walked = here.walked
    tokens = walked.tokens
    hues = [i % 3 for i in range(len(tokens))]
    letters = characters_of(tokens)
    characters = [letter for letter, _ in letters]
    codes = list(map(character_code, characters))
    row: dict[str, dict[str, Any]] = {
        "characters": {"tokens": characters, "notes": codes, "label": "characters"},
        "letters": {"tokens": characters, "hues": [hues[token] for _, token in letters], "label": "characters"},
        "tokens": {"tokens": tokens, "hues": hues, "label": "tokens"},
        "ids": {"tokens": [str(i) for i in walked.walk.ids], "hues": hues, "label": "ids"},
    }
    rows = {"characters": ("characters", ""), "tokens": ("letters", "tokens"), "ids": ("tokens", "ids")}
    first, second = rows[here.name]
    left, right = side_by_side(here, "top")  # in a low window, too, the first line is in sight
    with left, st.container(height=here.height, border=False, key="walk-before"):
        text.chips(**row[first], key="chips before")
    with right, st.container(height=here.height, border=False, key="walk-after"):
        if second:
            text.chips(**row[second], key="chips after")
        elif walked.candidates:
            p.show(here.prediction(here.height - 60))
    note(text_counts(walked, here.name))


def last_stage(p: Panel, here: Here) -> None:
    """The most likely tokens, and the text with the first of them in its place."""
    written, new = with_next_token(here.walked)
    left, right = side_by_side(here)
    with left:
        p.show(here.prediction(here.height))
    with right, st.container(height=here.height, border=False, vertical_alignment="center", key="walk-after"):
        text.chips(written, hues=[4 if i == new else 3 for i in range(len(written))], key="chips after", label="text")
    note(likeliest_token(here.walked))


def note(finding: Finding) -> None:
    """A sentence on what happened, with its numbers."""
    st.markdown(f"**{text.escape(finding)}**")


def number_stage(p: Panel, here: Here) -> None:
    """A stage of numbers: the tensors before and after, and what happened to them."""
    left, right = side_by_side(here)
    with left:
        show(here.numbers("before"))
    with right:
        p.show(here.numbers("after"))
    note(here.happened())


def head_stage(p: Panel, here: Here) -> None:
    """A stage of attention: one head at work on all tokens. A click on a cell leads to why the head looks there."""
    view = views.head(here.model, here.text, here.name, here.layer, here.head, here.hidden)
    steps: HeadSteps = view.result
    there = head_links.of_ids(here.model, here.walked.walk.ids, here.layer, here.head, here.text)
    n = len(here.walked.tokens)

    def heard(told: Told) -> None:
        match told:
            case ("to", int(step)) if 0 <= step < len(steps.steps):
                controls.set_values(stage=steps.steps[step])
            case ("cell", {"query": int(query), "key": int(key)}) if 0 <= query < n and 0 <= key < n:
                if steps.weights[query, key] > 0:
                    there.open(query, key)

    folded = here.numbers("after")
    p.views[folded.key] = folded  # first: the drawer is that of other stages, and stays open from stage to stage
    p.show(view, hint=CLICK, on_told=heard)
    there.link_strongest(steps.weights, here.walked.tokens, here.walked.tokens)
    note(here.happened())
    as_numbers(p, here)


@fragments.fragment
def as_numbers(p: Panel, here: Here) -> None:
    """The tensors before and after as figures, once they are asked for."""
    drawer = st.expander(
        "Before and after, as numbers", page.OPEN, key=keys.own("expander", "before and after"), on_change="rerun"
    )
    if drawer.open:
        with drawer:
            number_stage(p, here)


def costs(here: Here) -> None:
    """Parameters and operations of the stage, beside those of the whole model."""
    metrics = cost_metrics(here.walked.walk.config, here.name, len(here.walked.walk.ids))
    for place, one in zip(st.columns(2), metrics, strict=True):
        place.metric(one.label, one.value, one.note, delta_color="off", delta_arrow="off")
