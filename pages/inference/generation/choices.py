"""Settings that all sections of the page on generation share: the text, the model, and the sliders of the filters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.ui import cache, controls, notices, page
from pages.ui.loading import models
from tfcore import shipped
from tfcore.generation.half_precision import for_writing
from tfcore.generation.sampling import Sampling
from tfcore.views.inference import generation as views

CHARACTERS = 2_000  # of a text
TEXT = "Lily was very happy. She went to the park and saw a big"
REAL_TEXT = "Scientists announced on Tuesday that they had found a new species of"
OFF: dict[str, Any] = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "penalty": 1.0}
FIRST: dict[str, Any] = {"temperature": 0.8, "top_k": 40, "top_p": 0.9, "min_p": 0.05, "penalty": 1.2}
SEEDS = 99  # the largest seed


@dataclass(frozen=True, slots=True)
class Prompt:
    """The text to continue, as a model reads it."""

    model: str
    ids: tuple[int, ...]
    pasted: str

    @property
    def network(self) -> Any:
        return cache.model(self.model)[0]

    @property
    def tokenizer(self) -> Any:
        return cache.model(self.model)[1]

    @property
    def stop_ids(self) -> tuple[int, ...]:
        """The tokens that end a text: what comes after them is another text."""
        return models.special(self.model).ends


def text_of(model: str) -> str:
    """The text that a model is given to continue at first: a story to one that knows stories alone."""
    return TEXT if model in shipped() else REAL_TEXT


def prompt(model: str, pasted: str) -> Prompt:
    """The text for a model; says so when only its end is used."""
    ids, total = views.last_tokens_of(model, pasted, views.TOKENS)
    notices.tokens(total, len(ids))
    return Prompt(model, tuple(ids), pasted)


def filters(first: Mapping[str, Any] = FIRST, more: Any = None) -> tuple[Sampling, int, Any]:
    """Controls for every filter and the seed of all draws: the common ones in sight, the others under More settings, to
    which a section may add its own.

    Args:
        first: where they stand at first.
        more: the container of More settings, where it is already there.
    """
    temperature = controls.slider(
        "Temperature",
        "temperature",
        0.0,
        2.0,
        first["temperature"],
        0.05,
        format="%.2f",
        help="Logits are divided by it. 1 leaves them as they are, 0 takes the most likely token: greedy.",
    )
    top_p = controls.slider(
        "Top-p",
        "top_p",
        0.05,
        1.0,
        first["top_p"],
        0.05,
        format="%.2f",
        help="Keep the fewest tokens that together reach p: the nucleus. 1 is off.",
    )
    more = page.more_settings() if more is None else more
    with more:
        top_k = controls.slider(
            "Top-k", "top_k", 0, 100, first["top_k"], help="Keep the k most likely tokens. 0 is off."
        )
        penalty = controls.slider(
            "Repetition penalty",
            "penalty",
            1.0,
            2.0,
            first["penalty"],
            0.05,
            format="%.2f",
            help="1 is off. Logits of tokens that have occurred are divided by it (multiplied, where negative), before "
            "the temperature.",
        )
        min_p = controls.slider(
            "Min-p",
            "min_p",
            0.0,
            0.5,
            first["min_p"],
            0.01,
            format="%.2f",
            help="Keep tokens with at least this fraction of the highest probability. 0 is off.",
        )
        chosen_seed = seed()
    sampling = Sampling(
        temperature=temperature, top_k=top_k or None, top_p=top_p, min_p=min_p, repetition_penalty=penalty
    )
    return sampling, chosen_seed, more


def writer(network: Any) -> Any:
    """The model to write a text with; where that is a copy in half precision, the page says so."""
    adapted = for_writing(network)
    if adapted is not network:
        st.caption("Written in bfloat16, which is faster on this GPU; the other sections compute in float32.")
    return adapted


def seed() -> int:
    """The seed of all draws."""
    return controls.slider("Seed of the sampling", "seed", 0, SEEDS, 81, help="The same seed gives the same text.")


def joined(prompt: Prompt, ids: tuple[int, ...] | list[int]) -> str:
    """Ids as text."""
    return str(prompt.tokenizer.decode(list(ids)))
