"""What the pages of this chapter share: a text as a model reads it, its predictions, names of parts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from pages.ui import cache, fragments, notices, text
from pages.ui.reading import first_tokens
from tfcore.analysis.training.text_loss import next_tokens

GUESSES = 6
ATTENTION, FORWARD = "@attention", "@feedforward"
BOY = "There was a little boy. One day, Sam said that"  # of which the pages on stories say more


@dataclass(frozen=True, slots=True)
class Reading:
    """The first tokens of a text.

    Args:
        model: name of the model that reads it.
        pasted: the text.
        ids: of its first tokens.
        tokens: as pieces of text.
        total: how many there are in all.
    """

    model: str
    pasted: str
    ids: list[int]
    tokens: list[str]
    total: int

    @property
    def labels(self) -> list[str]:
        """The tokens, safe for plotly."""
        return text.tick_labels(self.tokens, 10)


def read(model: str, pasted: str, limit: int) -> Reading:
    return Reading(model, pasted, *first_tokens(model, pasted, limit))


def checked(model: str, pasted: str, limit: int, name: str = "text") -> Reading:
    """The text as it is used, with a word where it was cut; stops the page when it is empty."""
    reading = read(model, pasted, limit)
    notices.tokens(reading.total, len(reading.ids), name)
    if not reading.ids:
        st.info(f"There is no {name} yet: type or paste some above, or pick an example.")
        fragments.stop()
    return reading


@cache.data(max_entries=128)
def guesses(model: str, pasted: str, limit: int, position: int) -> tuple[list[int], list[str], list[float]]:
    """The most probable tokens after a position: ids, pieces, probabilities."""
    network, tokenizer = cache.model(model)
    found = next_tokens(network, read(model, pasted, limit).ids[: position + 1], GUESSES)
    return found.ids.tolist(), tokenizer.tokens(found.ids.tolist()), found.probabilities.tolist()


@cache.data(max_entries=256)
def piece(model: str, token: int) -> str:
    """One token as text."""
    piece: str = cache.model(model)[1].tokens([token])[0]
    return piece


def shown(token: str) -> str:
    """One token inside a sentence in Markdown."""
    return f"“{text.escape(text.visible(token))}”"


def part_name(name: str, short: bool = False) -> str:
    """blocks.2.attn_out -> attention 2."""
    layer = re.sub(r"\D", "", name.partition(".")[2].partition(".")[0])
    kind = ("attn", "FF") if short else ("attention", "feed-forward")
    return f"{kind['mlp' in name]} {layer}"


def stage_names(stages: Sequence[str], short: bool = True) -> list[str]:
    """blocks.0.resid_pre -> embedding; blocks.2.resid_mid -> attention 2; and what comes after it, feed-forward 2."""
    halves = any(name.endswith("resid_mid") for name in stages)
    names = ["embed" if short else "embedding"]
    for name in stages[1:]:
        layer = name.split(".")[1]
        kind = ("attn", "FF") if short else ("attention", "feed-forward")
        names.append(f"{kind[name.endswith('resid_post')]} {layer}" if halves else f"block {layer}")
    return names


def role(name: str) -> str:
    """The colour role of a part."""
    return FORWARD if "mlp" in name or "FF" in name else ATTENTION
