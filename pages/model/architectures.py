"""Encoder, decoder and encoder-decoder side by side, and each at the work it was made for."""

import pandas as pd
import streamlit as st

from pages.experiments import architectures as experiments
from pages.model._architectures_jobs import JOBS, SHOW, jobs
from pages.ui import cache, controls, fragments, page
from pages.ui.figure import figure
from tfcore.analysis.architectures import seen
from tfcore.analysis.parameter_count import parameters
from tfcore.config import Architecture
from tfcore.figures import architectures as figures
from tfcore.presets import PRESETS

READ, WRITTEN = ["she", "saw", "him", "break", "the", "window"], ["elle", "le", "vit", "briser", "la", "fenêtre"]
# kind: (title, what it is trained to do, what it is good for, blocks in the drawing)
KINDS: dict[Architecture, tuple[str, str, str, int]] = {
    "encoder": (
        "Encoder only", "Some tokens are hidden; it guesses them from both sides.",
        "Understanding: search, classification, tagging. It cannot write.", 12,
    ),
    "decoder": (
        "Decoder only", "Every token is guessed from those before it.",
        "Writing, and by way of writing everything else: chat, code, reasoning.", 12,
    ),
    "encoder-decoder": (
        "Encoder-decoder", "A whole text is read, another is written token by token.",
        "One text into another: translation, speech to text, summaries.", 6,
    ),
}  # fmt: skip
# name: (year, kind, what it is trained on, arXiv, preset)
MODELS: dict[str, tuple[int, Architecture, str, str, str | None]] = {
    "Transformer base": (2017, "encoder-decoder", "translation pairs", "1706.03762", "transformer_base"),
    "GPT-2 small": (2019, "decoder", "the next token", "", "gpt2_small"),
    "BERT base": (2018, "encoder", "15 % of the tokens hidden", "1810.04805", "bert_base"),
    "RoBERTa": (2019, "encoder", "hidden tokens, anew each time", "1907.11692", None),
    "T5 base": (2019, "encoder-decoder", "hidden spans, written out", "1910.10683", "t5_base"),
    "BART": (2019, "encoder-decoder", "a damaged text, mended", "1910.13461", None),
    "GPT-3": (2020, "decoder", "the next token", "2005.14165", "gpt3_175b"),
    "ViT": (2020, "encoder", "labels of pictures", "2010.11929", None),
    "Whisper": (2022, "encoder-decoder", "speech and its transcript", "2212.04356", None),
    "LLaMA 3 8B": (2024, "decoder", "the next token", "2407.21783", "llama3_8b"),
    "Mixtral 8x7B": (2024, "decoder", "the next token", "2401.04088", "mixtral_8x7b"),
    "ModernBERT": (2024, "encoder", "30 % of the tokens hidden", "2412.13663", None),
}


@cache.data(max_entries=1)
def known() -> pd.DataFrame:
    """Real models, a row each; parameters are counted from the config where we have it."""
    rows = []
    for name, (year, kind, trained, paper, preset) in sorted(MODELS.items(), key=lambda entry: entry[1][0]):
        count = parameters(PRESETS[preset]()).total if preset else None
        link = f"https://arxiv.org/abs/{paper}" if paper else None
        rows.append({"model": name, "year": year, "kind": kind, "trained on": trained, "parameters": count,
                     "paper": link})  # fmt: skip
    return pd.DataFrame(rows).astype({"parameters": "Int64"})


@fragments.fragment
def three_kinds() -> None:
    """The drawings and the masks."""
    with st.container(horizontal=True):
        read = controls.slider("Tokens read", "read", 1, len(READ), len(READ))
        written = controls.slider("Tokens written so far", "written", 1, len(WRITTEN), 4)
    labels = READ[:read] + WRITTEN[:written]
    pairs = (read + written) ** 2
    for place, (kind, (title, trained, good, layers)) in zip(
        st.columns([4, 4, 5], gap="medium"), KINDS.items(), strict=True
    ):
        with place:
            st.subheader(title, anchor=False)
            st.markdown(f"*{trained}* {good}")
            parts = [", then ".join(words.replace("<br>", " ") for words, _ in stack) for stack in figures.STACKS[kind]]
            figure(
                figures.stack_figure(kind, layers, 330), key=f"stack-{kind}", alt=f"{title}: {'; '.join(parts)}",
                height=330,
            )  # fmt: skip
            allowed = seen(kind, read, written)
            found = f"{allowed.sum()} of {pairs} pairs"
            figure(
                figures.seen_figure(allowed, labels, read, 360), key=f"seen-{kind}", height=360, min_width=280,
                alt=f"{title}, {read} tokens read and {written} written: {found} may be looked at.",
                caption=f"Who sees whom: {found}. Dotted: between what is read and what is written.",
            )  # fmt: skip
    page.experiment(experiments.kinds, READ[:read], WRITTEN[:written], "encoder-decoder")


page.begin(
    "Three kinds of Transformer",
    "The same blocks make three machines; what tells them apart is who may look at whom, and so what they can be "
    "trained to do.",
    r"\begin{gathered}\mathrm{softmax}\Big(\tfrac{QK^\top}{\sqrt{d_k}} + M\Big)\,V"
    r"\\ M_{ij} = 0 \text{ where } i \text{ may see } j,\ -\infty \text{ elsewhere}\end{gathered}",
)
page.try_this(
    {
        "adjective after noun": {"job": "translate", "sentence": "She gave me a red book yesterday.", "step": 6},
        "a pronoun jumps ahead": {"job": "translate", "sentence": "I know him very well.", "step": 1},
        "one to write, all to read": {"read": 6, "written": 1},
        "a story goes on": {"job": "stories", "new": 24},
    }
)
three_kinds()
page.what_to_see(
    "The encoder's square is full: each token knows the whole text. The decoder's is a triangle: nothing looks ahead, "
    "so every token can be foretold. The encoder-decoder has a full square for what is read, a triangle for what is "
    "written, and between them the cross-attention, lower left: all that is written sees all that was read."
)
page.source(seen)

st.header("Each at its work", anchor=False)
job = controls.segmented("Work", "job", jobs(), jobs()[0], JOBS)
SHOW[job]()

st.header("Which real models are which?", anchor=False)
st.dataframe(
    known(), hide_index=True, width="stretch", placeholder="–",
    column_config={
        "year": st.column_config.NumberColumn(format="%d"),
        "parameters": st.column_config.NumberColumn(format="compact", help="Counted from the config, where we have it"),
        "paper": st.column_config.LinkColumn(display_text=r"abs/(.*)"),
    },
)  # fmt: skip
st.caption(
    "GPT-2: Radford et al. 2019, which has no arXiv number. One model can do the work of another kind: T5 and GPT-3 "
    "write out classes as words; what differs is what they saw while they learned."
)
page.question(
    "A decoder can translate as well: it reads the sentence, then writes on. What does it lack that the "
    "encoder-decoder has?",
    "The square. While it reads, each token of the sentence sees only the words before it, so the first word knows "
    "nothing of the last; the encoder's states know the whole sentence. A large decoder makes up for it in its layers, "
    "and needs no second stack. A prefix-LM gives the square back: see the page on masks.",
)
