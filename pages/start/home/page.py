"""The front page: a text, its river through a model, three ways in, and the way to every page."""

from pathlib import Path

import streamlit as st

from pages.start.home import map as model_map
from pages.start.home import stage
from pages.ui import controls, links, page, places, recent

# chapter -> title: (file, what it answers)
CHAPTERS = {
    "Start": {
        "Walkthrough": (
            "start/walkthrough/page.py",
            "What is a Transformer? One text, step by step through a trained model, from its characters to the next "
            "token.",
        )
    },
    "Foundations": {
        "Tokens": (
            "foundations/tokens/page.py",
            "What does a model read? Text, images, sounds, series and proteins cut into tokens; BPE merge by merge.",
        ),
        "Recurrence": (
            "foundations/recurrence/page.py",
            "Why attention at all? An RNN, an LSTM and a Transformer of equal size: gradients, training and time.",
        ),
        "Attention": (
            "foundations/attention/page.py",
            "How does attention work? Drag queries, keys and values, and watch scores, weights and outputs follow.",
        ),
        "Attention heads": (
            "foundations/heads/page.py",
            "What does each head attend to? Paste a text and see every head of a trained model, with its kind.",
        ),
        "Positions": (
            "foundations/positions/page.py",
            "How does a model know the order? Sinusoidal, learned, RoPE, ALiBi and none, with sliders.",
        ),
        "Masks": (
            "foundations/masks/page.py",
            "Which tokens may attend to which? Eight attention masks, and what leaks when the mask is missing.",
        ),
    },
    "Block": {
        "Normalisation": (
            "block/normalisation/page.py",
            "What does normalisation do? LayerNorm and RMSNorm by hand, and pre-LN against post-LN, trained live.",
        ),
        "Residual connections": (
            "block/residuals/page.py",
            "Why residual connections? Gradients in up to 64 layers, and a model with any of its sublayers left out.",
        ),
        "Feed-forward": (
            "block/feedforward/page.py",
            "What do feed-forward layers compute? The texts a neuron is active on, and the tokens it promotes.",
        ),
        "Pitfalls": (
            "block/pitfalls/page.py",
            "What if it is built wrong? Eight mistakes, each trained live beside a baseline.",
        ),
    },
    "Model": {
        "Parameters": (
            "model/parameters/page.py",
            "Where are the parameters, and what do they cost? Published models, or one of your own by sliders.",
        ),
        "Architectures": (
            "model/architectures/page.py",
            "Encoder, decoder or both? Their attention masks, and a translation with its cross-attention.",
        ),
        "Modern blocks": (
            "model/modern/page.py",
            "What has changed since 2017? Eight switches, one at a time: parameters, KV cache, latency and loss.",
        ),
        "Your model": (
            "model/your_model/page.py",
            "Does it fit into memory? A model from the Hugging Face hub or a folder, on the pages here.",
        ),
    },
    "Training": {
        "Information": (
            "training/information/page.py",
            "What is cross-entropy? Entropy, KL divergence and mutual information to drag, and any text in bits.",
        ),
        "Lab": (
            "training/lab/page.py",
            "How does a model learn? Train a small one here and now, and watch loss, attention and accuracy.",
        ),
        "Scaling": (
            "training/scaling/page.py",
            "How large, on how many tokens, at what cost? Published scaling laws, real models, and a ladder of our "
            "own.",
        ),
        "Fine-tuning": (
            "training/finetuning/page.py",
            "How is a trained model changed? All weights or LoRA and what is forgotten; DPO and reward hacking.",
        ),
    },
    "Inference": {
        "Generation": (
            "inference/generation/page.py",
            "How is text generated? The next-token distribution and its filters, beam search as a tree, and "
            "speculative decoding.",
        ),
        "KV cache": (
            "inference/kv_cache/page.py",
            "Why keep keys and values? Generation with and without the KV cache, its size, and whether it fits.",
        ),
        "Long context": (
            "inference/long_context/page.py",
            "What does length cost? Flash attention number by number, ring attention, sparse patterns, timed here.",
        ),
        "Quantisation": (
            "inference/quantisation/page.py",
            "What is lost with fewer bits? Weights on their grid, outliers, loss against bits, a GGUF block opened.",
        ),
    },
    "Experts": {
        "Routing": (
            "experts/routing/page.py",
            "Which expert gets which token? A text coloured by its experts, expert specialisation, and other rules.",
        ),
        "Balance": (
            "experts/balance/page.py",
            "Why does one expert get everything? A router trained live until it collapses, and five remedies.",
        ),
    },
    "Inside": {
        "Flow": (
            "inside/flow/page.py",
            "Where does the next word come from? A text through all layers at once; switch heads off and watch.",
        ),
        "Induction heads": (
            "inside/induction/page.py",
            "How does a model copy? Find induction heads, ablate them, and watch them form in training.",
        ),
        "In-context learning": (
            "inside/in_context/page.py",
            "What does a model learn from the prompt alone? Give 0 to 16 examples, with right and with random labels.",
        ),
        "Features": (
            "inside/features/page.py",
            "Which features are active in a text? Look at one closely; switch it off, or force it on.",
        ),
        "Probing": (
            "inside/probing/page.py",
            "What can a linear classifier read off the residual stream? Probes by layer, beside a control task.",
        ),
        "Circuits": (
            "inside/circuits/page.py",
            "Which parts make a prediction together? Follow it back to the tokens, from feature to feature.",
        ),
        "Residual stream": (
            "inside/stream/page.py",
            "Where does a logit come from? The contribution of every part, and the logit lens layer by layer.",
        ),
        "Interventions": (
            "inside/interventions/page.py",
            "What does each part do? Ablation and activation patching, on one text or on a set of prompts.",
        ),
    },
    "Reference": {
        "History": (
            "reference/history/page.py",
            "Where does it come from? From 1943 to today, what built on what, and what else is a sequence.",
        ),
        "Folklore": (
            "reference/folklore/page.py",
            "Is it true? Figures and rules that are often quoted, each computed again.",
        ),
        "Glossary": (
            "reference/glossary/page.py",
            "What is it called? The field's terms, each with a sentence, a formula and the page that shows it.",
        ),
        "Check yourself": (
            "reference/check/page.py",
            "What have you understood? Ten questions, new each time; each wrong answer leads to its experiment.",
        ),
    },
}
# chapter -> what it answers
ANSWERS = {
    "Start": "What happens between a text and the next token?",
    "Foundations": "How does a text become vectors, and how do tokens attend to each other?",
    "Block": "What else is in a block, and why does it train?",
    "Model": "How are blocks put together, and how many parameters do they have?",
    "Training": "What is learned, how fast, and at what cost?",
    "Inference": "How is text generated, and what makes that fast?",
    "Experts": "How can a model have many parameters and use few per token?",
    "Inside": "Which part does what, and how can one know?",
    "Reference": "Where does it come from, is it true, and what is it called?",
}
# title: (address, view, what happens there)
DOORS: dict[str, tuple[str, dict[str, str], str]] = {
    "Follow one word": ("walkthrough", {}, "From its characters to the next token."),
    "Break it": ("interventions", {}, "What does the prediction need?"),
    "Train one now": ("lab", {}, "On a task or a text of your own."),
}
PICTURES = Path(__file__).parents[3] / "assets" / "previews"
CHAPTER_PICTURES = {
    "Start": "walkthrough",
    "Foundations": "positions",
    "Block": "residuals",
    "Model": "architectures",
    "Training": "scaling",
    "Inference": "generation",
    "Experts": "routing",
    "Inside": "stream",
    "Reference": "history",
}

SMALL = 112  # pixels across of a picture
# Of a picture taken for previews of links only what is below its title is shown: the upper quarter, 15 pixels, is cut.
CUT = """<style>img[alt^="A figure of the page"] {
  clip-path: inset(25% 0 2% 0); margin-block: -15px -1px; }</style>"""
# The pictures were taken in the light theme. In the dark one black and white change places, and hues stay.
DARK = '<style>img[alt^="A figure of the page"] { filter: invert(0.9) hue-rotate(180deg); }</style>'

CLAIM = (
    "A real Transformer reads your text while you look: each token is a stream through its layers, attention carries "
    "ribbons between them, and at the end are the next words. Click a dot to switch that head off."
)


def picture(url: str) -> None:
    """A small figure of a page."""
    st.image(PICTURES / f"{url}.png", width=SMALL, alt=f"A figure of the page {places.place(url).title}")


page.begin("See where the next word comes from", CLAIM)
stage.show()
st.html(CUT)
if st.context.theme.type == "dark":
    st.html(DARK)
for column, (title, (url, view, words)) in zip(st.columns(len(DOORS), gap="medium"), DOORS.items(), strict=True):
    with column, st.container(border=True, height="stretch", horizontal=True, wrap=False, gap="small"):
        picture(url)
        with st.container(gap="xxsmall", width="stretch"):
            links.to(places.place(url).file, view, f"**{title}**", ":material/arrow_forward:")
            st.caption(words)
recent.show()
with st.container(gap=None):
    for chapter, entries in CHAPTERS.items():
        with st.container(horizontal=True, vertical_alignment="center", gap="medium", key=f"chapter {chapter}"):
            picture(CHAPTER_PICTURES[chapter])
            with st.container(gap=None, width="stretch"):
                st.markdown(f"**{chapter}.** {ANSWERS[chapter]}")
                with st.container(horizontal=True, gap="small"):
                    for title, (file, answer) in entries.items():
                        st.page_link(file, label=title, help=answer, width="content")
with st.expander("A map of the model: every part leads to the page about it"):
    st.session_state[stage.BELOW] = controls.last("model")
    model_map.show(controls.last("model"))
st.caption(
    "Pictures are computed while you look; what takes hours is stored, and its page says so. The induction heads of "
    "stories come from repeated random tokens, 2 of every 16 sequences it was trained on with text. Papers: "
    "arXiv:1706.03762 (attention), arXiv:2403.00824 (information flow), arXiv:2209.11895 (induction)."
)
