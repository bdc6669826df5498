"""Models that visitors brought: estimated and loaded in jobs, shared by all, the least recently used dropped first.

Weights are shared read-only by everybody who asks for the same name; nobody is shown a model they did not ask for.
"""

import string
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from pages.ui import fragments, sentences, streamlit_internals, text
from pages.ui.loading import model_settings, run_models
from pages.ui.loading.model_settings import ModelSettings
from pages.ui.work import jobs, progress
from tfcore.views import kept

MOST = 2  # models kept at a time
LOOKS = jobs.Jobs(running=2, waiting=8, kept=64, seconds=60.0)
LOADS = jobs.Jobs(running=1, waiting=4, kept=16, seconds=3_600.0)
# What a tokenizer must get through before a page trusts it: an empty text, ordinary words, what it cannot know.
PLAIN = "The cat sat on the mat."
TRIALS = (
    "",
    " ",
    PLAIN,
    "a\n\tb",
    "Ωмир猫🐱e\u0301\u200d\x00",
    "[MASK] <s> </s> <|endoftext|>",
    string.printable,
    "x" * 2_000,
    f"{PLAIN} " * 200,
)


NOT_FINITE = "it answers with numbers that are not finite"


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a model cannot be had, in one sentence."""

    sentence: str
    offline: bool = False


@dataclass(frozen=True, slots=True)
class Own:
    """A loaded model.

    Args:
        size: bytes of its weights, with those of the copy that writes text.
        seconds: that loading took.
        state: of the files it came from: a commit, or when and how large they were.
        special: the SpecialTokens that end its texts, and its chat template.
        adapter: the AdapterSummary of an adapter on its base; None for any other model.
        family: what its family is called; of a folder that `save` wrote, nothing.
    """

    name: str
    model: Any
    tokenizer: Any
    size: int
    seconds: float
    state: str
    special: Any = None
    adapter: Any = None
    family: str = ""


class Store:
    """The models that are loaded."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Own] = OrderedDict()  # the one not asked for longest first
        self._states: dict[str, str] = {}

    def get(self, name: str) -> Own | None:
        """The model of this name, if it is loaded."""
        with self._lock:
            if (own := self._kept.get(name)) is not None:
                self._kept.move_to_end(name)
            return own

    def make_room(self, name: str, size: int, limit: int) -> None:
        """Drop models until one of that size fits: at most MOST, and `limit` bytes altogether."""
        with self._lock:
            self._kept.pop(name, None)
            while self._kept and (len(self._kept) >= MOST or self._sum() + size > limit):
                self._kept.popitem(last=False)

    def put(self, own: Own) -> bool:
        """Keep a model; True if its name stood for other weights before, whose results may still be cached."""
        with self._lock:
            self._kept[own.name] = own
            before, self._states[own.name] = self._states.get(own.name), own.state
            return before not in (None, own.state)

    @property
    def used(self) -> int:
        """Bytes of all that is kept."""
        with self._lock:
            return self._sum()

    @property
    def names(self) -> set[str]:
        """Names of all that is kept."""
        with self._lock:
            return set(self._kept)

    def _sum(self) -> int:
        return sum(own.size for own in self._kept.values())


STORE = Store()


def get(name: str) -> Own | None:
    """The model of this name that is not shipped, if it can be had at once: a loaded one, or one of the lab."""
    if (trained := run_models.model(name)) is not None:
        network, tokenizer = trained
        return Own(name, network, tokenizer, sum(p.nbytes for p in network.parameters()), 0.0, name)
    return STORE.get(name)


def look(name: str, settings: ModelSettings) -> Iterator[Any]:
    """A job: what a model would take (an Estimate), or why it cannot be had (Refused)."""
    from tfcore.loading import checkpoints, hub

    def work(_: progress.Say) -> Any:
        if settings.cached and not name.startswith("./"):
            needed = 0 if hub.parted(name)[1] else sum((hub.SMALL | hub.TOKENIZER_FILES).values())
            hub.make_room(needed, settings.cached, STORE.names, name)
        return checkpoints.estimate(settings.place(name), dtype=settings.dtype, token=settings.token)

    yield from _in_words(name, work)


def bring(name: str, settings: ModelSettings) -> Iterator[Any]:
    """A job: loads a model into STORE. Yields Progress, and at the end why there is none (Refused).

    The model itself is no item: what a job has yielded is kept longer than the model.
    """

    def work(say: progress.Say) -> None:
        _bring(name, settings, say)

    yield from _in_words(name, work)


def _bring(name: str, settings: ModelSettings, say: progress.Say) -> None:
    import tfcore
    from pages.ui.work import large_models  # here, because it imports torch
    from tfcore.files import CheckpointError, size
    from tfcore.generation.half_precision import copied_bytes
    from tfcore.loading import checkpoints, hub
    from tfcore.loading.special_tokens import special_tokens
    from tfcore.tokenizers.isolated import IsolatedTokenizer

    began, place = time.monotonic(), settings.place(name)
    estimate = checkpoints.estimate(place, dtype=settings.dtype, token=settings.token)
    copied = copied_bytes(tfcore.device(), estimate.parameters, estimate.halved)
    needed = estimate.memory + copied
    types = "in 16 bits" if estimate.halved else "in float32" + (" and, to write with, bfloat16" if copied else "")
    if needed > settings.kept:
        raise CheckpointError(
            f"its weights take {size(needed)} {types}, and this server keeps at most {size(settings.kept)}"
        )
    if estimate.free is not None and needed > estimate.free + STORE.used:
        raise CheckpointError(
            f"its weights take {size(needed)} {types}, and {size(estimate.free + STORE.used)} are free"
        )
    if estimate.download:  # before anything else is let go of
        if settings.cached:
            hub.make_room(estimate.download, settings.cached, STORE.names, name)
        hub.fetch(hub.look(name, estimate.commit, settings.token), say, settings.download)
    STORE.make_room(name, needed, settings.kept)
    model, tokenizer = tfcore.load(
        place, dtype=settings.dtype, revision=estimate.commit, token=settings.token, tell=say
    )
    _try_out(model, tokenizer)
    if isinstance(tokenizer, IsolatedTokenizer):
        tokenizer.on_failure = lambda problem: _stop_page(f"{name}: {problem}")
    adapter = checkpoints.adapter_summary(place) if isinstance(place, Path) else None
    state = _state(place) if isinstance(place, Path) else str(estimate.commit)
    if adapter is not None:
        state += _state(adapter.base.place)
    special = special_tokens(place, tokenizer) if tokenizer is not None else None  # of a model of pictures
    family = "" if estimate.family == checkpoints.OWN else estimate.family
    seconds = time.monotonic() - began
    own = Own(name, large_models.taken(model), tokenizer, needed, seconds, state, special, adapter, family)
    if STORE.put(own):
        st.cache_data.clear()  # rare: somebody trained on, and loads the same folder again
        kept.SHELF.clear()


def _stop_page(sentence: str) -> None:
    """On a page: show the sentence and end the run. In a job, which reports the problem itself: nothing."""
    if streamlit_internals.on_page():
        st.warning(text.escape(sentences.without_paths(sentence), sentences.LONGEST))
        fragments.stop()


def _state(folder: Path) -> str:
    from tfcore.loading.hub import files_in

    files = files_in(folder) if folder.is_dir() else [folder]
    return repr([(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files if file.is_file()])


def _try_out(model: Any, tokenizer: Any) -> None:
    """Check that the model and its tokenizer can read a few texts; of a model of pictures or sound, one of them.

    Raises:
        ValueError: the tokenizer fails, or the model gives numbers that are none.
    """
    from tfcore.measures.one_text import is_finite, is_finite_of_nothing
    from tfcore.tokenizers.vocabulary import sample

    if model.config.reads != "texts":
        if not is_finite_of_nothing(model):
            raise ValueError(NOT_FINITE)
        return
    for said in TRIALS:
        try:
            ids = tokenizer.encode(said)
            tokenizer.decode(ids)
            tokenizer.tokens(ids)
        except Exception as problem:  # whatever the file made the library do
            raise ValueError(f"its tokenizer cannot read {said[:40]!r}: {sentences.told(problem)}") from problem
    ids = tokenizer.encode(PLAIN) or tokenizer.encode(sample(tokenizer))  # of numbers or letters alone
    if not ids:
        raise ValueError("its tokenizer makes no tokens of a plain English sentence, nor of its own tokens")
    if not is_finite(model, ids[: model.config.max_seq_len]):
        raise ValueError(NOT_FINITE)


def _in_words(name: str, work: Any) -> Iterator[Any]:
    """Steps of the work; a problem becomes its last item, as a sentence without paths of this machine."""
    from tfcore.loading.hub import UnreachableError

    try:
        yield from progress.steps(work)
    except progress.WorkError as failed:
        problem = failed.problem
        yield Refused(_sentence(name, problem), isinstance(problem, UnreachableError))


def _sentence(name: str, problem: BaseException) -> str:
    return f"{name}: {sentences.told(problem)}"


def is_own(name: str) -> bool:
    """Whether a name is that of a model that is not shipped."""
    return model_settings.named(name) is not None
