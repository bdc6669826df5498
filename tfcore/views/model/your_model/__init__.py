"""Models of one's own: whether they fit into memory, their settings, and their first words."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from tfcore.charts.guesses import guesses_figure
from tfcore.config import ModelConfig
from tfcore.loading.checkpoints import estimate
from tfcore.measures.precision import Dtype
from tfcore.measures.quantities import whole
from tfcore.measures.token_text import tick_labels
from tfcore.presets import PRESETS
from tfcore.views.kept import kept
from tfcore.views.model.your_model import measure, say
from tfcore.views.model.your_model.draw import fits_figure
from tfcore.views.model.your_model.measure import KNOWN, Need, RoundTrip
from tfcore.views.sources import Source, opened
from tfcore.views.view import View, view

FIELDS = {
    "architecture": "architecture",
    "d_model": "width d_model",
    "encoder_layers": "layers of the encoder",
    "decoder_layers": "layers of the decoder",
    "attention.n_heads": "heads",
    "attention.kv_heads": "KV heads",
    "head_size": "width of a head",
    "ff_size": "width of the feed-forward layer",
    "feed_forward.activation": "activation function",
    "positions.kind": "positions",
    "max_seq_len": "context (tokens)",
    "vocab_size": "vocabulary",
    "norm.kind": "norm",
    "norm.placement": "place of the norms",
    "attention.qk_norm": "QK-norm",
    "attention.softcap": "soft cap of scores",
    "attention.sinks": "learned sinks of heads",
    "attention.kv_latent": "width of the latent of keys and values (MLA)",
    "attention.q_latent": "width of the latent of queries",
    "value_size": "width of a head's values",
    "feed_forward.limit": "limit of gate and up",
    "logit_softcap": "soft cap of logits",
    "positions.rotated": "rotated features of a head",
    "parallel": "attention and feed-forward in parallel",
    "window": "window (tokens)",
    "head": "head of the model",
    "tie_embeddings": "tied embeddings",
}


def _needs(own: tuple[tuple[str, ModelConfig], ...], tokens: int, dtype: Dtype) -> list[Need]:
    """The needs of models of one's own and of published ones."""
    return measure.needs(dict(own) | {name: PRESETS[preset]() for name, preset in KNOWN.items()}, tokens, dtype)


def _round_trip(name: str, text: str) -> RoundTrip:
    return measure.round_trip(opened(name)[1], text)


needs_of = kept(_needs, entries=64)
first_words_of = kept(measure.first_words, entries=32)
round_trip_of = kept(_round_trip, entries=32)


@view
def fits(
    own: Mapping[str, ModelConfig], name: str, tokens: int, dtype: Dtype, room: int | None, limit: int | None
) -> View:
    """Which models fit into memory: b bytes for each weight, and for the keys and values of every token.

    Args:
        own: configs of models of one's own by what they are called in the picture, beside published ones; the first
            of them stands out.
        name: of the first of them; "" where there is none.
        tokens: of a text that is written.
        dtype: of weights and cache.
        room, limit: bytes that are free, and that may be used; None where there is no bound.
    """
    rows = needs_of(tuple(own.items()), tokens, dtype)
    return View(
        key="fits",
        title="Which models fit",
        result=rows,
        chart=fits_figure(rows, rows[0].name if name else "", room, limit, height=390),
        findings=(say.models_that_fit(rows, name, room, limit, dtype),),
        table=lambda: pd.DataFrame(
            [(row.name, row.parameters, row.weights, row.cache) for row in rows],
            columns=["model", "parameters", "weights (bytes)", "KV cache (bytes)"],
        ),
        min_width=340,
        formula=r"\text{bytes} = b\,(P + 2\,L\,n_{kv}\,d_{head}\,n)",
        papers="Bytes of weights: arXiv:1910.02054, section 3.1. Keys and values: arXiv:1911.02150, section 2.4.",
        code=(measure.needs, measure.first_words, estimate),
    )


@view
def first(model: Source, text: str) -> View:
    """The first words of a model: what it makes of a text, and what it holds most likely.

    Args:
        model: any model with a head, and its tokenizer.
    """
    words = first_words_of(model, text)
    if words.way in ("nothing", "numbers"):
        raise ValueError("this model has no head that gives probabilities, or there is nothing to read")
    config = opened(model)[0].config
    by_token = config.classes is None or config.classes.meaning == "span"
    what, count = ("token", config.vocab_size) if by_token else ("class", len(config.classes.labels))
    return View(
        key="guesses",
        title="The first words",
        result=words,
        chart=guesses_figure(np.array(words.probabilities), tick_labels(words.best), height=210),
        findings=(say.first_token(words, count),),
        table=lambda: pd.DataFrame({what: words.best, "probability": words.probabilities}),
    )


def settings(config: ModelConfig) -> pd.DataFrame:
    """A config as rows, what it does not have left out."""
    rows: list[tuple[str, Any]] = [(label, attrgetter(field)(config)) for field, label in FIELDS.items()]
    if config.experts is not None:
        rows += [("experts per layer", config.experts.n_experts), ("experts per token", config.experts.top_k)]
    there = [(label, value) for label, value in rows if value is not None and value != 0]
    words = {True: "yes", False: "no", "none": "nothing: hidden states"}
    shown = [(k, whole(v) if type(v) is int else words.get(v, str(v)) if v is not None else "") for k, v in there]
    return pd.DataFrame(shown, columns=["setting", "value"])
