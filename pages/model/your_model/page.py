"""A model from the Hugging Face hub or from a folder becomes the model of every page - if it fits."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from pages.model.your_model.facts import FACTS
from pages.model.your_model.readings import show_loaded
from pages.ui import controls, fragments, keys, page, streamlit_internals, text
from pages.ui.frame import Panel, panel
from pages.ui.loading import model_settings, models, own_models, run_models
from pages.ui.loading.model_settings import LONGEST, ModelSettings
from pages.ui.loading.own_models import Refused
from pages.ui.work import jobs
from tfcore import available
from tfcore.config import ModelConfig
from tfcore.loading import checkpoints
from tfcore.loading.families import FAMILIES
from tfcore.loading.families.mapping import Family
from tfcore.loading.families.text_parts import COMPOSITES, Composite
from tfcore.measures.precision import Dtype
from tfcore.measures.quantities import gigabytes
from tfcore.views.model import your_model as views
from tfcore.views.model.your_model import measure, say

FIRST = 1.5  # seconds until the hub's answer is awaited beside the page
EVERY = 0.5  # seconds between looks
DTYPES: tuple[Dtype, ...] = ("float32", "bfloat16")
TRY: dict[str, dict[str, Any]] = {
    "the default model": {"model": "stories"},
    "GPT-2": {"model": "openai-community/gpt2"},
    "SmolLM, a small LLaMA": {"model": "HuggingFaceTB/SmolLM-135M"},
    "Qwen2": {"model": "Qwen/Qwen2-0.5B"},
    "BERT": {"model": "google-bert/bert-base-uncased"},
    "T5": {"model": "google-t5/t5-small"},
    "too large for most": {"model": "mistralai/Mixtral-8x7B-v0.1"},
    "a long context": {"tokens": 131_072},
}


def settings_of_here() -> ModelSettings:
    """The settings, and what they allow in a sentence."""
    settings = model_settings.read()
    allowed = {
        "off": "On this server no other models can be loaded: whoever runs it has not allowed it. Start the app on "
        "your own machine with make run, and they can.",
        "list": f"This server loads these: {', '.join(sorted(settings.names))}.",
        "public": "Public models of the Hugging Face hub can be loaded here.",
        "any": "Any model of the Hugging Face hub can be loaded here.",
    }[settings.policy]
    st.caption(text.escape(allowed))
    if folders := model_settings.folders(settings):
        st.caption(f"Models here: {text.listed(folders, 40)}.")
    elif settings.folder is not None and settings.policy == "any":
        st.caption(
            "Put a GGUF file, or a folder with config.json, model.safetensors and tokenizer.json (or tokenizer.model, "
            "vocab.json and merges.txt, vocab.txt), into the folder for models of this server, and give it here as "
            "./its-name."
        )
    if odd := model_settings.misnamed(settings):
        named = text.listed(odd, 8)
        st.caption(f"To be renamed before use, with {model_settings.CHARACTERS}: {named}.")
    return settings


def titles(kinds: Mapping[str, Family] | Mapping[str, Composite]) -> str:
    """The titles of these, one after the other."""
    return ", ".join(one.title for one in kinds.values())


def looked_up(name: str) -> Any:
    """An Estimate of a model that is not loaded, or a Refused; None while the hub has not answered."""
    key, settings = ("look", name, models.tries(name)), model_settings.read()
    work, has_left = partial(own_models.look, name, settings), streamlit_internals.leaving()
    own_models.LOOKS.start(key, work, jobs.visitor(), has_left=has_left)
    own_models.LOOKS.wait(key, 1, FIRST)
    job = own_models.LOOKS.look(key, jobs.visitor())
    if job is None or job.state == "refused":
        return Refused("Too many models are being looked up on this server; try again in a minute.")
    if job.active:
        return None
    return job.items[-1] if job.items else Refused(f"{name} was not found in time: the hub does not answer.")


@partial(fragments.fragment, run_every=EVERY)
def wait_for(name: str) -> None:
    """Until the hub answers."""
    key = ("look", name, models.tries(name))
    job = own_models.LOOKS.look(key, jobs.visitor())
    if job is None or not job.active:
        st.rerun()
    st.info(f"Asking about {text.escape(name, text.NAME)} … {job.seconds:.0f} s")


@fragments.fragment
def show_fits(p: Panel, name: str, config: ModelConfig | None, settings: ModelSettings) -> None:
    """Which models fit, the chosen one on top, for a length of text and a precision."""
    long, precise = st.columns(2, gap="medium")
    with long:
        tokens = controls.slider("Sequence length (tokens)", "tokens", 1_024, 131_072, 1_024, 1_024)
    with precise:
        here = str(say.types_here(halved=not settings.whole))
        dtype = controls.segmented("Data type", "dtype", DTYPES, "float32", help=here)
    room = measure.free_now()
    room = None if room is None else room + own_models.STORE.used
    limit = settings.kept if settings.policy != "off" else None
    own = {text.shorten(name.rpartition("/")[2], 22): config} if config is not None else {}
    p.show(views.fits(own, name if own else "", tokens, dtype, room, limit))


def state_of(name: str, state: Any, settings: ModelSettings) -> None:
    """Below the picture: that it cannot be had, or what it would take and the button, or the model itself."""
    if isinstance(state, Refused):
        st.warning(text.escape(state.sentence))
        if state.offline:
            st.caption("Everything that ships works without the hub, and so does a model in a folder.")
        st.button("Try again", key=keys.own("button", "look again"), on_click=models.again, args=(name,))
        return
    one, two, three = st.columns(3)
    kept = str(say.kept(state.parameters, state.memory, state.halved))
    one.metric("Memory it needs", gigabytes(state.memory), help=kept)
    room = None if state.free is None else state.free + own_models.STORE.used
    two.metric("Free now", "unknown" if room is None else gigabytes(room))
    three.metric("To download first", gigabytes(state.download) if state.download else "nothing")
    bound = min(settings.kept, settings.kept if room is None else room)
    if state.memory > bound:
        st.warning(
            f"It does not fit: it needs {gigabytes(state.memory)}, and {gigabytes(bound)} may be used here. "
            "A smaller model of the same family shows the same things."
        )
    elif state.download > settings.download:
        st.warning(
            f"It would be a download of {gigabytes(state.download)}, and at most {gigabytes(settings.download)} are "
            "allowed here."
        )
    else:
        family = "" if state.family == checkpoints.OWN else f"Family: {state.family}. "
        if said := f"{family}{kept if state.halved else ''}".strip():
            st.caption(said)
        models.load(name)


page.begin(FACTS)
with panel(None) as p:
    p.examples(TRY)
    with p.picture:
        left, right = st.columns([2, 3], gap="large")
        with left:
            typed = controls.text_line(
                "Model: a name on the hub, or ./folder",
                "model",
                models.DEFAULT,
                LONGEST,
                help=f"{titles(FAMILIES)}; of models that see or hear, the decoder of texts: {titles(COMPOSITES)}; "
                "from safetensors and GGUF files (org/name/file.gguf) alone: no pickle is opened, no code of others "
                "runs",
            )
            settings = settings_of_here()
        name = typed.strip() if typed.strip() in available() else model_settings.named(typed)
        state: Any = None
        if name is None and typed.strip().startswith("./"):
            said = text.escape(typed.strip(), text.NAME)
            left.warning(f"“{said}” is no name of a file or folder here: one can have {model_settings.CHARACTERS}.")
        elif name is None:
            problem = (
                f"“{text.escape(typed.strip(), text.NAME)}” is no name of a model: write org/name as on the hub, such "
                "as openai-community/gpt2, org/name/file.gguf for a GGUF file there, ./name for a folder, or one that "
                f"is here: {', '.join(available())}."
            )
            left.warning(problem if typed.strip() else "There is no name yet: " + problem.partition(": ")[2])
        elif not models.loaded(name) and run_models.is_run(name):
            state = Refused(run_models.GONE)
        elif not models.loaded(name) and (refusal := settings.refusal(name)) is not None:
            state = Refused(refusal)
        elif not models.loaded(name):
            state = looked_up(name)
        config: ModelConfig | None = state.config if isinstance(state, checkpoints.Estimate) else None
        if name is not None and models.loaded(name):
            config = models.config(name)
        with right:
            show_fits(p, name or "", config, settings)
        if name is not None and models.loaded(name):
            models.remember(name if own_models.is_own(name) else None)
            show_loaded(p, name)
        elif name is not None and state is None:
            wait_for(name)
        elif name is not None:
            state_of(name, state, settings)
        st.caption(
            f"At most {own_models.MOST} models are kept, {gigabytes(settings.kept)} altogether; the one that was "
            "last used longest ago goes first."
        )
    p.what_to_see(
        "How much memory a model needs follows from its config.json: b bytes for each of P parameters, and for the "
        "keys and values of n tokens in L layers (the KV cache). The axis is logarithmic, so half the bytes per value "
        "moves every line to the left by the same step. A long context costs most where there are many KV heads and "
        "layers."
    )
    p.question(
        "Mixtral 8x7B uses 12.9 B of its 46.7 B parameters for a token. Why must all of them be in memory?",
        "Because the next token may go to other experts. Few active parameters save computation for every token, not "
        "memory: what is not in memory would have to be read from disk while a token waits.",
    )
