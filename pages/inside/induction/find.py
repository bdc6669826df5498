"""The page on induction: the stripe, a score for every head, the loss of both copies, and heads ablated."""

from typing import Any

import streamlit as st

from pages.inside import reading
from pages.ui import controls, fragments, head_links, in_your_text, links, notices, page
from pages.ui.components.figure import Event
from pages.ui.frame import Panel, panel
from pages.ui.loading import models
from pages.ui.reading import last_tokens, say_nothing_read, text_box
from tfcore.measures.heads.induction_heads import HeadsByScore, Place, listed
from tfcore.measures.one_text import pieces_of
from tfcore.training.repeated_rows import training_note
from tfcore.views.highlights import Chip
from tfcore.views.inside import induction as views
from tfcore.views.inside.induction.find import NAMES
from tfcore.views.inside.induction.measure.find import TOKENS, CopyTask, Kind, kinds_of
from tfcore.views.inside.induction.say import find as say
from tfcore.views.sources import Reading, opened

CHARACTERS = 2_000  # of a text
CHANGED = "Heads of layers below are set to zero: why the head looks there can be opened for the whole model only."
LENGTH = 24  # random tokens of one copy, at first
MANY = 64  # heads up to which each is ablated alone
TEXT = "A green fox sang to nine tired ducks. Seven kings heard how the green fox sang to nine ducks."
INPUTS: dict[Kind, str] = {
    "random": "repeated random tokens",
    "twice": "your text, repeated",
    "once": "your text, once",
}
KNOCK = {
    "none": "none",
    "induction": "induction heads",
    "previous": "previous-token heads",
    "others": "other heads (control)",
    "own": "heads you name",
}
HIDE = (
    "A head that finds nothing to copy rests on the first token, whatever it is (an attention sink). The map is drawn "
    "without it, and its colours end at the largest other weight; no number changes."
)
FIRST = {"layer": 3, "head": 0}  # an induction head of stories
TRY: dict[str, dict[str, Any]] = {
    "only one of them": {"text_is": "random", "model": "stories", "knock": "own", "off": "3.0", **FIRST},
    "both": {"text_is": "random", "model": "stories", "knock": "induction", **FIRST},
    "two others instead": {"text_is": "random", "model": "stories", "knock": "others", **FIRST},
    "those below": {"text_is": "random", "model": "stories", "knock": "previous", **FIRST},
    "a sentence, twice": {"text_is": "twice", "model": "stories", "knock": "induction", "text": TEXT, **FIRST},
    "a model that only copies": {"text_is": "random", "model": "induction", "knock": "none", "layer": 1, "head": 2},
}


def choose(name: str, kind: Kind, more: Any) -> CopyTask:
    """Choose what is read: random tokens, or the last tokens of a text."""
    config = opened(name)[0].config
    most = min(TOKENS, config.max_seq_len)
    if kind == "random":
        longest = min(most // 2, config.vocab_size)
        length = controls.slider("Random tokens, repeated", "length", 4, longest, min(LENGTH, longest))
        with more:
            return CopyTask("random", length, seed=controls.slider("Draw", "draw", 0, 99, 0))
    pasted = text_box(name, "Text", "text", TEXT, CHARACTERS, height=100)
    most = most // 2 if kind == "twice" else most
    ids, _, total = last_tokens(name, pasted, TOKENS)
    notices.tokens(total, min(total, most))
    if len(ids) < 2:
        said = "There are fewer than two tokens: type or paste a text, or press Ctrl+Z in the box."
        say_nothing_read(name, pasted, "text", said)
        fragments.stop()
    return CopyTask(kind, min(len(ids), most) if kind == "twice" else 0, pasted)


def choose_off(name: str, kinds: HeadsByScore) -> tuple[Place, ...]:
    """Which heads are ablated."""
    knock = controls.segmented("Zero-ablate", "knock", list(KNOCK), "induction", KNOCK)
    if knock != "own":
        of_kind = {"none": [], "induction": kinds.induction, "previous": kinds.previous, "others": kinds.others}
        return tuple(of_kind[knock])
    config = opened(name)[0].config
    words = controls.text_area("Heads, as layer.head", "off", "3.0", 400, height=68)
    return head_links.named_heads("off", words, (config.n_layers, config.attention.n_heads))


def find() -> None:
    """Show the section."""
    in_your_text.forget()
    with panel(None) as p:
        p.examples(TRY)
        which, reads = st.columns([1, 3], gap="medium")
        with which:
            name = models.choose("decoder", default="stories", why_not=models.silent)
        with reads:
            kind = controls.segmented("Input", "text_is", list(INPUTS), "random", INPUTS)
        left, right = st.columns([2, 3], gap="large")
        kinds, config = kinds_of(name), opened(name)[0].config
        with left:
            box, more, beside = st.container(), page.more_settings(), st.container()
        with box:
            task = choose(name, kind, more)
            first = kinds.best if reading.begins_with_strongest(config) else (3, 0)
            with more:
                place = (
                    controls.place("Layer", "layer", config.n_layers, first[0]),
                    controls.place("Head", "head", config.attention.n_heads, first[1]),
                )
                without = kind != "random" and not links.is_old("4")
                hide = controls.toggle("Hide first token", "hide", without, help=HIDE)
        with right:
            above = st.container()
        st.subheader("Zero ablation: set heads to zero, and measure the loss", anchor=False)
        off = choose_off(name, kinds)
        with above:
            show_stripe(p, name, task, off, place, hide)
            if task.text:
                in_your_text.reserve()
        with beside:
            show_scores(p, name, task, off, place)
        numbers, curve = st.columns([1, 4], gap="medium")
        with curve:
            shown = views.losses(name, task, off)
            p.show(shown)
        whole, cut = shown.result
        for label, loss, change in say.copy_losses(whole, cut, off, kind != "once").metrics:
            if loss is not None:
                numbers.metric(f"Loss, {label}", loss, change, delta_color="inverse")
            else:
                numbers.metric(f"Loss, {label}", "none", help="There are no such tokens in this text")
        below, found_stripe = "", say.find_stripe(cut or whole, copies=kind != "once")
        if kinds.induction and found_stripe.best is not None:
            below = "No layer below them has a previous-token head."
            if kinds.previous:
                below = (
                    f"Previous-token heads in the layers below: {listed(kinds.previous)}. Ablate those and see whether "
                    "the stripe stays."
                )
        cost = say.ablation_cost(whole, cut, off) if cut else ""
        note = training_note(name, is_random=kind == "random")
        p.what_to_see(f"{found_stripe} {say.induction_heads(kinds)} {cost} {below} {note}")
        p.question(
            "Ablate one induction head of stories alone (3.0), with 24 random tokens, repeated: the loss on the second "
            "copy hardly moves. Is the head useless?",
            "No: 3.2 does the same, and one of them is enough. Ablate both, and the loss on the second copy is as high "
            "as on the first. A head whose own ablation costs nothing can still be half of what carries the skill; "
            "single ablations do not show that.",
        )
    if task.text:
        in_your_text.fill(Reading(name, task.text), TOKENS, in_stripe)


def in_stripe(chip: Chip) -> dict[str, Any] | None:
    """The values that show a highlight here, see in_your_text: a head that uses a repetition, on the text as it is."""
    if chip.kind != "repeated" or not chip.heads:
        return None
    layer, head = chip.heads[0]
    return {"text_is": "once", "layer": layer, "head": head}


def show_stripe(p: Panel, name: str, task: CopyTask, off: tuple[Place, ...], head: Place, hide: bool) -> None:
    """The attention pattern of one head, without its first token if `hide`; a click on a cell leads to why the head
    looks there."""
    shown = views.stripe(name, task, off, *head, hide_first=hide)
    ids, pattern = shown.result.ids.tolist(), shown.result.patterns[head]
    # What is ablated in layers below changes the score: the page on heads takes apart that of the whole model.
    changed = any(layer < head[0] for layer, _ in off)
    there = None if changed else head_links.of_ids(name, ids, *head)
    p.show(shown, head_links.on_cell(there, pattern), head_links.caption("", there, CHANGED))
    if there is not None:
        tokens = pieces_of(opened(name)[1], ids)
        there.link_strongest(pattern, tokens, tokens)
    head_links.sheets(name, [head])


def look_at(event: Event) -> None:
    """A click on a head."""
    if isinstance(event["x"], int) and isinstance(event["y"], int):
        controls.set_values(layer=event["y"], head=event["x"])


def show_scores(p: Panel, name: str, task: CopyTask, off: tuple[Place, ...], head: Place) -> None:
    """A number for every head."""
    config = opened(name)[0].config
    heads = config.n_layers * config.attention.n_heads
    offered = [score for score in NAMES if score != "alone" or heads <= MANY]
    score = controls.segmented("For every head", "score", offered, "induction", NAMES)
    crossed = f" Crossed out: {listed(off)}." if off else ""
    many = f" “{NAMES['alone']}” is offered up to {MANY} heads, as each takes a pass; this model has {heads}."
    hint = f"Click a head to see its map.{crossed}{'' if heads <= MANY else many}"
    p.show(views.scores(name, task, off, score, *head), look_at, hint)
