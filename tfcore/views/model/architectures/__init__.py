"""Encoder, decoder and encoder-decoder side by side, and each at the task it was trained for."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from tfcore.charts.guesses import guesses_figure
from tfcore.charts.tiles import tiles
from tfcore.charts.tokens import token_heatmap
from tfcore.config import Architecture
from tfcore.generation.generate import generate
from tfcore.measures.masked_tokens import fill_masked, guesses
from tfcore.measures.token_text import tick_labels
from tfcore.measures.translation import writing
from tfcore.views.finding import state
from tfcore.views.kept import kept
from tfcore.views.model.architectures import measure, say
from tfcore.views.model.architectures.draw import STACKS, seen_figure, stack_figure
from tfcore.views.model.architectures.measure import Prediction
from tfcore.views.sources import Source
from tfcore.views.view import View, view

TITLES: dict[Architecture, str] = {
    "encoder": "Encoder only",
    "decoder": "Decoder only",
    "encoder-decoder": "Encoder-decoder",
}
READ, WRITTEN = ("she", "saw", "him", "break", "the", "window"), ("elle", "le", "vit", "briser", "la", "fenêtre")
BLANK = "___"
TOP = 8  # tokens of a prediction
MOST = 48  # tokens of a sentence that are translated
NEW = 24  # tokens that a story is continued by at most

real_models = kept(measure.real_models, entries=1)
translated_of = kept(measure.translated, entries=64)
masked_of = kept(measure.masked, entries=64)
continued_of = kept(measure.continued, entries=64)


# ---- the three kinds ----


@view
def stack(architecture: Architecture, layers: int) -> View:
    """A kind of Transformer as boxes, from the text at the bottom to the question it is trained to answer on top.

    Args:
        layers: blocks of each stack.
    """
    parts = [", then ".join(words.replace("<br>", " ") for words, _ in boxes) for boxes in STACKS[architecture]]
    title = TITLES[architecture]
    return View(
        key=f"stack-{architecture}",
        title=title,
        result=STACKS[architecture],
        chart=stack_figure(architecture, layers, height=330),
        described=state("stack", "{title}: {parts}", title=title, parts="; ".join(parts)),
    )


@view
def mask(architecture: Architecture, read: int, written: int) -> View:
    """The attention mask of a kind of Transformer: who may look at whom while a text is read and another one written.

    Args:
        read, written: tokens of the source and of the target.
    """
    allowed = measure.seen(architecture, read, written)
    return View(
        key=f"seen-{architecture}",
        title=f"Attention mask: {TITLES[architecture].lower()}",
        result=allowed,
        chart=seen_figure(allowed, [*READ[:read], *WRITTEN[:written]], read, height=360),
        findings=(say.allowed_pairs(allowed, architecture, read, written),),
        note="Dotted: between source and target.",
        min_width=250,
        formula=(
            r"\begin{gathered}\mathrm{softmax}\Big(\tfrac{QK^\top}{\sqrt{d_k}} + M\Big)\,V"
            r"\\ M_{ij} = 0 \text{ where } i \text{ may see } j,\ -\infty \text{ elsewhere}\end{gathered}"
        ),
        papers=(
            "GPT-2: Radford et al. 2019, which has no arXiv number. Parameters are those of the published checkpoint, "
            "BERT's with both heads. One kind of model can do the task of another: T5 and GPT-3 generate the name of a "
            "class; what differs is what they were trained on."
        ),
        terms=("masked language modelling", "span corruption", "denoising"),
        code=(measure.seen,),
    )


# ---- translation ----


@view
def translation(model: Source, sentence: str, layer: int, head: int | None, step: int) -> View:
    """An encoder-decoder translates; its cross-attention says where each word came from.

    Args:
        model: any encoder-decoder that translates, with its tokenizer.
        sentence: of which MOST tokens are read.
        layer: whose cross-attention is drawn.
        head: of the layer; None for the mean over its heads.
        step: the target token that is spoken of.
    """
    translated = translated_of(model, sentence, MOST, TOP)
    weights = translated.weights(layer, head)
    columns = [f"{place} {token}" for place, token in enumerate(translated.source)]  # no two the same
    return View(
        key="alignment",
        title="The cross-attention",
        result=translated,
        chart=token_heatmap(
            weights,
            tick_labels(translated.target),
            tick_labels(translated.source),
            height=460,
            hover="query %{y}, key %{x}: %{z:.2f}",
        ),
        findings=(say.strongest_source(translated, layer, head, step),),
        table=lambda: pd.DataFrame(weights, index=translated.target, columns=columns).reset_index(names="written"),
        min_width=320,
        cursor=True,
        code=(writing,),
    )


@view
def target_token(model: Source, sentence: str, step: int) -> View:
    """The most probable tokens at one place of a translation. See translation."""
    translated = translated_of(model, sentence, MOST, TOP)
    vocab = translated.writing.probabilities.shape[1]
    what = f"Token {step} of the translation, of {vocab:,} possible"
    return _prediction("next", "The target token", translated.predictions[step], what)


@view
def every_head(model: Source, sentence: str, layer: int, head: int | None) -> View:
    """The cross-attention of every head of a translation, small. See translation."""
    translated = translated_of(model, sentence, MOST, TOP)
    patterns = translated.writing.patterns
    layers, heads, *_ = patterns.shape
    places = [(i, j) for i in range(layers) for j in range(heads)]
    return View(
        key="heads",
        title="Every head",
        result=patterns,
        chart=tiles(
            np.concatenate(patterns),
            [f"{i}.{j}" for i, j in places],
            heads,
            hovers=[f"layer {i}, head {j}" for i, j in places],
            customdata=[list(place) for place in places],
            selected=None if head is None else layer * heads + head,
            height=420,
        ),
        findings=(say.largest_weights(translated),),
        note="Each as layer.head; rows are target tokens (queries), columns source tokens (keys).",
        min_width=460,
    )


# ---- a blank, and what follows ----


@view
def both_sides(model: Source, text: str, blank: int) -> View:
    """An encoder fills a blank: it knows what comes before and what comes after.

    Args:
        model: any encoder that predicts masked tokens, with its tokenizer.
        text: with BLANK in place of each masked token.
        blank: which of them is predicted.
    """
    masked = masked_of(model, text, BLANK, TOP)
    what = f"The encoder's prediction, from all {len(masked.tokens)} tokens"
    return _prediction("both sides", "The encoder's prediction", masked.predictions[blank], what, guesses, fill_masked)


@view
def left_side(model: Source, text: str, before: int) -> View:
    """A decoder fills a blank: it knows what comes before alone.

    Args:
        model: any decoder with its tokenizer.
        text: before the blank.
        before: its tokens, as another tokenizer counts them.
    """
    what = f"The decoder's prediction, from the {before} tokens before it"
    return _prediction("left side", "The decoder's prediction", _next(model, text, 0), what)


@view
def continuation(model: Source, text: str, new: int) -> View:
    """A decoder writes on: it answers one question only, what comes next, again and again.

    Args:
        model: any decoder with its tokenizer.
        text: that it goes on with.
        new: tokens that it writes, each the likeliest one.
    """
    return _prediction(
        "next token", "The next token", _next(model, text, new), "The next token after the text", generate
    )


def _next(model: Source, text: str, new: int) -> Prediction:
    predicted = continued_of(model, text, new, NEW, TOP).prediction
    if predicted is None:
        raise ValueError("there is no text to go on with")
    return predicted


def _prediction(key: str, title: str, predicted: Prediction, what: str, *code: Callable[..., Any]) -> View:
    return View(
        key=key,
        title=title,
        result=predicted,
        chart=guesses_figure(np.array(predicted.probabilities), tick_labels(predicted.tokens), height=280),
        findings=(say.predicted(what, predicted),),
        table=lambda: pd.DataFrame({"token": predicted.tokens, "probability": predicted.probabilities}),
        code=code,
    )
