"""The page on architectures: each kind at its own work, by a model that ships with the app."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.model.architectures import experiments as experiments
from pages.ui import cache, controls, fragments, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.loading import models
from tfcore import shipped
from tfcore.analysis.model.masked_tokens import fill_masked, guesses, mask_id, with_blanks
from tfcore.analysis.model.translation import Writing, source_ids, writing, written
from tfcore.analysis.training.likeliest import Likeliest, next_tokens, top
from tfcore.figures.foundations.heads import tiles
from tfcore.figures.guesses import guesses_figure
from tfcore.figures.tokens import token_heatmap
from tfcore.generation.generate import generate

Guesses = list[tuple[str, float]]  # tokens from the likeliest down, with their probabilities
CHARACTERS, BLANK, TOP, MOST, NEW = 400, "___", 8, 48, 24
JOBS = {"translate": "translate", "fill": "predict a masked token", "stories": "continue the text"}
TEXTS = {
    "translate": "She gave me a red book yesterday.",
    "fill": "The dog was very ___ because he had lost his bone.",
    "stories": "Once upon a time there was a little girl named Lily. She liked to",
}


def jobs() -> list[str]:
    """Those that a shipped model can do."""
    return [job for job in JOBS if job in shipped()]


@cache.data(max_entries=64)
def translated(sentence: str) -> tuple[Writing, list[str], list[str]]:
    """The translation of a sentence as the model wrote it, and the tokens read and written."""
    model, tokenizer = cache.model("translate")
    ids = source_ids(tokenizer, sentence)
    ids = [*ids[:-1][:MOST], ids[-1]]
    found = writing(model, ids, written(model, tokenizer, ids))
    return found, [*tokenizer.tokens(ids[:-1]), "<end>"], [*tokenizer.tokens(found.written[:-1]), "<end>"]


@cache.data(max_entries=64)
def filled(pasted: str) -> tuple[list[str], list[int], list[Guesses]]:
    """The tokens of a text with blanks, where the blanks are, and the likeliest tokens for each."""
    model, tokenizer = cache.model("fill")
    ids = with_blanks(tokenizer, pasted, BLANK)[: model.config.max_seq_len]
    blank = mask_id(tokenizer)
    places = [place for place, token in enumerate(ids) if token == blank]
    likely = [named(top(row, TOP), tokenizer) for row in guesses(model, tokenizer, ids)] if places else []
    tokens = [BLANK if token == blank else tokenizer.tokens([token])[0] for token in ids]
    return tokens[1:], [place - 1 for place in places], likely


@cache.data(max_entries=64)
def continued(pasted: str, new: int) -> tuple[list[str], Guesses]:
    """What the decoder writes on, greedily, and its likeliest next tokens."""
    model, tokenizer = cache.model("stories")
    ids = tokenizer.encode(pasted)[-(model.config.max_seq_len - NEW) :]
    if not ids:
        return [], []
    found = generate(model, ids, max_new_tokens=new, temperature=0) if new else []
    return tokenizer.tokens(found), named(next_tokens(model, ids, TOP), tokenizer)


def named(found: Likeliest, tokenizer: Any) -> Guesses:
    """Guesses as words."""
    words = ["<end>" if i == tokenizer.separator_id else tokenizer.tokens([i])[0] for i in found.ids.tolist()]
    return list(zip(words, found.chance.tolist(), strict=True))


def numbered(tokens: list[str]) -> list[str]:
    """Names of columns, no two the same."""
    return [f"{place} {token}" for place, token in enumerate(tokens)]


def bars(found: Guesses, key: str, who: str, caption: str) -> None:
    """One distribution."""
    labels = text.tick_labels([token for token, _ in found])
    first, chance = found[0]
    figure(
        guesses_figure(np.array([p for _, p in found]), labels, 280),
        key=key,
        alt=f"{who}: “{text.visible(first)}” with {chance:.1%}, then "
        + ", ".join(f"“{text.visible(token)}” with {p:.1%}" for token, p in found[1:4])
        + ".",
        height=280,
        caption=caption,
        table=lambda: pd.DataFrame(found, columns=["token", "probability"]),
    )


@fragments.fragment
def translate_job() -> None:
    """Read a sentence, write another, and show where each word came from."""
    models.only("translate", "of those that ship, it alone was trained to translate.")
    sentence = controls.text_area("English sentence", "sentence", TEXTS["translate"], CHARACTERS, height=68)
    if not sentence.strip():
        st.info("There is no sentence yet: type one in English, short and plain.")
        return
    found, read, wrote = translated(sentence)
    layers, heads, n, _ = found.patterns.shape
    picture, beside = st.columns([3, 2], gap="large")
    with beside:
        layer = controls.slider("Layer", "layer", 0, layers - 1, layers - 1)
        views = ["mean", *map(str, range(heads))]
        head = controls.select("Head", "head", views, "mean", {"mean": "mean of all heads"})
        step = controls.slider("Target token", "step", 0, n - 1, min(6, n - 1))
        expected = named(top(found.chances[step], TOP), cache.model("translate")[1])
        bars(
            expected,
            "next",
            f"Token {step} of the translation",
            f"Token {step}: the likeliest of {found.chances.shape[1]:,} tokens.",
        )
    weights = found.patterns[layer].mean(0) if head == "mean" else found.patterns[layer, int(head)]
    strongest = int(weights[step, :-1].argmax()) if len(read) > 1 else 0
    whose = "the mean of its heads" if head == "mean" else f"head {head}"
    looked_at, weight = text.visible(read[strongest]), weights[step, strongest]
    end = weights[step, -1] if len(read) > 1 else 0.0
    rest = f"; <end> has {end:.2f}" if end > weight else ""
    finding = f"“{text.visible(wrote[step])}” attends most to “{looked_at}”, {weight:.2f}{rest}"
    place = f"layer {layer}, {whose}"
    with picture:
        text.chips(
            wrote,
            key="translation",
            selected=step,
            label="The translation, token by token",
            on_select=lambda index: controls.set_values(step=index),
        )
        figure(
            token_heatmap(
                weights,
                text.tick_labels(wrote),
                text.tick_labels(read),
                height=460,
                hover="query %{y}, key %{x}: %{z:.2f}",
            ),
            key="alignment",
            height=460,
            min_width=320,
            cursor=True,
            alt=f"Cross-attention of {place}: {finding}.",
            caption=f"Cross-attention, (target, source) = ({n}, {len(read)}), {place}: {text.escape(finding)}.",
            table=lambda: pd.DataFrame(weights, index=wrote, columns=numbered(read)).reset_index(names="written"),
        )
    every_head(found, layer, head)
    page.what_to_see(
        "The strong cells follow the diagonal where both languages have the same order of words, and leave it where "
        "they have not: in the first example *red book* becomes *livre rouge*, *gave me* becomes *me donna*. No "
        "alignment of words was given in training; it was learned from pairs of sentences."
    )
    page.source(writing)
    page.experiment(experiments.translation, sentence, MOST, layer, None if head == "mean" else int(head))


def every_head(found: Writing, layer: int, head: str | int) -> None:
    """All maps of the cross-attention, small; a click chooses one."""
    layers, heads, n, across = found.patterns.shape
    places = [(i, j) for i in range(layers) for j in range(heads)]
    rows = f"{layers} layers of {heads} heads, ({n}, {across}) each"
    largest = ", ".join(f"{weight:.2f}" for weight in found.largest)
    figure(
        tiles(
            found.patterns.reshape(-1, n, across),
            [f"{i}.{j}" for i, j in places],
            heads,
            hovers=[f"layer {i}, head {j}" for i, j in places],
            customdata=[list(place) for place in places],
            selected=None if head == "mean" else layer * heads + int(head),
            height=420,
        ),
        key="heads",
        height=420,
        min_width=460,
        on_click=choose_head,
        alt=f"The cross-attention of every head: {rows}. Mean largest weight of a token, layer by layer: {largest}.",
        caption=f"Every head as layer.head: {rows}; rows are target tokens (queries), columns source tokens (keys). "
        "Click one to enlarge it.",
    )


def choose_head(event: Event) -> None:
    """A click on one of the small maps."""
    match event["customdata"]:
        case [int(layer), int(head)]:
            controls.set_values(layer=layer, head=str(head))


@fragments.fragment
def fill_job() -> None:
    """Both sides of a blank, against the left side alone."""
    models.only("fill and stories", "they were trained on the same stories, one bidirectional and one causal.")
    pasted = controls.text_area(
        f"Text with {BLANK} for each masked token", "blanks", TEXTS["fill"], CHARACTERS, height=80
    )
    tokens, places, found = filled(pasted)
    if not places:
        st.info(f"There is no masked token yet: write {BLANK}, three underscores, in place of a word.")
        return
    chosen = controls.slider("Masked token", "blank", 0, len(places) - 1, 0)
    before = pasted.split(BLANK)
    left = BLANK.join(before[: chosen + 1]).replace(BLANK, "").removesuffix(" ")
    text.chips(tokens, key="text with blanks", selected=places[chosen], label="The text, token by token")
    one, other = st.columns(2, gap="large")
    with one:
        st.markdown("**The encoder: bidirectional**")
        bars(found[chosen], "both sides", "The encoder's prediction", f"fill attends to all {len(tokens)} tokens.")
    with other:
        st.markdown("**The decoder: causal**")
        _, likely = continued(left, 0)
        if likely:
            bars(
                likely,
                "left side",
                "The decoder's prediction",
                f"stories attends to the {places[chosen]} tokens before it.",
            )
        else:
            st.info("Nothing comes before this token, so a decoder has nothing to predict it from.")
    page.what_to_see(
        "Change the words *after* the masked token, say *because he had lost his bone* into *and ate all the food*: "
        "the encoder's prediction changes; the decoder's cannot, because it attends only to what comes before. The "
        "encoder, in turn, is not trained to generate text from left to right."
    )
    page.source(guesses, fill_masked)
    page.experiment(experiments.blank, pasted, BLANK, chosen, TOP)


@fragments.fragment
def continue_job() -> None:
    """One token after the other."""
    models.only("stories", "it stands for its kind beside the other two; the page on generation lets yours write.")
    pasted = controls.text_area("Beginning of a story", "beginning", TEXTS["stories"], CHARACTERS, height=80)
    new = controls.slider("Max new tokens", "new", 0, NEW, 12)
    tokens, likely = continued(pasted, new)
    if not likely:
        st.info("There is no beginning yet: type a few words.")
        return
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"{text.escape(pasted)}**{text.escape(''.join(tokens))}**")
        text.chips(tokens, key="continuation", label="The continuation, token by token")
        st.caption(f"{new} tokens, each the likeliest one (greedy), appended before the next is predicted.")
    with right:
        bars(likely, "next token", "The next token", f"stories, after the text: the {TOP} most likely.")
    page.what_to_see(
        "A decoder predicts the next token, and generates text by appending one and predicting again (autoregressive). "
        "In training every token of a text is predicted from those before it, all in one pass."
    )
    page.source(generate)
    page.experiment(experiments.continuation, pasted, new, NEW, TOP)


SHOW = {"translate": translate_job, "fill": fill_job, "stories": continue_job}
