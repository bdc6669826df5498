"""Shared by the sections of the page on probing: two classes to begin with, examples, and the choice of a layer."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui import controls, notices
from pages.ui.components.figure import Event, place_of
from pages.ui.loading import models
from pages.ui.reading import first_tokens, is_read, tokens_of
from tfcore.config import ModelConfig
from tfcore.measures.shared_layers import rows_compete
from tfcore.views.inside.probing.measure.two_classes import SENTENCES, TOKENS, all_sentences, sentences

CLASS_CHARACTERS = 1_000  # of the sentences of a class
JOY = """She laughed and hugged her best friend.
We won the game and everyone cheered.
The sun is shining and I feel great.
He was so happy that he began to sing.
What a wonderful present, thank you so much!
The children danced and clapped their hands.
Her smile was bright and full of love.
It was the best day of my life."""
SORROW = """He cried and hid under the table.
We lost everything in the terrible storm.
It is dark and I feel sick.
She was so sad that she could not eat.
What an awful mistake, I am so sorry.
The dog was hurt and whined in pain.
His face was pale and full of fear.
It was the worst night of my life."""
GIRLS = """She put on her pretty dress.
The girl played with her doll.
Mum said that she was a good girl.
Lily took her hat and went out.
The princess lost her crown.
Her aunt had long hair."""
BOYS = """He put on his big boots.
The boy played with his truck.
Dad said that he was a good boy.
Tom took his hat and went out.
The king lost his crown.
His uncle had short hair."""
FRENCH = """Je ne sais pas où il est allé.
Le chat dort sur la table de la cuisine.
Nous avons mangé du pain et du fromage.
Il fait très beau ce matin à Paris.
Elle a acheté une robe bleue hier.
Mon oncle travaille dans une grande usine."""
ENGLISH = """I do not know where he went.
The cat sleeps on the kitchen table.
We ate some bread and cheese.
The weather is very nice this morning.
She bought a blue dress yesterday.
My uncle works in a large factory."""
PAIRS: dict[str, dict[str, Any]] = {
    "joy": {"one": JOY, "two": SORROW},
    "girls": {"one": GIRLS, "two": BOYS},
    "French": {"one": FRENCH, "two": ENGLISH},
}
REAL = "smollm2"


def why_not(config: ModelConfig, tokenizer: Any) -> str | None:
    """Why a model cannot be shown in these sections, or None."""
    if rows_compete(config):
        return "its experts have a limited capacity, for which the texts of a batch would compete."
    return models.silent(config, tokenizer)


def choose_model() -> str:
    """A control for a decoder that continues texts."""
    return models.choose("decoder", why_not=why_not, default=models.first())


def has_real() -> bool:
    """Whether the real model is there."""
    return REAL in models.fitting("decoder", why_not=why_not)


def choose_layer(model: str) -> int:
    """A control for a layer; the index of the stream's state after it, 0 for the embedding."""
    layers = models.config(model).n_layers
    return controls.slider("Layer (-1: the embedding)", "after", -1, layers - 1, (layers + 1) // 2 - 1) + 1


def click_on_layer(event: Event, places: int) -> None:
    """A click on a point chooses its layer; the first place is the embedding."""
    if (place := place_of(event, places)) is not None:
        controls.set_values(after=place - 1)


def class_boxes(height: int, places: tuple[DeltaGenerator, DeltaGenerator]) -> tuple[str, str]:
    """Two boxes of sentences, the first class and the second, each in its place."""
    with places[0]:
        one = controls.text_area("First class, a sentence a line", "one", JOY, CLASS_CHARACTERS, height=height)
    with places[1]:
        two = controls.text_area("Second class", "two", SORROW, CLASS_CHARACTERS, height=height)
    return one, two


def unusable(model: str, one: str, two: str) -> bool:
    """Whether there is no direction between the classes: too few sentences, none that the model reads, or the same
    ones; says so."""
    for name, own in (("first", one), ("second", two)):
        if any(not is_read(model, sentence) for sentence in sentences(own)):
            st.info(
                f"The {name} class has sentences that are no tokens of this model ({tokens_of(model)}): type some of "
                "these, two lines or more, or choose a model that was trained on English."
            )
            return True
        if len(sentences(own)) < 2:
            st.info(
                f"The {name} class needs at least two sentences, each on a line of its own, so that one of them can be "
                f"held out; at most {SENTENCES} are used."
            )
            return True
    if sorted(sentences(one)) == sorted(sentences(two)):
        st.info("Both classes have the same sentences, so nothing tells them apart; change those of one of them.")
        return True
    for name, own in (("first", one), ("second", two)):
        _tell_left_out(model, name, own)
    return False


def _tell_left_out(model: str, name: str, own: str) -> None:
    """Say of a class how many of its sentences, and of their tokens, are left out."""
    key, used, lines = f"left out of the {name} class", sentences(own), len(all_sentences(own))
    rows = [first_tokens(model, sentence, TOKENS) for sentence in used]
    long = [len(row.ids) for row in rows if row.total > len(row.ids)]
    said = [f"the first {len(used)} of {lines} sentences are used"] if lines > len(used) else []
    which = "one sentence" if len(long) == 1 else f"{len(long)} sentences"
    said += [f"of {which} the first {long[0]} tokens are used"] if long else []
    notices.say(key, f"The {name} class is longer than what is read" if said else None, ", and ".join(said))
