"""Panel of the page on quantisation: the KV cache in fewer bits."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inference.quantisation import experiments, settings
from pages.ui import cache, controls, head_links, notices, page
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.program import made
from pages.ui.reading import first_tokens, say_nothing_read, text_box
from tfcore.analysis.inference.quantisation import cache_bits
from tfcore.measures import kv_bytes
from tfcore.measures.quantisation import rounded_cache
from tfcore.measures.quantisation.rounded_cache import Axis, CacheScheme

TEXT = (
    "The Amazon rainforest is the largest tropical rainforest in the world. It covers an area of about five and a half "
    "million square kilometres, most of it in Brazil."
)
CHARACTERS = 1_000
TOKENS = 48
BITS = (8, 4, 3, 2)
AXES: dict[Axis, str] = {"channel": "by channel", "token": "by token"}
TRY: dict[str, dict[str, Any]] = {
    "keys by channel": {"cbits": 2, "keys": "channel", "values": "token"},
    "keys by token": {"cbits": 2, "keys": "token", "values": "token"},
    "four bits": {"cbits": 4, "keys": "channel", "values": "token"},
    "eight bits": {"cbits": 8},
}

read = cache.of_model(max_entries=16)(cache_bits.read_vectors)


def panel() -> None:
    """The section."""
    row = controls.text_row()
    page.try_this(TRY)
    controls_beside, left, right = st.columns([4, 6, 6], gap="medium")  # above, they would push the figures down
    with controls_beside:
        bits = controls.segmented("Bits", "cbits", BITS, 2)
        keys = controls.segmented("Keys", "keys", list(AXES), "channel", AXES)
        values = controls.segmented("Values", "values", list(AXES), "token", AXES)
        with page.more_settings():
            name = models.choose("decoder", key="of", default=models.first(), why_not=models.silent)
            config = cache.model(name)[0].config
            layer = controls.place("Layer", "layer", config.n_layers, 12)
            head = controls.place("Head", "head", config.n_heads)
            drawn = controls.segmented("Left picture", "drawn", ["keys", "values"], "keys")
    pasted = text_box(name, "Text", "text", TEXT, CHARACTERS, height=68, named=False, row=row)
    tokens = first_tokens(name, pasted, TOKENS)
    notices.tokens(tokens.total, len(tokens.ids))
    if not tokens.ids:
        say_nothing_read(name, pasted, "text", "There is no text yet: type or paste some above, or pick an example.")
        return
    scheme = CacheScheme(bits=bits, keys=keys, values=values)
    chosen = name, layer, head, scheme
    effect = cache_bits.cache_effect(read(name, pasted, TOKENS), *chosen)
    begun = made(cache_bits.cache_effect, made(cache_bits.read_vectors, name, pasted, TOKENS), *chosen)
    model, tokenizer = cache.model(name)
    there = head_links.of_ids(name, tokens.ids, layer, head, pasted)
    with left:
        shown = experiments.keys(model, tokenizer, effect, pasted, TOKENS, drawn)
        figure(
            shown.figure,
            key="keys",
            height=420,
            table=lambda: pd.DataFrame(effect.keys if drawn == "keys" else effect.values),
            alt=shown.alt,
            caption=f"{shown.caption} As they are; keys after their rotation.",
        )
    with right:
        maps = experiments.maps(model, tokenizer, effect, pasted, TOKENS)
        figure(
            maps.figure,
            key="maps",
            height=420,
            table=lambda: pd.DataFrame(effect.after - effect.before),
            alt=maps.alt,
            caption=head_links.caption(
                f"{maps.caption} Drawn: attention weight with the rounded keys, less that with the keys as they are.",
                there,
            ),
            on_click=head_links.on_cell(there, effect.before),
        )
        there.link_strongest(effect.before, tokens.tokens, tokens.tokens)
    settings.losses_beside(name, "cache", f"int{bits}")
    words(
        page.experiment_of("The keys", experiments.keys, name, begun, pasted, TOKENS, drawn),
        page.experiment_of("The weights", experiments.maps, name, begun, pasted, TOKENS),
    )


def words(*programs: page.Experiment) -> None:
    """What to see and to ask, and how it is computed."""
    page.what_to_see(
        "Vertical stripes in the left picture, where there are some, are channels that are large at every token. A "
        "scale by token has to reach them and leaves few values for the other channels; a scale by channel gives the "
        "stripes a grid of their own. In most heads of smollm2 values are more even. This is what KIVI builds on: keys "
        "by channel, values by token. “Loss” has the loss for every number of bits."
    )
    page.question(
        "int2 with groups of 32 takes 3 bits per value, not 2. How many times smaller than float16 is the cache?",
        "16 / 3 = 5.3 times. A scale and a minimum of 16 bits each for 32 values are one bit per value, as much as "
        "half of the integers.",
    )
    page.how_it_is_computed(
        *programs,
        formula=(
            r"\begin{gathered} \hat X = s \cdot \mathrm{round}\Big(\frac{X - m}{s}\Big) + m, \qquad "
            r"s = \frac{\max X - \min X}{2^b - 1}, \quad m = \min X \\ \text{keys: over 32 tokens of a channel;} "
            r"\qquad \text{values: over 32 channels of a token} \end{gathered}"
        ),
        code=(
            rounded_cache.rounded_cache,
            cache_bits.cache_effect,
            cache_bits.rounded_cache_bytes,
            kv_bytes.cache_bytes,
        ),
        papers=(
            "KIVI: arXiv:2402.02750, section 3. There the last tokens, whose group of keys is not full yet, stay in "
            "float16; here they have a scale of their own, and a scale by channel knows the range of up to 31 "
            "later tokens."
        ),
        terms=("KV cache", "quantisation"),
    )
