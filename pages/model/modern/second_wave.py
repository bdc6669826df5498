"""The page on modern blocks: switches after 2023, each alone against one base, trained alike."""

import streamlit as st

from pages.model.modern.latents import latents
from pages.model.modern.one_head import CHARACTERS, TEXT
from pages.model.modern.words import AFTER_2023
from pages.ui import controls, links, notices
from pages.ui.components.figure import Event
from pages.ui.frame import panel
from pages.ui.loading import model_map, models
from pages.ui.reading import say_nothing_read, text_box
from tfcore.training.second_wave import HYPER, MULTI_TOKEN
from tfcore.views.model import modern as views
from tfcore.views.model.modern import measure, say

_HERE = "model/modern/page.py"
LIVE: dict[str, tuple[str, dict[str, str], str]] = {  # where a switch is computed on a text of the visitor's
    "QK-norm": (_HERE, {"switch": "norm"}, "On one head"),
    "soft cap": (_HERE, {"switch": "cap"}, "On one head"),
    "sink": (_HERE, {"switch": "sink"}, "On one head"),
    MULTI_TOKEN: ("inference/generation/page.py", {"show": "speculative"}, "Guesses of a draft model"),
    "MLA": ("inference/kv_cache/page.py", {"part": "large", "of": "deepseek_v2"}, "What is cached of a token"),
    "Muon": ("training/lab/page.py", {"show": "changes", "choice": "optimiser", "optimiser": "muon"}, "In the lab"),
}

MORE_TO_SEE = {
    HYPER: " The four streams are the same before the first layer, so the rows of its weights change alike: they "
    "differ from there on, where the layer has written to each with another weight."
}


def click(event: Event) -> None:
    """A click on a row chooses its switch."""
    names = measure.second_wave_trained().names
    match event["customdata"]:
        case [int(row)] if 0 < row < len(names):
            controls.set_values(wave=names[row])


def second_wave() -> None:
    """All switches beside each other, and the block before and after one."""
    wave = measure.second_wave_trained()
    base, versions = wave.base.version, {one.version.name: one.version for one in wave.switches[1:]}
    with panel() as p:
        p.examples(
            {
                "norms that moved again": {"wave": "norm after"},
                "fewer cached numbers": {"wave": "MLA"},
                "a score of no token": {"wave": "sink"},
                "another optimiser": {"wave": "Muon"},
                "two tokens ahead": {"wave": MULTI_TOKEN},
                "four streams": {"wave": HYPER},
            }
        )
        with p.controls:
            name = controls.select("Switch", "wave", list(versions), next(iter(versions)))
            st.markdown(AFTER_2023[name])
            if name in LIVE:
                links.to(*LIVE[name], ":material/arrow_outward:")
            # in no model of the ladder: what queries of any trained model choose on a text
            links.to(
                "inference/long_context/page.py",
                {"look": "chosen"},
                "Sparse: chosen blocks",
                ":material/arrow_outward:",
            )
            if name == HYPER:
                seed = controls.slider("Seed of the weights", "mixed", 0, len(wave.base.losses) - 1, 0)
        with p.picture:
            p.show(views.second_wave(name), on_click=click)
        chosen = versions[name]
        if chosen.config != base.config:
            sides = zip((base, chosen), (None, base.config), ("before", "after"), strict=True)
            for column, (version, last, side) in zip(st.columns(2, gap="medium"), sides, strict=True):
                with column:
                    st.markdown(f"**{side}:** {version.name}")
                    model_map.show(views.change(version.config, last, version.name, side))
        if name == MULTI_TOKEN:
            p.show(views.second_guesses())
        elif name == HYPER:
            p.show(views.connections(seed))
        p.what_to_see(
            f"{say.clear_differences(wave)} Each switch is alone here, and all have one learning rate and a short "
            "training: one that wants another rate or more steps looks worse than it is. Most were made for what large "
            "models suffer from, such as scores that grow until training breaks or a cache that does not fit; the "
            f"panels beside the loss show what they do to that in a small one.{MORE_TO_SEE.get(name, '')}"
        )
        p.question(
            "A switch leaves the loss of these models as it is. Why might a large model have it all the same?",
            "Because the loss of a short training is not what it was made for: MLA and fewer KV heads shrink the "
            "cache, QK-norm and caps bound the scores, a sink or registers free the first token, norms after a layer "
            "bound what it writes. Look at those panels.",
        )
    first_token()


def first_token() -> None:
    """Where heads rest that have nothing to attend to, in a model without sinks and registers."""
    st.subheader("What sinks and registers are for: the first token of your text", anchor=False)
    with panel() as p:
        with p.controls:
            row = controls.text_row()
            model = models.choose("decoder", reads="a head")
            text = text_box(model, "Text", "text", TEXT, CHARACTERS, height=110, row=row, end="first")
        tokens = views.first_tokens_of(model, text)
        notices.tokens(tokens.total, len(tokens.ids), which="first")
        if len(tokens.ids) < 2:
            say_nothing_read(model, text, "text", "Type or paste a text of at least two tokens.")
            return
        with p.picture:
            p.show(views.first_token(model, text))
        p.what_to_see(
            "Softmax gives a weight of 1 away whether or not there is something to attend to. Heads of trained models "
            "put what is left over on the first token, which every later one can see, and whose values come to add "
            "little. A learned sink or registers are made to take that part: their rows in the figure above say how "
            "much they take in small models."
        )
        p.question(
            "A cache of fixed size drops the first token once it is full, and the loss of a model with such heads "
            "leaps up (arXiv:2309.17453, figure 3). Why?",
            "The weight that rested there has to go elsewhere: the softmax of every such head changes, and values of "
            "real tokens are added where nothing was meant to be. Keeping the first few tokens is enough "
            "(arXiv:2309.17453, section 3.2); a learned sink is always there.",
        )
    latents(model, text)
