"""One head on a text: clicks and links that lead to it on the page on heads, and to why it looks at a token there; and
links to what it usually does, its sheet in the atlas."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from pages.ui import cache, links, notices, text
from pages.ui.components.figure import Event
from tfcore.measures import one_text
from tfcore.measures.atlas.atlas import with_atlas
from tfcore.measures.heads.kinds import Place
from tfcore.measures.heads.part_texts import Part
from tfcore.views.foundations.heads.measure.head_ranking import strongest_pair

FILE, ATLAS = "foundations/heads/page.py", "inside/atlas/page.py"
WHY = "why it looks there"  # the section on one score
SHEET = "one head"  # the section of the atlas
MOST = 8  # sheets that a row links to
HEAD = re.compile(r"(?<!\d)([0-9]{1,4})\.([0-9]{1,4})(?!\d)")
CLICK = "Click a cell to see why the head looks there."
# In its place, where there is no such head to open.
IN_TRAINING = "Why a head looks where it does can be opened for installed models only, not at a step of a training."

text_of = cache.of_model(max_entries=128)(one_text.text_of)


@dataclass(frozen=True, slots=True)
class HeadOfText:
    """A head on a text that the page on heads reads alike.

    Args:
        model: its name.
        pasted: the text.
        bos: see one_text.encoded.
        part: of an encoder-decoder; None in other models.
    """

    model: str
    pasted: str
    layer: int
    head: int
    bos: bool | None = None
    part: Part | None = None

    def view(self, query: int, key: int | None = None) -> dict[str, str]:
        """Values for the address: where a query looks in this head or, with a key, why it looks there."""
        said = {"model": self.model, "layer": str(self.layer), "head": str(self.head), "token": str(query)}
        if self.bos is not None:
            said["bos"] = "with" if self.bos else "without"
        if self.part is not None:
            said["part"] = self.part
        if key is not None:
            said |= {"show": WHY, "key": str(key)}
        return {**said, **links.text_parameters("text", self.pasted)}

    def open(self, query: int, key: int | None = None) -> None:
        """Go there, from a click that Python hears of."""
        links.go(FILE, self.view(query, key))

    def link(self, query: int, key: int, queries: Sequence[str], keys: Sequence[str]) -> None:
        """A link to why the head looks from one token at another: the same as a click, for the keyboard.

        Args:
            queries, keys: tokens of the map.
        """
        one, other = (text.escape(text.visible(token)) for token in (queries[query], keys[key]))
        words = f"Why does “{one}” look at “{other}” in head {self.layer}.{self.head}?"
        links.to(FILE, self.view(query, key), words, ":material/arrow_outward:")

    def link_strongest(self, weights: Float[ndarray, "query key"], queries: Sequence[str], keys: Sequence[str]) -> None:
        """The same link for the largest weight between two tokens that are no neighbours, first token apart."""
        hidden = np.arange(weights.shape[1]) == 0
        pair = strongest_pair(weights[None, None], hidden)
        self.link(pair.query, pair.key, queries, keys)


def on_cell(there: HeadOfText | None, weights: Float[ndarray, "query key"]) -> Callable[[Event], None] | None:
    """The action of a click on a cell of a map of this head, x the key and y the query: it leads to why the head looks
    there. Nothing where it does not look.

    Args:
        weights: of the head, 0 where the model's mask blocks.
    """
    if there is None:
        return None

    def click(event: Event) -> None:
        match event:
            case {"x": int(key), "y": int(query)} if 0 <= query < len(weights) and 0 <= key < weights.shape[1]:
                if weights[query, key] > 0:
                    there.open(query, key)

    return click


def caption(words: str, there: HeadOfText | None, why_not: str = "") -> str:
    """The caption of a map whose cells lead somewhere, or do not.

    Args:
        why_not: what it says where they lead nowhere.
    """
    return f"{words} {why_not if there is None else CLICK}".strip()


def of_ids(model: str, ids: Sequence[int], layer: int, head: int, pasted: str = "") -> HeadOfText:
    """A head on these tokens.

    Args:
        pasted: the text that they come from, if they do.
    """
    shown = text_of(model, tuple(ids), pasted)
    return HeadOfText(model, shown.text, layer, head, shown.bos)


def sheets(model: str, places: Sequence[Place]) -> None:
    """A row of links to what these heads usually do; nothing of a model that has no atlas.

    Args:
        places: heads, the most important first; of many the first MOST.
    """
    if model not in with_atlas() or not places:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("What it usually does:" if len(places) == 1 else "What they usually do:", width="content")
        for layer, head in list(dict.fromkeys(places))[:MOST]:
            view = {"model": model, "show": SHEET, "layer": str(layer), "head": str(head)}
            links.to(ATLAS, view, f"head {layer}.{head}")


def largest(values: Float[ndarray, "layer head"], most: int = 3) -> list[Place]:
    """The heads with the largest numbers, whatever their sign, the largest first."""
    order = np.argsort(-np.abs(values), axis=None, kind="stable")[:most]
    return [divmod(int(place), values.shape[1]) for place in order]


def named_heads(key: str, words: str, shape: Place) -> tuple[Place, ...]:
    """The heads that a text names, as in "3.0 2.5", each once; with a notice where it names others or none.

    Args:
        key: of the control that holds the text.
        shape: layers, and heads of each.
    """
    named = dict.fromkeys((int(layer), int(head)) for layer, head in HEAD.findall(words))
    there = tuple((layer, head) for layer, head in named if layer < shape[0] and head < shape[1])
    if len(there) < len(named) or (words.strip() and not named):
        last = f"{shape[0] - 1}.{shape[1] - 1}"
        notices.add(key, f"Heads are written as 0.0 to {last}; others are ignored", value=words)
    return there
