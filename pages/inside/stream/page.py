"""The residual stream of a trained model: direct logit attribution, logit lens, norm and cosine, skipped layers."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.inside import metric
from pages.inside import reading as _reading
from pages.inside.reading import ReadText
from pages.inside.stream.choices import CHARACTERS, TEXT, TOKENS
from pages.inside.stream.facts import FACTS
from pages.inside.stream.lens import choose_lens, logit_lens
from pages.inside.stream.parts import who_wrote
from pages.inside.stream.shape import shape
from pages.inside.stream.skip import skip
from pages.ui import beside, controls, in_your_text, page
from pages.ui.loading import models
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.reading import text_box
from tfcore.config import ModelConfig

DRAWN: dict[str, Callable[[ReadText, Any], None]] = {"shape": shape, "skip": skip}
HE = _reading.BOY
LAST = {"by": "prediction", "word": 0, "against": metric.MEAN, "bos": "as usual", "by_lens": "logit"}
HE_SHE = metric.two_tokens(" he", " she")
TRY: dict[str, dict[str, Any]] = {
    "which head writes “ball”?": {"show": "who", "text": TEXT, "position": 23, "layer": 3, "part": "head 0"},
    "which head writes “he”?": {"show": "who", "text": HE, "position": 11, "layer": 2, "part": "head 5"},
    "“he”, not “she”": {"show": "who", "text": HE, "position": 11, **HE_SHE, "layer": 2, "part": "head 5"},
    "layer by layer": {"show": "lens", "text": TEXT, "position": 23},
    "by a tuned lens": {"show": "lens", "text": TEXT, "position": 23, "by_lens": "tuned"},
    "norm and cosine": {"show": "shape", "text": TEXT, "position": 23},
    "without attention 0": {"show": "skip", "text": TEXT, "position": 23, "skip": "attention 0"},
}

REAL = "smollm2"  # a model that knows more than children's stories
MARY = {"text": "When Mary and John went to the store, John gave a drink to", "position": 13}
TRY_REAL: dict[str, dict[str, Any]] = {
    "“Mary”, not “John” (smollm2)": {"show": "who", **MARY, **metric.two_tokens(" Mary", " John")},
    "where “Mary” comes up (smollm2)": {"show": "lens", **MARY},
    "read by smollm2 itself": {"show": "lens", **MARY, "by_lens": "patchscope"},
    "by its Jacobian lens (smollm2)": {"show": "lens", **MARY, "by_lens": "jacobian"},
}


def no_sum(config: ModelConfig, tokenizer: Any) -> str | None:
    """Why there is nothing to add up in a model, or None."""
    if problem := models.no_decoder(config):
        return problem
    if config.norm.placement == "post":
        return "it normalises after every sum (post-LN), so its logits are no plain sum of what the parts wrote."
    return models.silent(config, tokenizer) if config.classes is None else models.other_scores(config)


page.begin(FACTS, always=_reading.said_always(layer="3", part="head 0"))
box, menu = st.columns([4, 1], vertical_alignment="bottom")
with menu:
    model = models.choose(why_not=no_sum, reads="the stream")
with box:
    pasted = text_box(model, "Text", "text", TEXT, CHARACTERS, height=68, named=False)
second = st.container(horizontal=True)
offer_real(model, pasted)
examples = {name: {"model": "stories", **LAST, **values} for name, values in TRY.items()}
if REAL in models.fitting("decoder", why_not=no_sum):
    examples |= {name: {"model": REAL, **LAST, **values} for name, values in TRY_REAL.items()}
page.try_this(examples)
under = st.container()
with st.container(horizontal=True, vertical_alignment="bottom"):
    section = controls.sections(FACTS.sections)
    by = choose_lens(model) if section == "lens" else "logit"
    more, bos = _reading.more_settings(model)
reading = _reading.checked(model, pasted, TOKENS, bos=bos)
if section in ("who", "lens"):
    with more:
        other = beside.choose(reading.whole, HE, CHARACTERS, TOKENS, place=second, why_not=no_sum)
with under:
    in_your_text.above(pasted)
if section == "lens":
    logit_lens(reading, by, more, other)
elif section == "who":
    who_wrote(reading, more, other)
else:
    DRAWN[section](reading, more)
in_your_text.fill(reading.whole, TOKENS, in_your_text.in_stream, "decision")
