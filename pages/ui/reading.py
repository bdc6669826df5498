"""A pasted text as a model reads it: its last tokens, as many as a page shows and the model takes, with or without the
token that says that a text begins (BOS); and what a model is given at first, which is of its own where its vocabulary
lacks the page's text."""

from contextlib import nullcontext
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui import cache, controls, keys, links, notices, text
from pages.ui.loading import own_models, run_models
from pages.ui.session import session
from tfcore.measures import one_text
from tfcore.measures.one_text import Begin as Begin
from tfcore.measures.one_text import End
from tfcore.measures.one_text import UsedTokens as UsedTokens
from tfcore.tokenizers import typed_text, vocabulary

NAMED = 3  # special tokens in the label of a switch
SPECIAL_HELP = (
    "The text spells out special tokens of this model. Typed, they are letters like any other; with this switch each "
    "is the one token by which the model knows the beginning of a turn or the end of a text."
)
SHOWN = 60  # letters of an example inside a sentence
# Examples: a text; what is given to a model, which goes on from there; another text, to compare with; both, one a line;
# one token.
Kind = Literal["text", "prompt", "other", "lines", "token"]

last_tokens = cache.of_model(max_entries=64)(one_text.last_tokens)
first_tokens = cache.of_model(max_entries=256)(one_text.first_tokens)
begin_of = cache.of_model(max_entries=64)(one_text.begin_of)


@cache.data(max_entries=256)
def is_read(model_name: str, pasted: str) -> bool:
    """Whether a model has tokens for a text; one that ships has."""
    return not own_models.is_own(model_name) or vocabulary.is_read(cache.model(model_name)[1], pasted)


@cache.data(max_entries=256)
def spelt(model_name: str, pasted: str) -> typed_text.Spelt:
    """The special tokens of a model that a text spells out."""
    return typed_text.spelt(cache.model(model_name)[1], pasted)


@cache.data(max_entries=64)
def example(model_name: str, kind: Kind = "text") -> str:
    """A text of a visitor's own model: a row of its task where it was trained in the lab, else its first tokens."""
    tokenizer = cache.model(model_name)[1]
    if kind == "token":
        return vocabulary.sample(tokenizer, 1)
    rows = [row.given if kind == "prompt" else row.whole for row in run_models.examples(model_name)]
    rows = rows or [vocabulary.sample(tokenizer), vocabulary.sample(tokenizer, backwards=True)]
    return "\n".join(rows) if kind == "lines" else rows[kind == "other"]


def usual(model_name: str, pasted: str, kind: Kind = "text") -> str:
    """A page's own text, or, where the model has no tokens for that, its `example`."""
    return pasted if is_read(model_name, pasted) else example(model_name, kind) or pasted


def begin_with(model_name: str, key: str, first: str, kind: Kind = "text") -> str:
    """The text that a box begins with: what is `usual`. A text that a page began with and nobody changed is let go
    where the model lacks it, and an example where there is a page's own text again."""
    held = controls.last(key)
    if held is not None and session().first_texts.get(key) == held and not is_read(model_name, held):
        controls.forget(key)
    begin = usual(model_name, first, kind)
    if begin != first:
        session().stand_ins.add(begin)
    return begin


def text_box(
    model_name: str,
    label: str,
    key: str,
    first: str,
    max_chars: int,
    *,
    kind: Kind = "text",
    height: int = 100,
    help: str | None = None,  # noqa: A002 - as Streamlit calls it
    named: bool = True,
    row: DeltaGenerator | None = None,
    end: End = "last",
) -> str:
    """A `controls.text_area` for a text that a model reads, see `begin_with`. What is left out is counted.

    Args:
        kind: of the example that it may begin with.
        end: of a text that is too long, which is kept.

    Returns:
        The text; where a special token in it is to be read as that token, with marks (see `as_special`).
    """
    begin = begin_with(model_name, key, first, kind)
    pasted = controls.text_area(label, key, begin, max_chars, height=height, help=help, named=named, row=row, end=end)
    tell_left_out(model_name, key, pasted)
    with nullcontext() if row is None else row:
        return as_special(model_name, key, pasted)


def as_special(model_name: str, key: str, pasted: str) -> str:
    """A typed text, in which the special tokens that it spells out are marked where a switch says so, to be read as
    these tokens. The switch is there for such a text alone, and off at first."""
    special = spelt(model_name, pasted)
    if special.always:
        shown = ", ".join(text.escape(token) for token in special.always[:NAMED])
        notices.add(f"always {key}", "This model's tokenizer reads these as special tokens even when typed", shown)
        controls.say_read_as_text(key, special.text)
    else:
        notices.drop(f"always {key}")
    if not special.text:
        return pasted
    shown = ", ".join(text.escape(token) for token in special.text[:NAMED])
    on = controls.toggle(f"Read {shown} as special", links.special_key(key), help=SPECIAL_HELP)
    controls.say_read_as_text(key, () if on else special.text)
    return typed_text.marked(pasted, special.text) if on else pasted


def tell_left_out(model_name: str, key: str, pasted: str) -> None:
    """Say how much of a text a model has no tokens for, or take that back."""
    tokenizer = cache.model(model_name)[1] if own_models.is_own(model_name) else None
    lost = vocabulary.left_out(tokenizer, pasted) if tokenizer is not None else 0
    said = (
        f"Left out are {lost} characters that are no tokens of this model ({tokens_of(model_name)})" if lost else None
    )
    notices.say(f"{key} left out", said)


def tokens_of(model_name: str) -> str:
    """A few tokens of a model, inside a sentence."""
    return text.escape(vocabulary.listed(cache.model(model_name)[1]), SHOWN)


def say_nothing_read(model_name: str, pasted: str, key: str, sentence: str) -> None:
    """Why a model reads nothing in a text: there is none, which `sentence` says, or it has no tokens for it; then with
    a button that gives it an example of its own."""
    if not pasted.strip() or is_read(model_name, pasted):
        st.info(sentence)
        return
    st.info(f"This text has none of this model's tokens ({tokens_of(model_name)}): type some of these.")
    if own := example(model_name):
        shown = text.escape(text.shorten(own, SHOWN))
        name = keys.own("button", f"own {key}")
        st.button(f"Read {shown}", key=name, on_click=controls.set_values, kwargs={key: own})


def choose_bos(model_name: str, key: str = "bos") -> bool | None:
    """A control for the BOS token; returns the `bos` of first_tokens: True with it, False without, None as usual.

    Shows nothing for a model without one (encoders, encoder-decoders).
    """
    begin: Begin | None = begin_of(model_name)
    if begin is None:
        return None
    other = "without" if begin.usual else "with"
    token = text.escape(text.visible(begin.token), 24)
    usually = "puts it before every text" if begin.usual else "puts none before a text"
    words = f"{token} is the token this model knows as the beginning of a text (BOS). Its tokenizer {usually}."
    said = controls.segmented("BOS token", key, ["as usual", other], "as usual", help=words)
    return None if said == "as usual" else said == "with"
