"""The page on induction: the stripe, a score for every head, the loss of both copies, and heads ablated."""

import re
from typing import Any

import pandas as pd
import streamlit as st

from pages.inside import reading as _reading
from pages.inside.induction import experiments
from pages.inside.induction.heads import choose_model, kinds
from pages.ui import cache, controls, fragments, head_links, notices, page
from pages.ui.components.figure import Event, figure
from pages.ui.program import made
from pages.ui.reading import first_tokens, say_nothing_read, text_box
from tfcore.analysis.inside import induction_findings as findings
from tfcore.measures.heads import induction_heads as analysis
from tfcore.measures.heads.induction_heads import Copying, HeadKinds, Place, listed
from tfcore.measures.heads.kinds import targets
from tfcore.measures.one_text import one_text
from tfcore.measures.token_text import tick_labels
from tfcore.training.repeated_rows import training_note
from tfcore.views.foundations.heads.measure.attention_maps import map_table

CHARACTERS = 2_000  # of a text
TOKENS = 128  # of a text, repeated or not
CHANGED = "Heads of layers below are set to zero: why the head looks there can be opened for the whole model only."
LENGTH = 24  # random tokens of one copy, at first
MANY = 64  # heads up to which each is ablated alone
TEXT = "A green fox sang to nine tired ducks. Seven kings heard how the green fox sang to nine ducks."
INPUTS = {"random": "repeated random tokens", "twice": "your text, repeated", "once": "your text, once"}
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
def measure(model_name: str, kind: str, pasted: str, length: int, seed: int, off: tuple[Place, ...]) -> Copying:
    if kind == "random":
        model = cache.model(model_name)[0]
        return experiments.on_random_tokens(model, length, analysis.rows_for(model.config), seed, off)
    return experiments.on_text(*cache.model(model_name), pasted, TOKENS, length, off)


def measured(model_name: str, kind: str, pasted: str, length: int, seed: int, off: tuple[Place, ...]) -> Any:
    """How a program comes to the same."""
    if kind == "random":
        rows = analysis.rows_for(cache.model(model_name)[0].config)
        return made(experiments.on_random_tokens, model_name, length, rows, seed, off)
    return made(experiments.on_text, model_name, pasted, TOKENS, length, off)


@cache.data(max_entries=24)
def one_by_one(model_name: str, kind: str, pasted: str, length: int, seed: int) -> Any:
    model = cache.model(model_name)[0]
    if kind == "random":
        ids = analysis.twice(analysis.random_rows(model.config.vocab_size, length, 1, seed))
    else:
        ids = one_text(model, first_tokens(model_name, pasted, TOKENS).ids)
        ids = analysis.twice(ids[:, :length]) if length else ids
    return analysis.ablate_each_head(model, ids, length or None)


def choose(model_name: str, kind: str, more: Any) -> tuple[str, str, int, int]:
    """What is read: how, the text, the tokens of one copy (0 where there are no copies), the seed."""
    config = cache.model(model_name)[0].config
    most = min(TOKENS, config.max_seq_len)
    if kind == "random":
        longest = min(most // 2, config.vocab_size)
        length = controls.slider("Random tokens, repeated", "length", 4, longest, min(LENGTH, longest))
        with more:
            return kind, "", length, controls.slider("Draw", "draw", 0, 99, 0)
    pasted = text_box(model_name, "Text", "text", TEXT, CHARACTERS, height=100)
    most = most // 2 if kind == "twice" else most
    ids, _, total = first_tokens(model_name, pasted, TOKENS)
    notices.tokens(total, min(total, most))
    if len(ids) < 2:
        said = "There are fewer than two tokens: type or paste a text, or press Ctrl+Z in the box."
        say_nothing_read(model_name, pasted, "text", said)
        fragments.stop()
    return kind, pasted, min(len(ids), most) if kind == "twice" else 0, 0


def choose_off(model_name: str, found: HeadKinds) -> list[Place]:
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
    page.try_this(TRY)
    which, reads = st.columns([1, 3], gap="medium")
    with which:
        model_name = choose_model()
    with reads:
        kind = controls.segmented("Input", "text_is", list(INPUTS), "random", INPUTS)
    left, right = st.columns([2, 3], gap="large")
    found, config = kinds(model_name), cache.model(model_name)[0].config
    with left:
        box, more, beside = st.container(), page.more_settings(), st.container()
    with box:
        what = choose(model_name, kind, more)
        first = found.best if _reading.begins_with_strongest(config) else (3, 0)
        with more:
            layer = controls.place("Layer", "layer", config.n_layers, first[0])
            head = controls.place("Head", "head", config.n_heads, first[1])
    with right:
        above = st.container()
    st.subheader("Zero ablation: set heads to zero, and measure the loss", anchor=False)
    off = tuple(choose_off(model_name, found))
    whole = measure(model_name, *what, ())
    cut = measure(model_name, *what, off) if off else None
    with above:
        stripe(model_name, cut or whole, (layer, head), off)
    with beside:
        grid(model_name, what, cut or whole, (layer, head), off)
    both_losses(model_name, whole, cut, off, kind)
    runs = measured(model_name, *what, ()), measured(model_name, *what, off) if off else None
    experiment = page.experiment(experiments.losses, model_name, *runs, off, kind != "once", config.vocab_size)
    words(model_name, kind, found, whole, cut, off, experiment)


def stripe(model_name: str, now: Copying, head: Place, off: tuple[Place, ...]) -> None:
    """The attention pattern of one head."""
    tokenizer, n = cache.model(model_name)[1], len(now.ids)
    shown = experiments.stripe(tokenizer, now, head, off)
    tokens = tokenizer.tokens(now.ids.tolist())
    labels = tick_labels(tokens)
    # What is ablated in layers below changes the score: the page on heads takes apart that of the whole model.
    changed = any(layer < head[0] for layer, _ in off)
    there = None if changed else head_links.of_ids(model_name, now.ids.tolist(), *head)
    figure(
        shown.figure,
        key="stripe",
        height=520,
        min_width=420,
        cursor=True,
        on_click=head_links.on_cell(there, now.patterns[head]),
        alt=f"Attention pattern. {shown.alt}",
        caption=head_links.caption(f"{shown.caption} Shape (query, key) = ({n}, {n}).", there, CHANGED),
        table=lambda: map_table(now.patterns[head], labels, labels),
    )
    if there is not None:
        there.link_strongest(now.patterns[head], tokens, tokens)


def look_at(event: Event) -> None:
    """A click on a head."""
    if isinstance(event["x"], int) and isinstance(event["y"], int):
        controls.set_values(layer=event["y"], head=event["x"])


def grid(model_name: str, what: tuple[str, str, int, int], now: Copying, head: Place, off: tuple[Place, ...]) -> None:
    """A number for every head."""
    layers, heads = now.scores["induction"].shape
    few = layers * heads <= MANY
    names = SCORES | ({"alone": ALONE} if few else {})
    kind = controls.segmented("For every head", "score", list(names), "induction", names)
    values = one_by_one(model_name, *what) if kind == "alone" else now.scores[kind]
    shown = experiments.scores(values, kind, names[kind], head, off)
    crossed = f" Crossed out: {listed(off)}." if off else ""
    many = f" “{ALONE}” is offered up to {MANY} heads, as each takes a pass; this model has {layers * heads}."
    figure(
        shown.figure,
        key="grid",
        height=shown.figure.layout.height,
        min_width=300,
        on_click=look_at,
        alt=shown.alt,
        caption=f"{shown.caption} Click a head to see its map.{crossed}{'' if few else many}",
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


def both_losses(model_name: str, whole: Copying, cut: Copying | None, off: tuple[Place, ...], kind: str) -> None:
    """The loss of new tokens and of repeated ones."""
    model, tokenizer = cache.model(model_name)
    copies = kind != "once"
    shown = experiments.losses(tokenizer, whole, cut, off, copies, model.config.vocab_size)
    numbers, curve = st.columns([1, 4], gap="medium")
    for name, loss, change in findings.copy_losses(whole, cut, off, copies).metrics:
        if loss is not None:
            numbers.metric(f"Loss, {name}", loss, change, delta_color="inverse")
        else:
            numbers.metric(f"Loss, {name}", "none", help="There are no such tokens in this text")
    read = f"Mean over {analysis.rows_for(model.config)} sequences" if kind == "random" else "One sequence"
    with curve:
        figure(
            shown.figure,
            key="losses",
            height=300,
            min_width=350,
            alt=shown.alt,
            caption=f"{shown.caption} {read}; shaded: the {'second copy' if copies else 'repeated tokens'}.",
            table=lambda: pd.DataFrame(
                {
                    "token": tick_labels(tokenizer.tokens(whole.ids.tolist()))[1:],
                    "whole model": whole.losses,
                    "with heads ablated": (cut or whole).losses,
                    "repeated": whole.repeated,
                }
            ),
        )


def words(
    model_name: str,
    kind: str,
    found: HeadKinds,
    whole: Copying,
    cut: Copying | None,
    off: tuple[Place, ...],
    experiment: page.Experiment,
) -> None:
    """What to see, sources, the question."""
    heads = findings.induction_heads(found)
    below, stripe = "", findings.find_stripe(cut or whole, copies=kind != "once")
    if found.induction and stripe.best is not None:
        below = "No layer below them has a previous-token head."
        if found.previous:
            below = (
                f"Previous-token heads in the layers below: {listed(found.previous)}. Ablate those and see whether the "
                "stripe stays."
            )
    cost = findings.ablation_cost(whole, cut, off) if cut else ""
    page.what_to_see(f"{stripe} {heads} {cost} {below} {training_note(model_name, is_random=kind == 'random')}")
    page.question(
        "Ablate one induction head of stories alone (3.0), with 24 random tokens, repeated: the loss on the second "
        "copy hardly moves. Is the head useless?",
        "No: 3.2 does the same, and one of them is enough. Ablate both, and the loss on the second copy is as high as "
        "on the first. A head whose own ablation costs nothing can still be half of what carries the skill; single "
        "ablations do not show that.",
    )
    page.how_it_is_computed(
        experiment,
        formula=r"\text{induction score} = \frac{1}{n} \sum_{q=n}^{2n-1} A_{q,\; q-n+1}",
        code=(analysis.copying, analysis.scores_of, targets, analysis.foreseeable),
        papers=(
            "Induction heads and this test: arXiv:2209.11895. The three scores are those of TransformerLens's head "
            "detector per query that has something to find; of a doubled token (“the the”) the query itself is left "
            "out here, where the detector counts it. Only decoders are offered: an encoder also sees what follows a "
            "token, and an encoder-decoder reads a second text. Dotted: baseline loss of a uniform guess, ln of the "
            "vocabulary."
        ),
    )
