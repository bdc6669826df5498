"""Quantities that the pages of this chapter explain: the next token, the difference of two tokens, or the whole text.

One choice with the same keys on every page - `by`, `word`, `own`, `against`, `own_against` - so that a link from one
page to another keeps it. A page asks for it in one line, and offers the links in another:

    quantity = metric.choose(metric.candidates(reading, TOKENS), ("prediction", "difference"))
    metric.elsewhere("stream", reading, quantity)
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.inside import reading as _reading
from pages.inside.reading import ReadText
from pages.ui import cache, controls, former_labels, links, places, text
from pages.ui.loading import models
from pages.ui.reading import begin_of, text_box, tokens_of
from tfcore.measures.answers import answers_of
from tfcore.measures.effect_metric import Kind, Quantity, rival_of_text

Option = TypeVar("Option", bound=Hashable)
KINDS: dict[Kind, str] = {"prediction": "the next token", "difference": "two tokens", "text": "the whole text"}
OF_TOKENS: tuple[Kind, ...] = ("prediction", "difference")
OF_CLASSES = {KINDS["prediction"]: "the class", KINDS["difference"]: "two classes"}  # words of KINDS -> of classes
CLASS_HELP = "The class: its log-probability. Two classes: the logit of one less that of the other."
HELP = (
    "The next token: its log-probability, or its logit where parts add up to that. Two tokens: the logit of one less "
    "that of the other. The whole text: the mean log-probability of its own tokens, which is the loss with its sign "
    "turned."
)
TYPED = 40  # characters of a token of one's own
WIDTH = 190  # of a control for a token, in pixels
# Options beside the ranks of predictions.
NEXT = -1  # the token that follows in the text
OWN = -2  # a token that is typed
NAMED = -5  # the other name of a text that predicts a name
MEAN = -3  # a logit relative to the mean of all logits
NOTHING = -4  # the raw logit
ANOTHER = "another token"
REFERENCES = {MEAN: "the mean of all logits", NOTHING: "nothing: the raw logit"}  # where a logit itself is explained

rival = cache.of_model(max_entries=128)(rival_of_text)


def two_tokens(token: str, against: str) -> dict[str, object]:
    """Values of the controls for an example that explains the logit difference of two tokens."""
    return {"by": "difference", "word": OWN, "own": token, "against": OWN, "own_against": against}


@dataclass(frozen=True, slots=True)
class Candidates:
    """The tokens that are offered at one place of a text; of a model that tells classes apart, the classes of a text.

    Args:
        model: name of the model that predicts them.
        ids: the most probable ones, the first first.
        rival: the other name of a text from which a name is predicted; None: there is none.
        follows: whether the token that follows in the text is offered; `following` is its id, None where the text ends.
        second: rank of the one that a token is compared with at first, where there is no rival.
    """

    model: str
    ids: tuple[int, ...]
    rival: int | None = None
    follows: bool = False
    following: int | None = None
    second: int = 1

    @property
    def ranks(self) -> dict[int, str]:
        """Options for the top predictions: rank -> label."""
        pieces = answers_of(*cache.model(self.model)).tokens(self.ids)
        return {rank: f"{rank + 1}: {text.visible(piece)}" for rank, piece in enumerate(pieces)}

    @property
    def words(self) -> dict[int, str]:
        """Options for the token that is explained."""
        ends = "the text ends here" if self.following is None else text.visible(self.piece(self.following))
        after = {NEXT: f"what follows in the text: {ends}"} if self.follows else {}
        return {**self.ranks, **after, **self._own}

    @property
    def others(self) -> dict[int, str]:
        """Options for the token whose logit is taken off."""
        named = {} if self.rival is None else {NAMED: f"text: {text.visible(self.piece(self.rival))}"}
        return {**named, **self.ranks, **self._own}

    @property
    def classes(self) -> int:
        """How many classes are offered; 0: tokens are."""
        return n_classes(self.model)

    @property
    def _own(self) -> dict[int, str]:
        return {} if self.classes else {OWN: ANOTHER}

    def piece(self, token: int) -> str:
        """One token as text."""
        return _reading.piece(self.model, token)

    def token(self, option: int) -> int:
        """The token of an option that is not typed; the most probable one where there is no such token."""
        special = {NEXT: self.following, NAMED: self.rival}.get(option)
        return self.ids[max(option, 0)] if special is None else special


def candidates(reading: ReadText, limit: int, position: int | None = None, *, follows: bool = False) -> Candidates:
    """Candidates for the token after one position of a text, or (None) after its last token.

    Args:
        limit: tokens of the text that the page reads.
        follows: whether what does follow there is offered.
    """
    last = len(reading.ids) - 1
    place = last if position is None else position
    ids, _, _ = _reading.guesses(reading.model, reading.pasted, limit, place, reading.bos)
    name = rival(reading.model, reading.pasted, limit, reading.bos) if place == last else None
    if n_classes(reading.model):
        return Candidates(reading.model, tuple(ids))
    following = reading.ids[place + 1] if place < last else None
    return Candidates(reading.model, tuple(ids), name, follows, following)


# ---- the controls ----


def choose(
    offered: Candidates, kinds: Sequence[Kind] = tuple(KINDS), default: Kind = "prediction", section: str = ""
) -> Quantity:
    """The controls, in the container they are called in: what is explained, and of which tokens.

    Args:
        kinds: those that the page can explain.
        default: the one it begins with.
        section: see choose_kind.
    """
    return choose_tokens(choose_kind({kind: KINDS[kind] for kind in kinds}, default, section, offered.classes), offered)


def n_classes(model: str) -> int:
    """How many classes a model tells apart; 0: it scores tokens."""
    classes = models.config(model).classes
    return 0 if classes is None else len(classes.labels)


def choose_kind(options: Mapping[Option, str], default: Option, section: str = "", classes: int = 0) -> Option:
    """Choose what is explained; `options` are those of KINDS that a page can explain, and others of its own.

    Args:
        classes: how many its model tells apart; 0: it scores tokens.
        section: of a page whose sections begin with different ones: a choice that nobody made does not go along.
    """
    began = links.visit().began
    if (before := began.get("by")) and before[0] != section and st.session_state.get("by") == before[1]:
        st.session_state["by"] = default
    began["by"] = section, default
    other = links.asked("against")
    if links.address_decides("by") and links.asked("by") is None and other is not None:
        # Links in which the second token, or what stands in its place, alone said so.
        st.session_state["by"] = "prediction" if _is_reference(other) else "difference"
    if classes:
        options = {kind: OF_CLASSES.get(words, words) for kind, words in options.items() if kind != "text"}
        if classes == 2 or default in KINDS:  # a sure class moves little itself; of two the difference says all
            default = next((kind for kind in options if kind == "difference"), default)
        return controls.segmented("Metric", "by", list(options), default, options, help=CLASS_HELP)
    return controls.segmented("Metric", "by", list(options), default, options, help=HELP)


def choose_tokens(kind: Kind, offered: Candidates) -> Quantity:
    """Choose the token, or the two, that are explained; of two that are the same, the log-probability of one."""
    if kind == "text":
        return Quantity("text")
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="medium", width="content")
    token = _choose("Class" if offered.classes else "Token", "word", "own", " dog", offered, offered.words, 0, row)
    if kind == "prediction":
        return Quantity("prediction", token)
    default = NAMED if offered.rival is not None else offered.second
    against = _choose("against", "against", "own_against", " cat", offered, offered.others, default, row)
    if token == against:
        st.caption("The two tokens are the same, so one alone is explained.")
        return Quantity("prediction", token)
    return Quantity("difference", token, against)


def choose_reference() -> int:
    """Choose what a single logit is measured against: MEAN or NOTHING."""
    if links.address_decides("against") and not _is_reference(links.asked("against") or ""):
        links.forget("against")  # of a second token, which is not explained now
    _let_go("against", REFERENCES)
    with st.container(width=WIDTH):
        return controls.select("Its logit, relative to", "against", list(REFERENCES), MEAN, REFERENCES)


def _choose(
    label: str,
    key: str,
    own: str,
    first: str,
    offered: Candidates,
    options: dict[int, str],
    default: int,
    row: DeltaGenerator,
) -> int:
    """A control for one token, and a box where it is typed."""
    _let_go(key, options)
    with row, st.container(width=WIDTH):
        option = controls.select(label, key, list(options), default, options)
        if option != OWN:
            return offered.token(option)
        typed = text_box(offered.model, "Token, with the space before it", own, first, TYPED, kind="token", height=68)
        ids: list[int] = cache.model(offered.model)[1].encode(typed)
        if typed and not ids:
            known, instead = tokens_of(offered.model), _reading.shown(offered.piece(offered.ids[0]))
            st.caption(f"That is none of this model's tokens ({known}): {instead} is explained instead.")
        if len(ids) > 1:
            rest = ", ".join(_reading.shown(offered.piece(one)) for one in ids)
            st.caption(f"These are {len(ids)} tokens to the model ({rest}); the first is explained.")
    return ids[0] if ids else offered.ids[0]


def _let_go(key: str, options: Mapping[int, str]) -> None:
    """Forget what the control held when it offered something else: a reference, or another position's rival."""
    now = st.session_state.get(key)
    if not links.address_decides(key) and isinstance(now, int) and now not in options:
        del st.session_state[key]


def _is_reference(label: str) -> bool:
    """Whether a label of `against` names no token."""
    present = str(former_labels.present("against", label)).casefold()
    return present in {"nothing", *REFERENCES.values(), *map(str, REFERENCES)}


# ---- links to other pages ----


class OtherExplanation(NamedTuple):
    """Where the same can be explained in another way.

    Args:
        words: of the link.
        view: what else the address says there.
        kinds: what can be explained there.
        text: key of the text there.
        model, tokens: the one model that is explained there, and the longest text; None: any.
    """

    words: str
    view: dict[str, str]
    kinds: tuple[Kind, ...]
    text: str = "text"
    model: str | None = None
    tokens: int | None = None

    def takes(self, reading: ReadText, quantity: Quantity) -> bool:
        """Whether the same can be explained there."""
        short = self.tokens is None or len(reading.ids) <= self.tokens
        return quantity.kind in self.kinds and self.model in (None, reading.model) and short


GRAPH = "the graph of features"
PLACES: dict[str, tuple[OtherExplanation, ...]] = {
    "stream": (
        OtherExplanation(
            "direct logit attribution", {"show": "Direct logit attribution"}, ("prediction", "difference")
        ),
        OtherExplanation("the logit lens", {"show": "Logit lens"}, ("prediction", "difference")),
    ),
    "interventions": (
        OtherExplanation("ablation", {"show": "Ablate and scale"}, ("prediction", "difference", "text")),
        OtherExplanation("activation patching", {"show": "Activation patching"}, ("prediction", "difference")),
    ),
    "flow": (OtherExplanation("the flow of information", {}, ("prediction", "difference", "text")),),
    "circuits": (  # against the mean, as the page's other text has other tokens than this one
        OtherExplanation(
            "edges between heads", {"show": "edges between heads", "base": "mean over the tokens"}, ("difference",)
        ),
        OtherExplanation(GRAPH, {"show": "graph of features"}, OF_TOKENS, "story", "stories", 24),
    ),
}


def elsewhere(here: str, reading: ReadText, quantity: Quantity, position: int | None = None) -> None:
    """Links to the other pages that explain this text, with the same choice.

    Args:
        here: the section that is open: words of its OtherExplanation.
        position: after which the token is explained; None: the last. The text ends there on the other pages.
    """
    if models.config(reading.model).classes is not None:
        return  # whose other explanations are none yet
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("The same text and metric in:", width="content")
        for url, sections in PLACES.items():
            for place in sections:
                if place.words != here and place.takes(reading, quantity):
                    view = {**place.view, **told(reading, quantity, position, place.text)}
                    links.to(places.place(url).file, view, place.words, ":material/arrow_outward:")


def told(reading: ReadText, quantity: Quantity, position: int | None = None, key: str = "text") -> dict[str, str]:
    """How an address says a text, under this key, and what is explained of it."""
    pasted, begin = reading.pasted, begin_of(reading.model)
    if position is not None and position < len(reading.ids) - 1:
        first = int(begin is not None and reading.ids[0] == begin.id)
        pasted = cache.model(reading.model)[1].decode(reading.ids[first : position + 1])
    view = {"model": reading.model, "by": KINDS[quantity.kind], **links.text_parameters(key, pasted)}
    if reading.bos is not None:
        view["bos"] = "with" if reading.bos else "without"
    if quantity.kind != "text":
        view |= _told(reading.model, quantity.token, "word", "own")
    if quantity.kind == "difference":
        view |= _told(reading.model, quantity.against, "against", "own_against")
    return view


def _told(model: str, token: int, key: str, own: str) -> dict[str, str]:
    """A token as it is typed; none, and so the usual one, where no typing gives it."""
    piece = _reading.piece(model, token)
    if list(cache.model(model)[1].encode(piece)) != [token] or len(piece) > TYPED:
        return {}
    return {key: ANOTHER, own: piece}
