"""The page on induction: the stripe, a score for every head, the loss of both copies, and heads ablated."""

import math
import re
from typing import Any

import pandas as pd
import streamlit as st

from pages.inside.induction import experiments as experiments
from pages.inside.induction.heads import LENGTH, Kinds, choose_model, kinds
from pages.ui import cache, controls, fragments, notices, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.reading import first_tokens
from tfcore.analysis.foundations.attention_maps import map_table
from tfcore.analysis.foundations.heads import targets
from tfcore.analysis.inside import copying as analysis
from tfcore.analysis.inside import copying_findings as findings
from tfcore.analysis.inside.copying import ROWS, Copying, Place
from tfcore.analysis.inside.copying_findings import listed
from tfcore.analysis.one_text import one_text
from tfcore.figures.inside import copying as figures
from tfcore.figures.tokens import token_heatmap
from tfcore.training.repeated_rows import training_note

CHARACTERS, TOKENS, MANY = 2_000, 128, 64  # of a text; of it, repeated or not; heads that are ablated one by one
TEXT = "A green fox sang to nine tired ducks. Seven kings heard how the green fox sang to nine ducks."
SAID = {"random": "repeated random tokens", "twice": "your text, repeated", "once": "your text, once"}
SCORES = {"induction": "induction", "previous token": "previous token", "duplicate": "duplicate token"}
ALONE = "loss when ablated"
KNOCK = {
    "none": "none",
    "induction": "induction heads",
    "previous": "previous-token heads",
    "others": "other heads (control)",
    "own": "heads you name",
}
FIRST = {"layer": 3, "head": 0}  # an induction head of stories
TRY: dict[str, dict[str, Any]] = {
    "only one of them": {"text_is": "random", "model": "stories", "knock": "own", "off": "3.0", **FIRST},
    "both": {"text_is": "random", "model": "stories", "knock": "induction", **FIRST},
    "two others instead": {"text_is": "random", "model": "stories", "knock": "others", **FIRST},
    "those below": {"text_is": "random", "model": "stories", "knock": "previous", **FIRST},
    "a sentence, twice": {"text_is": "twice", "model": "stories", "knock": "induction", "text": TEXT, **FIRST},
    "a model that only copies": {"text_is": "random", "model": "induction", "knock": "none", "layer": 1, "head": 2},
}


@cache.data(max_entries=48)
def measure(model_name: str, said: str, pasted: str, length: int, seed: int, off: tuple[Place, ...]) -> Copying:
    model = cache.model(model_name)[0]
    return analysis.copying(model, rows(model_name, said, pasted, length, seed), length or None, off)


@cache.data(max_entries=24)
def one_by_one(model_name: str, said: str, pasted: str, length: int, seed: int) -> Any:
    model = cache.model(model_name)[0]
    return analysis.without_each(model, rows(model_name, said, pasted, length, seed)[:1], length or None)


def rows(model_name: str, said: str, pasted: str, length: int, seed: int) -> Any:
    """What is read: 8 rows of repeated random tokens, or the text, once or repeated."""
    model = cache.model(model_name)[0]
    if said == "random":
        return analysis.twice(analysis.random_rows(model.config.vocab_size, length, ROWS, seed))
    ids = one_text(model, first_tokens(model_name, pasted, TOKENS).ids)
    return analysis.twice(ids[:, :length]) if said == "twice" else ids


def choose(model_name: str, said: str) -> tuple[str, str, int, int]:
    """What is read: how, the text, the tokens of one copy (0 where there are no copies), the seed."""
    config = cache.model(model_name)[0].config
    most = min(TOKENS, config.max_seq_len)
    if said == "random":
        length = controls.slider("Random tokens, repeated", "length", 4, min(most // 2, config.vocab_size), LENGTH)
        return said, "", length, controls.slider("Draw", "draw", 0, 99, 0)
    pasted = controls.text_area("Text", "text", TEXT, CHARACTERS, height=100)
    most = most // 2 if said == "twice" else most
    ids, _, total = first_tokens(model_name, pasted, TOKENS)
    notices.tokens(total, min(total, most))
    if len(ids) < 2:
        st.info("There are fewer than two tokens: type or paste a text, or press Ctrl+Z in the box.")
        fragments.stop()
    return said, pasted, min(len(ids), most) if said == "twice" else 0, 0


def choose_off(model_name: str, found: Kinds) -> list[Place]:
    """Which heads are ablated."""
    knock = controls.segmented("Zero-ablate", "knock", list(KNOCK), "induction", KNOCK)
    if knock != "own":
        return {"none": [], "induction": found.induction, "previous": found.previous, "others": found.others}[knock]
    config = cache.model(model_name)[0].config
    words = controls.text_area("Heads, as layer.head", "off", "3.0", 400, height=68)
    named = dict.fromkeys((int(a), int(b)) for a, b in re.findall(r"(?<!\d)([0-9]{1,4})\.([0-9]{1,4})(?!\d)", words))
    there = [(a, b) for a, b in named if a < config.n_layers and b < config.n_heads]
    if len(there) < len(named) or (words.strip() and not named):
        last = f"{config.n_layers - 1}.{config.n_heads - 1}"
        notices.add("off", f"Heads are written as 0.0 to {last}; others are ignored", value=words)
    return there


def find() -> None:
    """The section."""
    which, reads = st.columns([1, 3], gap="medium")
    with which:
        model_name = choose_model()
    with reads:
        said = controls.segmented("Input", "text_is", list(SAID), "random", SAID)
    left, right = st.columns([2, 3], gap="large")
    found, config = kinds(model_name), cache.model(model_name)[0].config
    with left:
        what = choose(model_name, said)
        layer = controls.slider("Layer", "layer", 0, config.n_layers - 1, min(3, config.n_layers - 1))
        head = controls.slider("Head", "head", 0, config.n_heads - 1, 0)
        beside = st.container()
    with right:
        above = st.container()
    st.subheader("Zero ablation: set heads to zero, and measure the loss", anchor=False)
    off = choose_off(model_name, found)
    whole = measure(model_name, *what, ())
    cut = measure(model_name, *what, tuple(off)) if off else None
    labels = text.tick_labels(cache.model(model_name)[1].tokens(whole.ids.tolist()))
    with above:
        stripe(cut or whole, (layer, head), labels, off)
    with beside:
        grid(model_name, what, cut or whole, (layer, head), off)
    both_losses(whole, cut, labels, off, math.log(config.vocab_size), said)
    page.try_this(TRY)
    words(model_name, found, whole, cut, off)
    if said == "random":
        page.experiment(experiments.random_twice, model_name, what[2], ROWS, what[3], tuple(off))
    else:
        page.experiment(experiments.text, model_name, what[1], TOKENS, what[2], tuple(off))


def stripe(now: Copying, at: Place, labels: list[str], off: list[Place]) -> None:
    """The attention pattern of one head."""
    weight, n = now.scores["induction"][at], len(now.ids)
    name = f"layer {at[0]}, head {at[1]}" + (" (ablated: it attends, but writes nothing)" if at in off else "")
    goal = targets(now.ids)["induction"].any(-1).sum()
    finding = (
        f"{name} puts {weight:.2f} of its weight on the token after an earlier occurrence of the query token"
        if goal
        else f"no token of this text comes twice, so {name} has nothing to find"
    )
    figure(
        token_heatmap(now.patterns[at], labels, height=520, bar=False),
        key="stripe",
        height=520,
        min_width=420,
        cursor=True,
        alt=f"Attention pattern: {finding}.",
        caption=f"{finding[0].upper()}{finding[1:]}. Shape (query, key) = ({n}, {n}).",
        table=lambda: map_table(now.patterns[at], labels, labels),
    )


def look_at(event: Event) -> None:
    """A click on a head."""
    if isinstance(event["x"], int) and isinstance(event["y"], int):
        controls.set_values(layer=event["y"], head=event["x"])


def grid(model_name: str, what: tuple[str, str, int, int], now: Copying, at: Place, off: list[Place]) -> None:
    """A number for every head."""
    layers, heads = now.scores["induction"].shape
    names = SCORES | ({"alone": ALONE} if layers * heads <= MANY else {})
    kind = controls.segmented("For every head", "score", list(names), "induction", names)
    values = one_by_one(model_name, *what) if kind == "alone" else now.scores[kind]
    best = analysis.ranked(values)[:3]
    meaning = {
        "induction": "mean weight on the token after an earlier occurrence of the query token",
        "previous token": "mean weight on the previous token",
        "duplicate": "mean weight on earlier occurrences of the query token",
        "alone": "loss on repeated tokens, nats, when this head alone is set to zero (one sequence)",
    }[kind]
    finding = ", ".join(f"{a}.{b} {values[a, b]:.2f}" for a, b in best)
    height = min(420, max(170, 46 * layers + 60))
    figure(
        figures.head_grid(values, at, off, names[kind], figures.scale_end(values, kind != "alone"), height),
        key="grid",
        height=height,
        min_width=300,
        on_click=look_at,
        alt=f"{meaning.capitalize()}, of {layers * heads} heads; the highest: {finding}.",
        caption=f"{meaning[0].upper()}{meaning[1:]}; highest: {finding}. Click a head to see its map."
        + (f" Crossed out: {listed(off)}." if off else "")
        + (
            ""
            if layers * heads <= MANY
            else f" “{ALONE}” is offered up to {MANY} heads, as each takes a pass; this model has {layers * heads}."
        ),
        table=lambda: score_table(now),
    )


def score_table(now: Copying) -> pd.DataFrame:
    """Every score of every head."""
    scores = {name: now.scores[kind].ravel() for kind, name in SCORES.items()}
    layers, heads = now.scores["induction"].shape
    return pd.DataFrame(
        {
            "layer": [i // heads for i in range(layers * heads)],
            "head": [i % heads for i in range(layers * heads)],
            **scores,
        }
    )


def both_losses(
    whole: Copying, cut: Copying | None, labels: list[str], off: list[Place], chance: float, said: str
) -> None:
    """The loss of what is new and of what was there before."""
    new, again = ("new tokens", "repeated tokens") if said == "once" else ("first copy", "second copy")
    changed = cut or whole
    numbers, curve = st.columns([1, 4], gap="medium")
    lost = f"without {listed(off)} {changed.second_loss:.2f}" if off else "nothing is ablated"
    if whole.repeated.any():
        finding = f"on the {again} {whole.second_loss:.2f} nats by the whole model; {lost}"
    else:
        finding = "no two tokens come again in the same order, so there is nothing to copy"
    for name, before, after in zip(
        (new, again), (whole.first_loss, whole.second_loss), (changed.first_loss, changed.second_loss), strict=True
    ):
        if after:
            numbers.metric(
                f"Loss, {name}", f"{after:.2f}", f"{after - before:+.2f} nats" if off else None, delta_color="inverse"
            )
        else:
            numbers.metric(f"Loss, {name}", "none", help="There are no such tokens in this text")
    read = f"mean over {ROWS} sequences" if said == "random" else "one sequence"
    with curve:
        figure(
            figures.losses_figure(whole, cut, labels, chance, 300),
            key="losses",
            height=300,
            min_width=420,
            alt=f"Loss of each token: {whole.first_loss:.2f} nats on the {new} by the whole model; {finding}.",
            caption=f"Loss of each token, {read}; shaded: the {again}. {finding[0].upper()}{finding[1:]}.",
            table=lambda: pd.DataFrame(
                {
                    "token": labels[1:],
                    "whole model": whole.losses,
                    "with heads ablated": changed.losses,
                    "repeated": whole.repeated,
                }
            ),
        )


def words(model_name: str, found: Kinds, whole: Copying, cut: Copying | None, off: list[Place]) -> None:
    """What to see, sources, the question."""
    heads = findings.induction_heads(found.induction, found.best, found.score)
    below = (
        (
            f"Previous-token heads in the layers below: {listed(found.previous)}. Ablate those and see whether "
            f"the stripe "
            "stays."
            if found.previous
            else "No layer below them has a previous-token head."
        )
        if found.induction
        else ""
    )
    cost = findings.ablated(whole, cut, off) if cut else ""
    page.what_to_see(
        "The **stripe** far below the diagonal: each token of the second copy attends to the token *after* its first "
        f"occurrence. {heads} {cost} {below} {training_note(model_name)}"
    )
    page.source(analysis.copying, analysis.scores_of, targets, analysis.foreseeable)
    st.caption(
        "Induction heads and this test: arXiv:2209.11895. The three scores are those of TransformerLens's head "
        "detector per query that has something to find; of a doubled token (“the the”) the query itself is left out "
        "here, where the detector counts it. Offered are decoders; an encoder and an encoder-decoder read another "
        "text at once. Dotted: baseline loss of a uniform guess, ln of the vocabulary."
    )
    page.question(
        "Ablate one induction head of stories alone (3.0): the loss on the second copy hardly moves. Is the head "
        "useless?",
        "No: 3.2 does the same, and one of them is enough. Ablate both, and the loss on the second copy is as high as "
        "on the first. A head whose own ablation costs nothing can still be half of what carries the skill; single "
        "ablations do not show that.",
    )
