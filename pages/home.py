"""The front page: a text box that goes straight to attention, and the way to every page."""

import streamlit as st

from pages.ui import controls, links

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
        "Your model": (
            "model/your_model.py",
            "Does it fit, and what does it say? A model from the Hugging Face hub or a folder, on every page here.",
        ),
    },
    "Training": {
        "Lab": (
            "training/lab.py",
            "How does it learn? Train a small model here and now, and watch loss, attention and answers as it does.",
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
        "Long texts": (
            "inference/long_context.py",
            "What does length cost? Flash attention number by number, rings of devices, sparse patterns, timed here.",
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
}
COLUMNS = 3

TEXT = "The little dog lost the red ball. The little dog"

st.title("See a Transformer work", anchor=False)
st.markdown(
    "Every picture here is computed by a real model at the moment you look at it. Move a slider, paste a text of your "
    "own, and copy the link: whoever opens it sees exactly the same."
)
with st.container(border=True):
    pasted = controls.text_area("Your text", "text", TEXT, 2_000, height=80)
    if st.button("See its attention", type="primary", disabled=not pasted):
        st.switch_page("foundations/heads.py", query_params=links.text_parameters("text", pasted))
for chapter, pages in CHAPTERS.items():
    st.subheader(chapter, anchor=False)
    entries = list(pages.items())
    for start in range(0, len(entries), COLUMNS):
        for column, (title, (file, answer)) in zip(st.columns(COLUMNS), entries[start : start + COLUMNS], strict=False):
            with column, st.container(border=True, height="stretch"):
                st.page_link(file, label=f"**{title}**")
                st.markdown(answer)
st.caption(
    "The model behind these pages, stories, is a small decoder trained on children's stories by a recipe in this "
    "repository; its card says what it can do. Papers: arXiv:1706.03762 (attention), arXiv:2209.11895 (induction)."
)
