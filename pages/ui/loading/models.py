"""Which model a page shows: one that ships, or one that this visitor brought. Every page asks here.

    name = models.choose("decoder", "encoder")      # a select; its value is in the address
    network, tokenizer = cache.model(name)

A link may name a model that is not loaded: the page then offers to load it. Where a model cannot do what the page
shows, the page says why and shows the one that ships.
"""

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any, Literal, TypeAlias

import streamlit as st

from pages.ui import cache, controls, fragments, keys, links, notices, streamlit_internals, text
from pages.ui.loading import model_settings, own_models, run_models
from pages.ui.loading.own_models import Refused
from pages.ui.session import session
from pages.ui.work import jobs, live
from tfcore import available
from tfcore.config import Architecture, ModelConfig
from tfcore.input_checks import other_mixer
from tfcore.loading import checkpoints, real_models
from tfcore.loading.special_tokens import SpecialTokens, special_tokens
from tfcore.tokenizers import vocabulary

DEFAULT = "stories"
REAL = "smollm2"  # first where it was fetched, on pages that are about any text
EVERY = 0.5  # seconds between two looks at a model that is being loaded
WhyNot: TypeAlias = Callable[[ModelConfig, Any], str | None]
KINDS: dict[Architecture, str] = {
    "decoder": "a decoder",
    "encoder": "an encoder",
    "encoder-decoder": "an encoder-decoder",
}
# What a page reads of each layer of a model: hybrids have a state or a convolution in the place of some attention
Reads: TypeAlias = Literal["every head", "a head", "a head or a state", "the stream", "pictures", "sound"]
SHOWN_ON = {"pictures": "Pictures", "sound": "Sound"}  # what some models read -> the page on them
OTHER_SCORES = {
    "several": "it judges several classes of a text, each by itself",
    "number": "it gives a text numbers and no classes",
    "span": "it says of each token whether an answer starts or ends there",
}


def choose(
    *architectures: Architecture,
    key: str = "model",
    label: str = "Model",
    default: str = DEFAULT,
    why_not: WhyNot | None = None,
    options: Mapping[str, str] | None = None,
    reads: Reads = "every head",
) -> str:
    """A select of the models that ship and of this visitor's own; returns a name for `cache.model`.

    Args:
        architectures: of the models that will do; none means all.
        why_not: of a config and a tokenizer, a sentence that says why such a model will not do on this page, or None.
            A shipped one is then not on the list; a visitor's own is, and the page says why.
        reads: what the page shows of the layers: the attention of all of them, that of one which a visitor chooses,
            that or the matrix that a state implies, or nothing but what goes in and comes out; or "pictures"
            or "sound", which such a model reads in the place of texts.
        options: name -> label of what is on the list besides this visitor's own; None means what ships and will do.
    """
    said = _wanted(key)
    mine = remember(model_settings.named(said))
    own_names = {name: name for name in mine}
    listed = {**(options or {name: name for name in fitting(*architectures, why_not=why_not)}), **own_names}
    name = controls.select(label, key, list(listed), default, listed)
    if name not in mine:
        known = said in checkpoints.here() and said not in listed
        if known and (problem := _misfit(*checkpoints.described(str(said)), architectures, why_not, reads)):
            notices.add(key, f"{said} does not fit here: {problem.rstrip('.')}. Shown instead: {name}", value=name)
        elif said in (bad := real_models.damaged()):
            again = "it is fetched again when the server starts, or by `python -m tfcore.loading`"
            why = text.escape(bad[str(said)])
            notices.add(key, f"{said} is damaged here ({why}), and {again}. Shown instead: {name}", value=name)
        return name
    own = own_models.get(name)
    if own is None:
        offer(name)
        fragments.stop()
    problem = _misfit(own.model.config, own.tokenizer, architectures, why_not, reads)
    if problem is None:
        return name
    instead = DEFAULT if name == default else default
    st.info(f"{text.escape(name, 100)}: {problem} Shown instead: {text.escape(instead, 100)}.")
    return instead


def first(last: str = "1") -> str:
    """The model that a page about any text begins with: a real one where it is there.

    Args:
        last: version of links up to which the page began with the one that ships, as theirs do.
    """
    return REAL if REAL in available() and not links.is_old(last) else DEFAULT


def always(last: str = "1") -> dict[str, str]:
    """For page.begin, of a page whose default is `first`."""
    return {"model": first(last)} if first(last) != DEFAULT else {}


def fitting(*architectures: Architecture, why_not: WhyNot | None = None) -> list[str]:
    """Names of the models that this server has and that will do."""
    named = available(*architectures)
    return [name for name in named if why_not is None or why_not(*checkpoints.described(name)) is None]


def silent(config: ModelConfig, _: Any) -> str | None:
    """Why a model cannot say what comes next, or None: for `choose`."""
    if config.classes is not None:
        what = OTHER_SCORES.get(config.classes.meaning, "it tells classes apart")
        return f"{what}, and gives no tokens their probabilities."
    return "it ends without a head that gives tokens their probabilities." if config.head == "none" else None


def other_scores(config: ModelConfig) -> str | None:
    """Why the scores of a model are not those of classes of which a text has one, or None."""
    if config.classes is None or config.classes.meaning == "one":
        return None
    return f"{OTHER_SCORES[config.classes.meaning]}, and what is shown here is one answer out of several."


def reads_mean(config: ModelConfig) -> str | None:
    """Why the classes of a model are not read at one token, or None."""
    if config.classes is None or config.classes.place != "mean":
        return None
    return "its classes are read from the mean of all tokens' states, and what is shown here ends at one token."


def reads(*texts: str) -> WhyNot:
    """Why a model cannot say what comes after these texts, or None: for `choose`."""

    def why_not(config: ModelConfig, tokenizer: Any) -> str | None:
        lacking = [one for one in texts if not vocabulary.is_read(tokenizer, one)]
        if not lacking:
            return silent(config, tokenizer)
        tokens = text.escape(vocabulary.listed(tokenizer), text.NAME)
        return f"the texts here are English, and its tokens are others ({tokens})."

    return why_not


def attention_alone(config: ModelConfig, _: Any) -> str | None:
    """Why a model, or a layer of it, has no feed-forward layer, or None: for `choose`."""
    if config.feed_forward.d_ff == 0 and config.mixer is None:
        return "it is made of attention alone, without feed-forward layers."
    bare = next((i for i in range(config.n_layers) if not (config.is_plain(i) or config.is_routed(i))), None)
    return None if bare is None else f"layer {bare} of it has no feed-forward layer."


def only(name: str, reason: str) -> None:
    """A caption that says why a section shows this model alone, for visitors who brought another, or whose link asks
    for another."""
    said = links.asked("model")
    asked = said if said in available() else model_settings.named(said)
    if asked is not None and asked not in name.split():
        st.caption(f"This part shows {name} and not {text.escape(asked, 100)}: {reason}")
    elif remember(None):
        st.caption(f"This part shows {name} and not your own model: {reason}")


def names(*architectures: Architecture) -> list[str]:
    """Names of the models that are there at once: those of the server, and this visitor's own that are loaded."""
    loaded = [own for own in map(own_models.get, remember(None)) if own is not None]
    return [*available(*architectures), *(own.name for own in loaded if unfit(own.model.config, architectures) is None)]


def base_of(name: str) -> str | None:
    """The model that an adapter changes, by its name here; None for a model that is no adapter on its base."""
    own = own_models.get(name)
    if own is None or own.adapter is None:
        return None
    base = own.adapter.base
    return base.name if base.is_real else f"{name.rpartition('/')[0]}/{base.name}"


def remember(name: str | None) -> list[str]:
    """The names of this visitor's own models; `name` is added, if it is allowed here."""
    mine = session().own_models
    if name is not None and name not in mine:
        if (refusal := model_settings.read().refusal(name)) is None:
            mine.append(name)
            del mine[: -model_settings.REMEMBERED]
        else:
            notices.add("own model", refusal.rstrip("."))
    return mine


def _wanted(key: str) -> object:
    return links.wanted(key, None, links.asked, "choice")[0]


def _misfit(
    config: ModelConfig, tokenizer: Any, architectures: tuple[Architecture, ...], why_not: WhyNot | None, reads: Reads
) -> str | None:
    """Why a model will not do on a page, or None."""
    if reads in SHOWN_ON:
        return None if config.reads == reads else other_input(config, reads)
    problem = unfit(config, architectures) or without_heads(config, reads)
    return problem or (why_not(config, tokenizer) if why_not else None)


def other_input(config: ModelConfig, of: str) -> str:
    """Why a model that reads pictures or sound, or texts alone, will not do on a page about something else."""
    where = f"; the page {SHOWN_ON[config.reads]} shows it" if config.reads in SHOWN_ON else ""
    return f"it reads {config.reads}, and what is shown here is made of {of}{where}."


def without_heads(config: ModelConfig, reads: Reads) -> str | None:
    """Why a hybrid has not the attention that is read of its layers, or None."""
    said = other_mixer(config)
    if reads == "the stream" or said is None:
        return None
    if reads == "every head":
        return f"{said}, and what is shown here reads that of every layer."
    if config.attention_layers:
        return None
    if reads == "a head":
        return "none of its layers has attention, and what is shown here is one head of it."
    kinds = {config.mixer_of(layer) for layer in range(config.n_layers)}
    return None if kinds - {"conv", "none"} else "none of its layers has attention or a state, whose heads are shown."


def unfit(config: ModelConfig, architectures: tuple[Architecture, ...]) -> str | None:
    """Why a model of another architecture will not do, or None; no architectures mean that any will."""
    if config.reads != "texts":
        return other_input(config, "texts")
    kind = config.architecture
    if not architectures or kind in architectures:
        return None
    return f"this is {KINDS[kind]}, and what is shown here needs {' or '.join(KINDS[a] for a in architectures)}."


def no_decoder(config: ModelConfig) -> str | None:
    """Why a model is none whose parts are followed along one stack, and where one of two stacks is, or None."""
    problem = unfit(config, ("decoder",))
    if problem is None or config.architecture != "encoder-decoder":
        return problem
    return f"{problem.removesuffix('.')}; Flow traces its answer through both stacks and switches its heads off."


# ---- loading ----


def offer(name: str) -> None:
    """A box about a model that is not loaded: a button that loads it, or how far it is, or why it cannot be had."""
    if run_models.is_run(name):
        st.info(run_models.GONE)
        st.page_link("training/lab/page.py", label="Train one in the lab")
        return
    with st.container(border=True):
        st.markdown(f"**{text.escape(name, 100)}** is not loaded on this server now.")
        load(name)
        links.to("model/your_model/page.py", {"model": name}, "What it would take")


def load(name: str) -> None:
    """The button, the progress, the problem. When the model is there, the page runs again."""
    key = ("load", name, tries(name))
    job = own_models.LOADS.look(key, jobs.visitor())
    if job is None:
        st.button("Load it", key=keys.own("button", "load model"), type="primary", on_click=_start, args=(name,))
    elif job.active:
        live.follow(lambda: own_models.LOADS.look(key, jobs.visitor()), partial(_loading, key), True, EVERY)
    else:
        _ended(name, job)


def _start(name: str) -> None:
    settings = model_settings.read()
    if settings.refusal(name) is None:
        key = ("load", name, tries(name))
        work, has_left = partial(own_models.bring, name, settings), streamlit_internals.leaving()
        job = own_models.LOADS.start(key, work, jobs.visitor(), has_left=has_left)
        if job.state == "refused":
            notices.add("own model", "Too many models are being loaded on this server; try again in a minute")
        else:
            notices.drop("own model")


def _start_again(name: str) -> None:
    again(name)
    _start(name)


def _loading(key: Hashable, job: jobs.Job | None) -> None:
    """How far it is, and a button that stops it."""
    if job is None:
        return
    st.progress(*_progress(job, job.items[-1] if job.items else None))
    st.button(
        "Stop", key=keys.own("button", "stop loading"), on_click=own_models.LOADS.stop, args=(key, jobs.visitor())
    )


def _ended(name: str, job: jobs.Job) -> None:
    """Why loading ended without the model."""
    said = {
        "stopped": "Stopped. What was downloaded is kept, and a new try goes on from there.",
        "done": "It was loaded, and made room for another model since.",
    }
    last = job.items[-1] if job.items else None
    sentence = last.sentence if isinstance(last, Refused) else said.get(job.state, f"It failed: {job.problem}")
    st.warning(text.escape(sentence))
    st.button("Try again", key=keys.own("button", "try again"), on_click=_start_again, args=(name,))


def _progress(job: jobs.Job, last: Any) -> tuple[float, str]:
    from tfcore.files import size

    if job.state == "waiting":
        return 0.0, f"Waiting: another model is being loaded, {job.turn('this one')}"
    if last is None:
        return 0.0, f"Looking at it, {job.seconds:.0f} s"
    what = {"download": "Downloaded", "load": "Loaded into memory:"}[last.stage]
    done = last.done / max(1, last.total)
    return min(1.0, done), f"{what} {size(last.done)} of {size(last.total)}, {job.seconds:.0f} s"


def tries(name: str) -> int:
    """How often this visitor tried again."""
    return session().tries[name]


def again(name: str) -> None:
    """Count one more try, which forgets the result of the last."""
    session().tries[name] += 1


def loaded(name: str) -> bool:
    """Whether `cache.model` has this model at once."""
    return name in available() or own_models.get(name) is not None


@cache.data(max_entries=32)
def special(name: str) -> SpecialTokens:
    """The tokens that end a loaded model's texts, and its chat template."""
    own = own_models.get(name)
    if own is not None:
        return own.special or SpecialTokens()
    return special_tokens(name, cache.model(name)[1])


def config(name: str) -> ModelConfig:
    """The config of a model that is loaded."""
    settings: ModelConfig = cache.model(name)[0].config
    return settings
