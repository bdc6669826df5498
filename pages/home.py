"""The front page: a text box that goes straight to attention, a model as a map, and the way to every page."""

import streamlit as st

from pages import _home_map
from pages.ui import controls, links, page, recent, tour

# chapter -> title: (file, what it answers)
CHAPTERS = {
    "Start": {
        "Walkthrough": (
            "start/walkthrough.py",
            "What is a Transformer? One text, step by step through a real model, from its letters to the next word.",
        ),
    },
    "Foundations": {
        "Tokens": (
            "foundations/tokens.py",
            "What does it read? Text, pictures, sounds, series and proteins cut into tokens, merge by merge.",
        ),
        "Attention": (
            "foundations/attention.py",
            "How does a token choose where to look? Drag queries, keys and values, and watch every number follow.",
        ),
        "Attention heads": (
            "foundations/heads.py",
            "What does each head look at? Paste a text and see every head of a trained model, named by what it does.",
        ),
        "Positions": (
            "foundations/positions.py",
            "How does it know the order of words? Sinusoidal, learned, RoPE, ALiBi and none, with sliders.",
        ),
        "Masks": (
            "foundations/masks.py",
            "Who may look at whom? Eight masks before and after the softmax, and what leaks when a mask is missing.",
        ),
    },
    "Block": {
        "Normalisation": (
            "block/normalisation.py",
            "What keeps numbers in range? LayerNorm and RMSNorm by hand, and pre-LN against post-LN, trained live.",
        ),
        "Residual connections": (
            "block/residuals.py",
            "Why add, and not replace? Gradients in up to 64 layers, and a model with any of its sublayers left out.",
        ),
        "Feed-forward": (
            "block/feedforward.py",
            "What do neurons know? The texts that excite one, the tokens it promotes, and the text without it.",
        ),
        "Pitfalls": (
            "block/pitfalls.py",
            "What if it is built wrong? Eight mistakes, each trained live beside its healthy twin.",
        ),
    },
    "Model": {
        "Parameters": (
            "model/parameters.py",
            "Where are the parameters, and what do they cost? Every published model, or your own by sliders.",
        ),
        "Architectures": (
            "model/architectures.py",
            "Encoder, decoder or both? Who sees whom in each, and a translation whose words find each other.",
        ),
        "Modern blocks": (
            "model/modern.py",
            "What has changed since 2017? Eight switches, one at a time: size, cache and speed, measured now.",
        ),
        "Your model": (
            "model/your_model.py",
            "Does it fit, and what does it say? A model from the Hugging Face hub or a folder, on every page here.",
        ),
    },
    "Training": {
        "Information": (
            "training/information.py",
            "What does a loss count? Entropy, KL and mutual information as bars to drag, and any text in bits.",
        ),
        "Lab": (
            "training/lab.py",
            "How does it learn? Train a small model here and now, and watch loss, attention and answers as it does.",
        ),
        "Scaling": (
            "training/scaling.py",
            "How large, on how much text, and for how much money? The published laws, real models, and our own ladder.",
        ),
    },
    "Inference": {
        "Generation": (
            "inference/generation.py",
            "How does it write? Every next token with what each filter cuts away, beams as a tree, and a draft that "
            "guesses ahead.",
        ),
        "KV cache": (
            "inference/kv_cache.py",
            "Why not read everything again? Writing with and without the cache, its size, and whether it fits.",
        ),
        "Long context": (
            "inference/long_context.py",
            "What does length cost? Flash attention number by number, rings of devices, sparse patterns, timed here.",
        ),
    },
    "Experts": {
        "Routing": (
            "experts/routing.py",
            "Which expert takes which token? A text coloured by its experts, their likings, and other rules for them.",
        ),
        "Balance": (
            "experts/balance.py",
            "Why does one expert get everything? A router trained live until it collapses, and five remedies.",
        ),
    },
    "Inside": {
        "Induction heads": (
            "inside/induction.py",
            "How does it copy what it has never seen? Find the heads, knock them out, watch them appear in training.",
        ),
        "Residual stream": (
            "inside/stream.py",
            "Who wrote the answer? The share of every part in a logit, and what the model would say layer by layer.",
        ),
        "Interventions": (
            "inside/interventions.py",
            "What if a part were different? Switch heads off, turn them round, or patch them from another text.",
        ),
    },
    "Reference": {
        "History": (
            "reference/history.py",
            "Where does it come from? From 1943 to today, who built on whom, and what else is a sequence.",
        ),
        "Folklore": (
            "reference/folklore.py",
            "Is it true what they say? Figures that everybody quotes, each computed again while you look.",
        ),
        "Check yourself": (
            "reference/check.py",
            "What have you understood? Ten questions, new each time; a wrong answer leads to its experiment.",
        ),
    },
}
# chapter -> what it answers
ANSWERS = {
    "Start": "What happens between a text and the next word?",
    "Foundations": "How do words become numbers that look at each other?",
    "Block": "What else is in a layer, and why does it train at all?",
    "Model": "How are layers put together, and what do they weigh?",
    "Training": "What is learned, how fast, and at what cost?",
    "Inference": "How does it write, and what makes that quick?",
    "Experts": "How can a model be large and yet cheap?",
    "Inside": "Which part does what, and how can one know?",
    "Reference": "Where does it come from, is it true, and have you got it?",
}
COLUMNS = 3

CLAIM = (
    "Every picture here is computed by a real model at the moment you look at it. Move a slider, paste a text of your "
    "own, and copy the link: whoever opens it sees exactly the same."
)
TEXT = "The little dog lost the red ball. The little dog"

page.begin("See a Transformer work", CLAIM)
left, right = st.columns([4, 5], gap="large")
with left:
    with st.container(border=True):
        pasted = controls.text_area("Your text", "text", TEXT, 2_000, height=100)
        if st.button("See its attention", type="primary", disabled=not pasted):
            links.go("foundations/heads.py", links.text_parameters("text", pasted))
    tour.begin()
    recent.show()
    st.markdown("\n".join(f"- **{chapter}**: {ANSWERS[chapter]}" for chapter in CHAPTERS))
with right:
    _home_map.show()
for chapter, pages in CHAPTERS.items():
    st.subheader(chapter, anchor=False)
    entries = list(pages.items())
    for start in range(0, len(entries), COLUMNS):
        for column, (title, (file, answer)) in zip(st.columns(COLUMNS), entries[start : start + COLUMNS], strict=False):
            with column, st.container(border=True, height="stretch"):
                st.page_link(file, label=f"**{title}**")
                st.markdown(answer)
st.caption(
    "The model behind most pages, stories, is a small decoder trained on children's stories by a recipe in this "
    "repository; its card says what it can do. Papers: arXiv:1706.03762 (attention), arXiv:2209.11895 (induction)."
)
