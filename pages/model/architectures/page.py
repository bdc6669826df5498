"""Encoder, decoder and encoder-decoder side by side, and each at the work it was made for."""

import pandas as pd
import streamlit as st

from pages.model.architectures import experiments as experiments
from pages.model.architectures.facts import FACTS
from pages.model.architectures.tasks import SHOW
from pages.ui import cache, controls, fragments, page
from pages.ui.components.figure import figure
from tfcore.analysis.model.architectures import seen
from tfcore.analysis.model.published_sizes import published_sizes
from tfcore.config import Architecture, ModelConfig
from tfcore.figures.model import architectures as figures
from tfcore.measures.parameter_count import parameters
from tfcore.presets import PRESETS

WIDTHS = [4, 4, 5]
READ, WRITTEN = ["she", "saw", "him", "break", "the", "window"], ["elle", "le", "vit", "briser", "la", "fenêtre"]
# kind: (title, what it is trained to do, what it is good for, blocks in the drawing)
KINDS: dict[Architecture, tuple[str, str, str, int]] = {
    "encoder": (
        "Encoder only",
        "Masked language modelling: predict the masked tokens from both sides.",
        "For search, classification, tagging. It is not trained to generate text.",
        12,
    ),
    "decoder": (
        "Decoder only",
        "Causal language modelling: predict every token from those before it.",
        "For generation, and what can be put as generation: chat, code, answers.",
        12,
    ),
    "encoder-decoder": (
        "Encoder-decoder",
        "Sequence to sequence: encode one text, generate another token by token.",
        "For translation, speech recognition, summaries.",
        6,
    ),
}
# name: (year, kind, what it is trained on, arXiv, preset)
MODELS: dict[str, tuple[int, Architecture, str, str, str | None]] = {
    "Transformer base": (2017, "encoder-decoder", "translation pairs", "1706.03762", "transformer_base"),
    "GPT-2 small": (2019, "decoder", "next token", "", "gpt2_small"),
    "BERT base": (2018, "encoder", "masked language modelling, 15 %", "1810.04805", "bert_base"),
    "RoBERTa": (2019, "encoder", "masked language modelling, dynamic masking", "1907.11692", None),
    "T5 base": (2019, "encoder-decoder", "span corruption", "1910.10683", "t5_base"),
    "BART": (2019, "encoder-decoder", "denoising", "1910.13461", None),
    "GPT-3": (2020, "decoder", "next token", "2005.14165", "gpt3_175b"),
    "ViT": (2020, "encoder", "image labels", "2010.11929", None),
    "Whisper": (2022, "encoder-decoder", "speech and transcripts", "2212.04356", None),
    "LLaMA 3 8B": (2024, "decoder", "next token", "2407.21783", "llama3_8b"),
    "Mixtral 8x7B": (2024, "decoder", "next token", "2401.04088", "mixtral_8x7b"),
    "ModernBERT": (2024, "encoder", "masked language modelling, 30 %", "2412.13663", None),
}


def published(config: ModelConfig) -> int:
    """The parameters of the checkpoint that was published."""
    sizes = published_sizes(config)
    return parameters(config).total if sizes is None else sizes.checkpoint


@cache.data(max_entries=1)
def known() -> pd.DataFrame:
    """Real models, a row each; parameters are counted from the config where we have it."""
    rows = []
    for name, (year, kind, trained, paper, preset) in sorted(MODELS.items(), key=lambda entry: entry[1][0]):
        count = published(PRESETS[preset]()) if preset else None
        link = f"https://arxiv.org/abs/{paper}" if paper else None
        rows.append(
            {"model": name, "year": year, "kind": kind, "trained on": trained, "parameters": count, "paper": link}
        )
    return pd.DataFrame(rows).astype({"parameters": "Int64"})


@fragments.fragment
def three_kinds(latest: page.Latest) -> None:
    """The drawings and the masks."""
    for place, (kind, (title, _, _, layers)) in zip(st.columns(WIDTHS, gap="medium"), KINDS.items(), strict=True):
        with place:
            st.subheader(title, anchor=False)
            parts = [", then ".join(words.replace("<br>", " ") for words, _ in stack) for stack in figures.STACKS[kind]]
            drawn = figures.stack_figure(kind, layers, height=330)
            figure(drawn, key=f"stack-{kind}", alt=f"{title}: {'; '.join(parts)}", height=drawn.layout.height)
    for place, (_, trained, good, _) in zip(st.columns(WIDTHS, gap="medium"), KINDS.values(), strict=True):
        place.markdown(f"*{trained}* {good}")
    with st.container(horizontal=True):
        read = controls.slider("Source tokens", "read", 1, len(READ), len(READ))
        written = controls.slider("Target tokens so far", "written", 1, len(WRITTEN), 4)
    for place, kind in zip(st.columns(WIDTHS, gap="medium"), KINDS, strict=True):
        with place:
            shown = experiments.kinds(kind, READ[:read], WRITTEN[:written])
            figure(
                shown.figure,
                key=f"seen-{kind}",
                height=360,
                min_width=280,
                alt=shown.alt,
                caption=f"{shown.caption} Dotted: between source and target.",
            )
    latest.offer(experiments.kinds, "encoder-decoder", READ[:read], WRITTEN[:written])


page.begin(FACTS)
page.try_this(
    {
        "adjective after noun": {"job": "translate", "sentence": "She gave me a red book yesterday.", "step": 6},
        "the pronoun comes first": {"job": "translate", "sentence": "I know him very well.", "step": 1},
        "first target token": {"read": 6, "written": 1},
        "continue a story": {"job": "stories", "new": 24},
    }
)
latest = page.Latest()
three_kinds(latest)
page.what_to_see(
    "The encoder's mask is a full square (bidirectional): each token attends to the whole text. The decoder's is a "
    "triangle (causal): no token attends to later ones, so each can be predicted. The encoder-decoder has a full "
    "square for the source, a triangle for the target, and cross-attention, lower left: every target token attends to "
    "the whole source."
)

st.header("Each at its own task", anchor=False)
job = controls.sections(FACTS.sections)
SHOW[job]()

st.header("Which real models are which?", anchor=False)
st.dataframe(
    known(),
    hide_index=True,
    width="stretch",
    placeholder="–",
    column_config={
        "year": st.column_config.NumberColumn(format="%d"),
        "parameters": st.column_config.NumberColumn(format="compact", help="Counted from the config, where we have it"),
        "paper": st.column_config.LinkColumn(display_text=r"abs/(.*)"),
    },
)
page.question(
    "A decoder can translate as well: it reads the sentence, then generates. What does it lack that the "
    "encoder-decoder has?",
    "Bidirectional attention over the source. In the decoder each source token attends only to itself and those before "
    "it, so the state of the first token has nothing of the last; the encoder's states depend on the whole sentence. A "
    "prefix-LM allows the square in a single stack: see the page on masks.",
)
page.how_it_is_computed(
    latest,
    formula=(
        r"\begin{gathered}\mathrm{softmax}\Big(\tfrac{QK^\top}{\sqrt{d_k}} + M\Big)\,V"
        r"\\ M_{ij} = 0 \text{ where } i \text{ may see } j,\ -\infty \text{ elsewhere}\end{gathered}"
    ),
    code=(seen,),
    terms=("masked language modelling", "span corruption", "denoising"),
    papers=(
        "GPT-2: Radford et al. 2019, which has no arXiv number. Parameters are those of the published checkpoint, "
        "BERT's with both heads. One kind of model can do the task of another: T5 and GPT-3 generate the name of a "
        "class; what differs is what they were trained on."
    ),
)
