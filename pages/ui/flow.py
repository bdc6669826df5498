"""The river of a text in any model, with all that can be done to it: on a page of its own, and on the front page."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import streamlit as st

from pages.ui import cache, controls, frame, keys
from pages.ui.components import dragging
from pages.ui.components.scene import Told, adding
from pages.ui.head_links import HeadOfText, of_ids
from pages.ui.work import jobs, live
from pages.ui.work.filling import FEW
from tfcore.generation.sampling import Sampling
from tfcore.measures import knock_outs
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.heads.part_texts import Part
from tfcore.measures.text_loss import has_ended
from tfcore.measures.token_text import visible
from tfcore.views.highlights import Chip, Kind
from tfcore.views.inside import flow as views
from tfcore.views.inside.flow import TOKENS
from tfcore.views.inside.flow.measure.heads import HeadEffects, measure_heads, unmeasured
from tfcore.views.inside.flow.measure.passages import AttentionLayer, Passage, attention_layers, heads_there
from tfcore.views.inside.flow.measure.routes import Flow, LayerGuesses, draw_token, read_factors, written_factors
from tfcore.views.sources import Reading
from tfcore.views.view import View

HEADS, TOKEN = "heads", "token"  # controls
LONGEST = 2_000  # characters of all heads that are changed
LAYERS = 200  # characters of the list of open layers
STATE, WORD = "state", "word"  # what widths are shares of
EXPLAINED = ("by", "word", "against", "measured")  # controls that say which tokens are explained
EVERY = 1.5  # seconds between two looks at a measurement, each of which sends 5 kB; twice that after estimates
SEED = 33  # of the tokens drawn: the default text goes on with “he wanted to play”
BEFORE = "flow:before"  # what these were before a click


class Shows(Protocol):
    """A function that shows a view, and returns what was clicked."""

    def __call__(self, view: View, *, on_told: Callable[[Told], None]) -> Told | None: ...


@dataclass(frozen=True, slots=True)
class DrawnFlow:
    """A text, and what was drawn of it.

    Args:
        choice: which token is explained, where there is a choice.
        heads: those that are changed, as in "2.5*0".
        ranked: the most probable next tokens of the model as it is; none without a language head.
    """

    model: str
    pasted: str
    choice: int | None
    passage: Passage
    heads: str
    flow: Flow
    guesses: LayerGuesses
    ranked: list[int]

    @property
    def reading(self) -> Reading:
        """The text, as views take it."""
        return Reading(self.model, self.pasted)

    @property
    def layers(self) -> tuple[AttentionLayer, ...]:
        """The attention layers of the model."""
        return attention_layers(views.network(self.reading).config)

    @property
    def toward(self) -> list[str]:
        """The tokens whose logits are traced, as pieces of text; none: the state is."""
        return list(cache.model(self.model)[1].tokens(self.flow.toward))


def read(model: str, pasted: str, choice: int | None = None, threshold: float = 0.0) -> DrawnFlow:
    """The river of a text, traced; what is to be drawn before any other control that is said in the address.

    Args:
        choice, threshold: see views.routes.
    """
    reading = Reading(model, pasted)
    heads = dragging.read(HEADS, "", lambda said: _parsed(said, model), str)
    flow, passage = views.flow_of(reading, choice, threshold, heads, ()), views.passage_of(reading, choice)
    plain, changed = views.guesses_of(reading, choice, ""), views.guesses_of(reading, choice, heads)
    return DrawnFlow(model, pasted, choice, passage, heads, flow, changed, plain.ranked(views.NEXT))


def toward(drawn: DrawnFlow, explained: Quantity | None) -> DrawnFlow:
    """The same, with the widths of the token or the two tokens explained, where a click or the address wants that."""
    wanted = asked_widths()
    if wanted == STATE or explained is None or explained.kind == "text" or not views.can_trace(drawn.reading):
        return drawn
    tokens = (explained.token, *([explained.against] if explained.kind == "difference" else []))
    flow = views.flow_of(drawn.reading, drawn.choice, drawn.flow.threshold, drawn.heads, tokens)
    return replace(drawn, flow=flow)


def show(
    drawn: DrawnFlow,
    opened: Sequence[int],
    explained: Quantity | None,
    sampling: Sampling | None,
    on_rank: Callable[[int], None],
    on_against: Callable[[int], None],
    on_token: Callable[[int], None] | None = None,
    show_view: Shows = frame.show,
) -> HeadEffects:
    """Draw it, and what is measured behind it; returns the effects of all heads.

    Args:
        opened: layers drawn wide; none: those whose attention carried most.
        explained: what heads are measured on.
        sampling: how the next token is drawn; None: none is.
        on_rank: told the place of the next token that was clicked, among those of the model as it is.
        on_against: told that of the token that was clicked to be compared with the one explained.
        on_token: told the place of the token of the text that was clicked.
        show_view: of the frame, or of its panel.
    """
    stage = st.container()
    effects = head_effects(drawn, explained)
    view = views.river(
        drawn.reading,
        drawn.choice,
        drawn.flow.threshold,
        drawn.heads,
        drawn.flow.toward,
        explained,
        sampling,
        tuple(opened),
        asked_zoom(drawn),
        effects,
    )
    view = adding(
        view,
        seq=dragging.answered(HEADS),
        foldable=len(drawn.layers) > views.ALL_OPEN,
        linked=_is_linked(drawn.passage),
        choosing=on_token is not None,
    )
    following = views.following(drawn.reading, drawn.choice, drawn.heads)
    token = None if explained is None or explained.kind == "text" else explained.token

    def heard(told: Told) -> None:
        match told.name, told.value:
            case "moved", _ if (said := dragging.heard(HEADS, told.value)) is not None:
                dragging.take(HEADS, _parsed(said.get("heads"), drawn.model)[0])
            case "word", int(place) if place in range(len(following)):
                _explain(drawn, following[place], on_rank)
            case "against", int(place) if place in range(len(following)):
                _compare(drawn, token, following[place], on_against)
            case "whole", _:
                _trace_state()
            case "open", int(place) if place in range(len(view.result.columns)):
                if wide := view.result.opened_after(place):
                    controls.set_values(open=" ".join(map(str, wide)))
            case "zoom", str(said):
                controls.set_values(zoom=_zoom(said, drawn)[0])
            case "token", int(place) if on_token is not None and place in range(len(drawn.passage.tokens)):
                on_token(place)

    with stage:
        told = show_view(view, on_told=heard)
    if told is not None and told.name == "ribbon" and _is_linked(drawn.passage):
        _see(drawn, told.value)
    return effects


def _parsed(said: object, model: str) -> tuple[str, bool]:
    """The heads that a text such as "2.5*0 1.3*-1" changes, in their one form, and whether all of it made sense."""
    config = cache.model(model)[0].config
    factors, exact = read_factors(str(said or "")[:LONGEST], heads_there(config))
    return written_factors(factors), exact


def asked_layers(model: str) -> list[int]:
    """The layers of a large model that the address or a click wants wide; none where it says nothing."""
    n_layers = len(attention_layers(cache.model(model)[0].config))
    if n_layers <= views.ALL_OPEN:
        return []

    def parse(said: object) -> tuple[str, bool]:
        given = str(said or "")[:LAYERS].split()
        layers = [word for word in given if word.isdecimal() and int(word) < n_layers]
        return " ".join(layers), layers == given

    return sorted({int(word) for word in dragging.read("open", "", parse, str).split()})


def asked_zoom(drawn: DrawnFlow) -> tuple[int, ...]:
    """What the address or a click wants enlarged: a layer, it and a head, or both and the places of two tokens; none:
    the river."""
    found = dragging.read("zoom", "", lambda said: _zoom(said, drawn), str)
    return tuple(int(one) for one in found.split(".") if one)


def _zoom(said: object, drawn: DrawnFlow) -> tuple[str, bool]:
    """The layer, the head or the cell that is enlarged, as in "23", "23.3" or "23.3.14.4", and whether what was said
    made sense: a cell that the head may not look at does not."""
    tokens = len(drawn.passage.tokens)
    config = views.network(drawn.reading).config
    most = (len(drawn.layers), config.attention.n_heads, tokens, tokens)
    given = str(said)[:LAYERS].split(".") if said else []
    known = len(given) in (0, 1, 2, 4) and all(
        one.isdecimal() and int(one) < below for one, below in zip(given, most, strict=False)
    )
    if not known:
        return "", False
    if len(given) > 1 and not heads_there(config)[int(given[0])][int(given[1])]:
        return given[0], False
    if len(given) == 4 and views.cell_of(drawn.reading, drawn.choice, drawn.heads, *map(int, given)) is None:
        return ".".join(given[:2]), False
    return ".".join(given), True


def asked_ranks() -> list[int]:
    """The places of one or two next tokens that are explained, where no control of the page says it."""

    def parse(said: object) -> tuple[str, bool]:
        given = str(said).split()[:2]
        ranks = [one for one in dict.fromkeys(given) if one in map(str, range(views.NEXT))]
        return " ".join(ranks) or "0", bool(ranks) and ranks == str(said).split()

    return [int(one) for one in dragging.read("measured", "0", parse, str).split()]


def asked_token(passage: Passage) -> int | None:
    """The place of the token whose prediction is explained, where no control of the page says it; None: the last."""
    last = len(passage.tokens) - 1

    def parse(said: object) -> tuple[str, bool]:
        place = str(said)
        known = place.isdecimal() and int(place) < last
        return place if known else "", known or place in ("", str(last))

    if controls.is_new(TOKEN, passage.tokens):
        controls.forget(TOKEN)
    found = dragging.read(TOKEN, "", parse, str)
    return int(found) if found else None


def token_labels(passage: Passage) -> dict[int, str]:
    """The tokens that may be explained, as options of a control."""
    return {place: f"{place}: {visible(piece)}" for place, piece in enumerate(passage.choices)}


def choose_token(place: int) -> None:
    """A click on a token of the text: its prediction is explained."""
    controls.set_values(**{TOKEN: place})


def asked_widths() -> str:
    """The whole that widths are shares of: STATE, or WORD, the token that is explained."""

    def parse(said: object) -> tuple[str, bool]:
        return (str(said), True) if said in (STATE, WORD) else (STATE, False)

    return dragging.read("widths", STATE, parse, str)


def head_effects(drawn: DrawnFlow, explained: Quantity | None) -> HeadEffects:
    """The effects of all heads: measured where that is quick or done, else estimated or 0, and filled in meanwhile."""
    network = views.network(drawn.reading)
    n_layers, runs = len(drawn.layers), sum(map(sum, heads_there(network.config)))
    if knock_outs.operations(network, runs, len(drawn.passage.tokens)) <= FEW:
        return views.effects_of(drawn.reading, drawn.choice, explained)
    key = ("flow", drawn.reading, drawn.choice, explained)
    job = live.begin(key, lambda: measure_heads(network, drawn.passage, explained), wait=0.0)
    begun = bool(job.items)
    live.watch(key, lambda now: _bar(key, now, n_layers, begun), job, 2 * EVERY if begun else EVERY)
    return job.items[-1] if job.items else unmeasured(network)


def _bar(key: Hashable, job: jobs.Job, layers: int, begun: bool) -> None:
    if job.items and not begun:
        st.rerun()  # there are estimates now: the heads get their sizes
    done = int(job.items[-1].exact.sum()) if job.items else 0
    live.bar(key, job, done, layers, {}, work="measurement", step="layer", fresh="")


def choose_sampling() -> Sampling:
    """Controls for how the next token is drawn, which the bars of the next tokens show."""
    with st.popover("Sampling"):
        temperature = controls.slider(
            "Temperature", "temperature", 0.0, 2.0, 1.0, 0.1, help="0: the most probable token; 1: as the model says"
        )
        top_p = controls.slider(
            "Top-p", "top_p", 0.1, 1.0, 1.0, 0.05, help="Only the most probable tokens that reach this sum together"
        )
    return Sampling(temperature=temperature, top_p=top_p)


def write(drawn: DrawnFlow, sampling: Sampling) -> None:
    """A button that draws the next token, which joins the text."""
    why = None
    if drawn.passage.total >= TOKENS:
        why = f"The picture has room for {TOKENS} tokens"
    elif drawn.passage.target < len(drawn.passage.tokens) - 1:
        why = "A token is written after the last one: click that one first"
    key, off = keys.own("button", "write"), why is not None
    st.button("Write the next token", key=key, on_click=_write, args=(drawn, sampling), disabled=off, help=why)


def in_river(chip: Chip) -> dict[str, object] | None:
    """The values that show a highlight in the river, see in_your_text: the head that looks from a token, enlarged, or
    what a prediction is made from."""
    if chip.kind == "decision":
        return {TOKEN: chip.token, "zoom": ""}
    if not chip.heads:
        return None
    layer, head = chip.heads[0]
    return {TOKEN: chip.token, "zoom": f"{layer}.{head}"}


def in_one_river(chip: Chip) -> dict[str, object] | None:
    """The same, where one token alone can be explained."""
    values = in_river(chip)
    return None if values is None else {key: value for key, value in values.items() if key != TOKEN}


def begins_with(pasted: str) -> Kind | None:
    """The kind of highlight that the river of a text begins with: it ends at the last token, but where a sentence ends
    there, after which little but a new line is expected, at a word that looks at another."""
    return "link" if has_ended(pasted) else None


def restore(drawn: DrawnFlow) -> None:
    """A button that undoes all changes of heads; nothing where there are none."""
    if drawn.heads:
        key = keys.own("button", "whole")
        st.button("All heads as they are", key=key, on_click=controls.set_values, kwargs={"heads": ""})


def _write(drawn: DrawnFlow, sampling: Sampling) -> None:
    token = draw_token(drawn.guesses, sampling, seed=SEED + drawn.passage.total)
    controls.set_values(text=drawn.pasted + cache.model(drawn.model)[1].decode([token]))


def _explain(drawn: DrawnFlow, token: int, on_rank: Callable[[int], None]) -> None:
    """A click on a next token: widths and heads' effects become those of its logit; a second one: widths are those of
    the state again."""
    if drawn.flow.toward[:1] == (token,):
        _trace_state()
    elif token in drawn.ranked:
        if views.can_trace(drawn.reading):
            _trace_word(drawn)
        on_rank(drawn.ranked.index(token))


def _compare(drawn: DrawnFlow, token: int | None, against: int, on_against: Callable[[int], None]) -> None:
    """A click on another next token with the Shift key: the difference of the two is explained."""
    if against in drawn.ranked and against != token and views.can_trace(drawn.reading):
        _trace_word(drawn)
        on_against(drawn.ranked.index(against))


def _trace_word(drawn: DrawnFlow) -> None:
    if not drawn.flow.toward:
        st.session_state[BEFORE] = {key: controls.last(key) for key in EXPLAINED}
    controls.set_values(widths=WORD)


def _trace_state() -> None:
    """Back to the state, and to what heads were measured on before a click traced a token."""
    before = st.session_state.pop(BEFORE, {})
    controls.set_values(widths=STATE, **{key: value for key, value in before.items() if value is not None})


def _is_linked(passage: Passage) -> bool:
    """Whether the page on heads reads the same tokens: it has no masked ones, and cuts a translation elsewhere."""
    return passage.blank not in passage.ids and (not passage.written or passage.total == len(passage.ids))


def _see(drawn: DrawnFlow, told: object) -> None:
    """A click on a ribbon: on the page on heads, why that head looks from the one token at the other."""
    n_layers, n_heads = len(drawn.layers), views.network(drawn.reading).config.attention.n_heads
    n = len(drawn.passage.tokens)
    match told:
        case {"layer": int(layer), "head": int(head), "query": int(query), "key": int(key)}:
            if layer in range(n_layers) and head in range(n_heads) and query in range(n) and key in range(n):
                _go(drawn, layer, head, query, key)


def _go(drawn: DrawnFlow, layer: int, head: int, query: int, key: int) -> None:
    read, there = len(drawn.passage.ids) if drawn.passage.written else 0, drawn.layers[layer]
    part: Part | None = None
    if read:
        part = "encoder" if there.is_encoder else "cross" if there.is_cross else "decoder"
        query, key = query - read * (part != "encoder"), key - read * (part == "decoder")
    found = HeadOfText(drawn.model, drawn.pasted, there.block, head, part=part)
    if drawn.passage.total > len(drawn.passage.ids):  # the page on heads reads more of the text
        found = of_ids(drawn.model, drawn.passage.ids, there.block, head)
    found.open(query, key)
