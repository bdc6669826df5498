"""The page on one's own model: what a loaded model is and says, and where to look at it."""

from typing import Any

import streamlit as st

from pages.ui import cache, links, text
from pages.ui.frame import Panel
from pages.ui.loading import models, own_models, run_models
from pages.ui.reading import text_box
from tfcore import available
from tfcore.config import Architecture, ModelConfig
from tfcore.loading.hub import is_hub_name
from tfcore.measures.parameter_count import parameters
from tfcore.measures.quantities import gigabytes, short, whole
from tfcore.views.model import your_model as views
from tfcore.views.model.your_model import say

TEXT = "Once upon a time there was a little dog who wanted to play with the cat."
CHARACTERS = 500  # of a text
READ = 400  # of what the model reads and writes
CHANGED = 1_000  # of the sentence on an adapter
CHIPS = 96  # tokens that are shown
ONE_STACK: tuple[Architecture, ...] = ("decoder", "encoder")
ROUTING = "experts/routing/page.py"  # for a mixture of experts alone
FLOW = "inside/flow/page.py"
STREAM = "inside/stream/page.py"
PICTURES = "foundations/pictures/page.py"
SOUND = "foundations/sound/page.py"
INTERVENTIONS = "inside/interventions/page.py"
# file of a page: (what one sees there, architectures it works on; none means all, what else goes into its address)
PAGES: dict[str, tuple[str, tuple[Architecture, ...], dict[str, str]]] = {
    "start/walkthrough/page.py": ("step by step", ONE_STACK, {}),
    "foundations/heads/page.py": ("every attention head", (), {}),
    "foundations/masks/page.py": ("masks and leaks", ONE_STACK, {}),
    "foundations/attention/page.py": ("words compared", ONE_STACK, {"look": "words"}),
    "foundations/positions/page.py": ("positions", ("decoder",), {"scheme": "together"}),
    "foundations/tokens/page.py": ("tokens", (), {}),
    "block/normalisation/page.py": ("norms", (), {"part": "axis"}),
    "block/residuals/page.py": ("dropout", ONE_STACK, {"part": "Dropout"}),
    "block/feedforward/page.py": ("feed-forward share", (), {"panel": "share"}),
    "model/parameters/page.py": ("parameters and costs", (), {}),
    "training/information/page.py": ("a text in bits", ("decoder",), {"show": "text"}),
    "inference/generation/page.py": ("generation", ("decoder",), {}),
    "inference/kv_cache/page.py": ("with and without a KV cache", ("decoder",), {}),
    ROUTING: ("routing", ("decoder",), {}),
    "inside/induction/page.py": ("induction heads", ("decoder",), {}),
    STREAM: ("logit attribution", ("decoder",), {}),
    FLOW: ("flow of information", (), {}),
    INTERVENTIONS: ("ablation and patching", ("decoder",), {}),
}
# those about the next token
OF_TOKENS = {
    *("training/information/page.py", "inference/generation/page.py", "inference/kv_cache/page.py", ROUTING),
    *("inside/induction/page.py", STREAM),
}
# those that read every head of a model, or one
HEADS: dict[str, models.Reads] = {
    "start/walkthrough/page.py": "every head",
    "foundations/heads/page.py": "a head or a state",
    "foundations/masks/page.py": "a head",
    "foundations/attention/page.py": "a head",
    "foundations/positions/page.py": "every head",
    "inside/induction/page.py": "every head",
}
# those that show two models beside each other
BESIDE = {file: PAGES[file] for file in ("inference/generation/page.py", FLOW)}
SENTENCES = {
    "continuation": "Continuation:",
    "answer": "Output:",
    "blank": "Most likely at the masked position:",
    "class": "Class:",
    "classes": "Classes above one half, each judged by itself:",
    "numbers": "Number:",
    "span": "Answer within the text:",
}


def show_loaded(p: Panel, name: str) -> None:
    """Everything about a model that is loaded."""
    model, tokenizer = cache.model(name)
    config, own = model.config, own_models.get(name)
    count = parameters(config)
    st.subheader(f"{text.escape(name, text.NAME)} is loaded", anchor=False)
    if run_models.is_run(name):
        st.caption("Trained in the lab on this server; it is kept for as long as the run is looked at.")
    elif own is not None:
        source = f"commit {own.state}" if is_hub_name(name) else "from a folder"
        st.caption(f"In {own.seconds:.1f} s; {source}." + (f" Family: {own.family}." if own.family else ""))
    kept = say.kept(count.total, model.weight_bytes, model.halved)
    if model.halved:
        st.caption(str(kept))
    one, two, three, four = st.columns(4)
    one.metric("Parameters", short(count.total), help=whole(count.total))
    if count.active != count.total:
        two.metric("Active per token", short(count.active), help=whole(count.active))
    else:
        two.metric("Memory of its weights", gigabytes(model.weight_bytes), help=str(kept))
    if config.patches is not None:
        three.metric("Picture", f"{config.patches.side} × {config.patches.side}", help="pixels")
        four.metric("Tokens", whole(config.max_seq_len), help=str(say.tokens_of_picture(config.patches)))
    else:
        three.metric("Vocabulary", whole(config.vocab_size))
        four.metric("Context", whole(config.max_seq_len), help="tokens it can read, or write, at once")
    table, speech = st.columns([2, 3], gap="large")
    with table:
        st.markdown(f"**How it is built.** {say.Built(config)}")
        if own is not None and own.adapter is not None:
            st.markdown(f"**What the adapter changes.** {text.escape(str(say.adapted(own.adapter)), CHANGED)}")
            beside_its_base(name, config)
        with st.expander("All settings"):
            st.dataframe(views.settings(config), hide_index=True, height="content")
    if config.patches is not None:
        with speech:
            st.markdown(f"**What it reads.** {say.tokens_of_picture(config.patches)}")
            links.to(PICTURES, {"vit": name}, "its attention over a picture", ":material/arrow_outward:")
        return
    if config.sound is not None:
        with speech:
            st.markdown(f"**What it reads.** {say.tokens_of_sound(config.sound)}")
            links.to(SOUND, {"asr": name}, "its attention over a sound", ":material/arrow_outward:")
        return
    with speech:
        speak(p, name, tokenizer)
    where_to(name, config)


def beside_its_base(name: str, config: ModelConfig) -> None:
    """Links to pages where an adapter stands beside the model that it changes."""
    with_it = {"model": name, "with": "model", "model2": models.base_of(name) or models.DEFAULT}
    with st.container(horizontal=True):
        for file, (label, kinds, _) in BESIDE.items():
            if (config.scores_tokens or file not in OF_TOKENS) and (not kinds or config.architecture in kinds):
                links.to(file, with_it, f"{label}, beside its base", ":material/compare:")


def speak(p: Panel, name: str, tokenizer: Any) -> None:
    """The tokenizer's check and the model's first words on a text."""
    pasted = text_box(name, "Text", "text", TEXT, CHARACTERS, height=68)
    if not pasted:
        st.info("There is no text yet: type or paste some.")
        return
    if tokenizer is None:
        st.info("This model comes without a tokenizer: it was trained on numbers, so it cannot read a text here.")
        return
    trip = views.round_trip_of(name, pasted)
    st.markdown(f"**Tokenizer check.** {say.round_trip(trip)}")
    tokens = trip.tokens[:CHIPS]
    text.chips(tokens, key="pieces", hues=[i % 3 for i, _ in enumerate(tokens)], label="The text in tokens")
    if not trip.same:
        st.caption(f"Decoded: {text.escape(trip.back, text.MESSAGE)}")
    words = views.first_words_of(name, pasted)
    if words.way == "nothing":
        st.info("This model has no language model head: hidden states and attention are all it gives.")
        return
    if words.way == "blank":
        st.markdown(f"**It reads:** {text.escape(words.text, READ)}")
    st.markdown(f"**{SENTENCES[words.way]}** {text.escape(words.written or '(nothing)', READ)}")
    if words.way != "numbers":
        p.show(views.first(name, pasted))


def where_to(name: str, config: ModelConfig) -> None:
    """Links to the pages that can show it."""
    st.markdown("**Look at it on**")
    with st.container(horizontal=True):
        for file, (label, kinds, more) in PAGES.items():
            fits = (file != ROUTING or config.experts is not None) and (config.scores_tokens or file not in OF_TOKENS)
            if file == INTERVENTIONS and config.classes is not None:
                fits, kinds = config.classes.place != "each", ()
            if file == STREAM and config.classes is not None:
                fits = models.other_scores(config) is None
            if file in (FLOW, INTERVENTIONS) and models.other_scores(config) is not None:
                fits = False
            if file == FLOW and models.reads_mean(config) is not None:
                fits = False
            fits = fits and models.without_heads(config, HEADS.get(file, "the stream")) is None
            if fits and (not kinds or config.architecture in kinds):
                links.to(file, {**more, "model": name}, label, ":material/arrow_outward:")
    st.caption(
        f"There, and wherever a page has a choice named Model, it is on the list beside {', '.join(available())}. Copy "
        "the link of any such view: whoever opens it is offered the same model to load."
    )
