"""Controls of the page on the atlas that its sections share: what heads are measured on, and which head is looked
at."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from pages.ui import cache, controls, fragments, keys, page
from pages.ui.components.figure import Event
from pages.ui.reading import say_nothing_read, text_box
from pages.ui.work import live
from pages.ui.work.jobs import Job
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.measures.atlas.atlas import FOLDER, MEASURES, Atlas, load_atlas, with_atlas
from tfcore.measures.atlas.growing import LEAST, AtlasProgress, growing_atlas
from tfcore.measures.heads.kinds import TEXTS, Place
from tfcore.views.inside.atlas.measure import telling_head

CHARACTERS = 30_000  # of a text of one's own that heads are measured on
CORPUS = "\n\n".join(TEXTS)
EFFECTS = ("effect", "effect_low", "effect_high")  # of mean ablation, which takes long: stored alone
STORED, OWN = "stored", "own"
ON = {STORED: "stored texts", OWN: "own text"}
Draw = Callable[[Atlas | None], None]


@dataclass(frozen=True, slots=True)
class MeasuredHeads:
    """Heads, and what they are measured on.

    Args:
        model: its name.
        corpus: a text of one's own; empty for what is stored.
    """

    model: str
    corpus: str

    @property
    def shape(self) -> Place:
        """Layers, and heads of each."""
        config = cache.model(self.model)[0].config
        return config.n_layers, config.attention.n_heads

    @property
    def measures(self) -> list[str]:
        """The names of what is measured."""
        if not self.corpus:
            return list(load_atlas(self.model).measures)
        sees_ahead = cache.model(self.model)[0].config.architecture == "encoder"
        lacking = EFFECTS if sees_ahead else (*EFFECTS, "next")
        return [name for name in MEASURES if name not in lacking]

    @property
    def first(self) -> Place:
        """The head to look at first."""
        return (0, 0) if self.corpus else telling_head(load_atlas(self.model))

    def show(self, beside: Any, draw: Draw) -> None:
        """Draw what is stored, or, again and again, what is measured until now.

        Args:
            beside: a place for how far that is.
            draw: given what there is of the atlas; None for what is stored.
        """
        if not self.corpus:
            draw(None)
            return
        key = ("atlas", self.model, self.corpus)
        model, tokenizer = cache.model(self.model)
        job = live.begin(key, partial(growing_atlas, model, tokenizer, self.corpus))

        def look(job: Job) -> None:
            steps: tuple[AtlasProgress, ...] = job.items
            atlas = next((step.atlas for step in reversed(steps) if step.atlas is not None), None)
            with beside:
                done, total = (steps[-1].done, steps[-1].total) if steps else (0, 1)
                live.bar(key, job, done, total, {}, work="measurement", step="token", fresh="")
            if atlas is not None:
                draw(atlas)

        live.watch(key, look, job)


@cache.of_model(max_entries=64)
def token_count(model: Any, tokenizer: Any, corpus: str) -> int:  # noqa: ARG001 - the model's name is the key
    """Tokens of a text."""
    return len(tokenizer.encode(corpus))


def choose_measured(model: str) -> MeasuredHeads:
    """What heads are measured on: a control, and a box for a text."""
    stored = model in with_atlas()
    on = controls.segmented(
        "Measured on", "on", list(ON) if stored else [OWN], STORED if stored else OWN, ON, named=False
    )
    if on == STORED:
        return MeasuredHeads(model, "")
    corpus = text_box(model, "Text that heads are measured on", "corpus", CORPUS, CHARACTERS, height=100, named=False)
    if token_count(model, corpus) < LEAST:
        say_nothing_read(
            model, corpus, "corpus", "There is no text yet: type or paste some above, the more the better."
        )
        fragments.stop()
    return MeasuredHeads(model, corpus)


def choose_head(heads: MeasuredHeads) -> Place:
    """Layer and head."""
    layers, count = heads.shape
    first = heads.first
    one, other = st.columns(2)
    with one:
        layer = controls.place("Layer", "layer", layers, first[0])
    with other:
        head = controls.place("Head", "head", count, first[1])
    return layer, head


def offer_card(heads: MeasuredHeads) -> None:
    """The card of what is stored, in a drawer: the texts, how it was made, what was measured again."""
    if heads.corpus:
        return
    card = st.expander("The card of this atlas", page.OPEN, key=keys.own("expander", "card"), on_change="rerun")
    if card.open:
        card.markdown((PRETRAINED / heads.model / FOLDER / "CARD.md").read_text("utf-8").replace("# ", "##### "))


def offer_sheet(place: Place) -> None:
    """A button that leads to all there is of a head."""
    st.button(
        f"The whole sheet of head {place[0]}.{place[1]}",
        key=keys.own("button", "sheet"),
        on_click=controls.set_values,
        kwargs={"show": "head"},
    )


def pick(heads: MeasuredHeads, event: Event, **more: Any) -> None:
    """A click on a head chooses it."""
    layers, count = heads.shape
    match event["customdata"]:
        case [int(layer), int(head)] if 0 <= layer < layers and 0 <= head < count:
            controls.set_values(layer=layer, head=head, **more)
