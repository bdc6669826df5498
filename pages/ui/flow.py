"""The river of a text in any model, with all that can be done to it: on a page of its own, and on the front page."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from pages.ui import cache, controls, keys, text
from pages.ui.components import dragging, river
from pages.ui.head_links import HeadOfText
from pages.ui.work import jobs, live
from pages.ui.work.filling import FEW
from tfcore.generation.sampling import Sampling
from tfcore.measures import knock_outs
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.heads.part_texts import Part
from tfcore.measures.lenses import check_model
from tfcore.measures.one_text import piece_of
from tfcore.views.foundations.heads.measure.attention import kinds_of
from tfcore.views.inside import flow as views
from tfcore.views.inside.flow import TOKENS
from tfcore.views.inside.flow.measure import columns as flow_columns
from tfcore.views.inside.flow.measure.columns import Column
from tfcore.views.inside.flow.measure.heads import HeadEffects, measure_heads, unmeasured
from tfcore.views.inside.flow.measure.passages import AttentionLayer, Passage, attention_layers
from tfcore.views.inside.flow.measure.routes import Flow, LayerGuesses, draw_token, factors_of, sampled, written_factors
from tfcore.views.inside.flow.say import explained_as, how_drawn, whole_of
from tfcore.views.sources import Reading

NEXT = 7  # next tokens at the mouth
LEAST = 0.01  # of the state: routes below are pooled
ALL_OPEN = 9  # layers of a model that are all drawn wide
OPEN = 5  # layers drawn wide at first in a larger one
LAYERS = 200  # characters of the list of open layers
STATE, WORD = "state", "word"  # what widths are shares of
EXPLAINED = ("by", "word", "against", "measured")  # controls that say which tokens are explained
EVERY = 1.5  # seconds between two looks at a measurement, each of which sends 5 kB; twice that after estimates
SEED = 33  # of the tokens drawn: the default text goes on with “he wanted to play”
BEFORE = "flow:before"  # what these were before a click


@dataclass(frozen=True, slots=True)
class Drawn:
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

    @property
    def can_trace(self) -> bool:
        """Whether a logit can be traced."""
        try:
            check_model(views.network(self.reading))
        except ValueError:
            return False
        return True


def read(model: str, pasted: str, choice: int | None = None, threshold: float = 0.0) -> Drawn:
    """The river of a text, traced; what is to be drawn before any other control that is said in the address.

    Args:
        choice, threshold: see views.routes.
    """
    reading = Reading(model, pasted)
    config = views.network(reading).config
    heads = written_factors(river.read("heads", len(attention_layers(config)), config.n_heads))
    flow, passage = views.flow_of(reading, choice, threshold, heads, ()), views.passage_of(reading, choice)
    plain, changed = views.guesses_of(reading, choice, ""), views.guesses_of(reading, choice, heads)
    return Drawn(model, pasted, choice, passage, heads, flow, changed, plain.ranked(NEXT))


def toward(drawn: Drawn, explained: Quantity | None) -> Drawn:
    """The same, with the widths of the token or the two tokens explained, where a click or the address wants that."""
    wanted = asked_widths()
    if wanted == STATE or explained is None or explained.kind == "text" or not drawn.can_trace:
        return drawn
    tokens = (explained.token, *([explained.against] if explained.kind == "difference" else []))
    flow = views.flow_of(drawn.reading, drawn.choice, drawn.flow.threshold, drawn.heads, tokens)
    return replace(drawn, flow=flow)


def show(
    drawn: Drawn,
    opened: Sequence[int],
    explained: Quantity | None,
    sampling: Sampling | None,
    on_rank: Callable[[int], None],
    on_against: Callable[[int], None],
    on_token: Callable[[int], None] | None = None,
) -> HeadEffects:
    """Draw it, and what is measured behind it; returns the effects of all heads.

    Args:
        opened: layers drawn wide; none: those whose attention carried most.
        explained: what heads are measured on.
        sampling: how the next token is drawn; None: none is.
        on_rank: told the place of the next token that was clicked, among those of the model as it is.
        on_against: told that of the token that was clicked to be compared with the one explained.
        on_token: told the place of the token of the text that was clicked.
    """
    network, tokenizer = cache.model(drawn.model)
    n_layers = len(drawn.layers)
    wide = list(opened) or flow_columns.strongest_layers(drawn.flow, ALL_OPEN if n_layers <= ALL_OPEN else OPEN)
    stage = st.container()
    found = head_effects(drawn, explained)
    following = drawn.guesses.ranked(NEXT)
    chances = drawn.guesses.final if sampling is None else sampled(drawn.guesses, sampling)
    columns = flow_columns.columns(drawn.flow, wide, LEAST)
    token = None if explained is None or explained.kind == "text" else explained.token
    against = explained.against if explained is not None and explained.kind == "difference" else None
    with stage:
        river.show(
            "heads",
            river.River(
                tokens=[text.visible(piece) for piece in drawn.passage.tokens],
                flow=drawn.flow,
                columns=columns,
                effects=found.values.tolist(),
                exact=found.exact.tolist(),
                measure=explained_as(network, drawn.passage, tokenizer, explained),
                kinds=kinds(drawn.model),
                guesses=[
                    None if token is None else (text.visible(piece_of(tokenizer, token)), probability)
                    for token, probability in zip(drawn.guesses.best, drawn.guesses.probability, strict=True)
                ],
                following=[
                    (text.visible(piece), float(chances[i]))
                    for i, piece in zip(following, tokenizer.tokens(following), strict=True)
                ],
                drawing="" if sampling is None else how_drawn(sampling),
                word=following.index(token) if token in following else None,
                against=following.index(against) if against in following else None,
                whole=whole_of(drawn.toward),
                traced=bool(drawn.flow.toward),
                tracing=drawn.can_trace,
                story=str(
                    views.story_of(drawn.reading, drawn.choice, drawn.flow.threshold, drawn.heads, drawn.flow.toward)
                ),
                linked=_is_linked(drawn.passage),
                choosing=on_token is not None,
            ),
            factors_of(network, drawn.heads),
            foldable=n_layers > ALL_OPEN,
            on_word=lambda place: _explain(drawn, following[place], on_rank),
            on_against=lambda place: _compare(drawn, token, following[place], on_against),
            on_whole=_trace_state,
            on_column=lambda place: _fold(columns[place], wide, drawn.flow),
            on_ribbon=lambda layer, head, query, key: _see(drawn, layer, head, query, key),
            on_token=on_token or (lambda _: None),
        )
    return found


def asked_layers(model: str) -> list[int]:
    """The layers of a large model that the address or a click wants wide; none where it says nothing."""
    n_layers = len(attention_layers(cache.model(model)[0].config))
    if n_layers <= ALL_OPEN:
        return []

    def parse(said: object) -> tuple[str, bool]:
        given = str(said or "")[:LAYERS].split()
        found = [word for word in given if word.isdecimal() and int(word) < n_layers]
        return " ".join(found), found == given

    return sorted({int(word) for word in dragging.read("open", "", parse, str).split()})


def asked_ranks() -> list[int]:
    """The places of one or two next tokens that are explained, where no control of the page says it."""

    def parse(said: object) -> tuple[str, bool]:
        given = str(said).split()[:2]
        found = [one for one in dict.fromkeys(given) if one in map(str, range(NEXT))]
        return " ".join(found) or "0", bool(found) and found == str(said).split()

    return [int(one) for one in dragging.read("measured", "0", parse, str).split()]


def asked_widths() -> str:
    """What widths are to be shares of: STATE, or WORD, which is what is explained."""

    def parse(said: object) -> tuple[str, bool]:
        return (str(said), True) if said in (STATE, WORD) else (STATE, False)

    return dragging.read("widths", STATE, parse, str)


def kinds(model: str) -> list[list[str]]:
    """What each head does, by attention layer and head."""
    config = cache.model(model)[0].config

    def of(part: Part | None, layers: int) -> list[list[str]]:
        found = kinds_of(model, part)
        if found is None:
            return [["broad"] * config.n_heads] * layers
        return [[str(kind) for kind in layer] for layer in found.kind]

    if config.architecture != "encoder-decoder":
        return of(None, config.n_layers)
    own, cross = of("decoder", config.decoder_layers), of("cross", config.decoder_layers)
    return of("encoder", config.encoder_layers) + [row for pair in zip(own, cross, strict=True) for row in pair]


def head_effects(drawn: Drawn, explained: Quantity | None) -> HeadEffects:
    """Of every head: measured where that is quick or done, else estimated, or nothing yet, and filled in meanwhile."""
    network = views.network(drawn.reading)
    n_layers, n_heads = len(drawn.layers), network.config.n_heads
    if knock_outs.operations(network, n_layers * n_heads, len(drawn.passage.tokens)) <= FEW:
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


def write(drawn: Drawn, sampling: Sampling) -> None:
    """A button that draws the next token, which joins the text."""
    full = drawn.passage.total >= TOKENS
    why = f"The picture has room for {TOKENS} tokens" if full else None
    key = keys.own("button", "write")
    st.button("Write the next token", key=key, on_click=_write, args=(drawn, sampling), disabled=full, help=why)


def restore(drawn: Drawn) -> None:
    """A button that undoes all changes of heads; nothing where there are none."""
    if drawn.heads:
        key = keys.own("button", "whole")
        st.button("All heads as they are", key=key, on_click=controls.set_values, kwargs={"heads": ""})


def _write(drawn: Drawn, sampling: Sampling) -> None:
    token = draw_token(drawn.guesses, sampling, seed=SEED + drawn.passage.total)
    controls.set_values(text=drawn.pasted + cache.model(drawn.model)[1].decode([token]))


def _fold(column: Column, opened: Sequence[int], flow: Flow) -> None:
    """A click on the number of a column: an open layer is folded, of folded ones the one that carried most opens."""
    strongest = column.first + int(flow.carried[column.first : column.last + 1].sum(1).argmax())
    if now := sorted(set(opened) ^ {strongest}):
        controls.set_values(open=" ".join(map(str, now)))


def _explain(drawn: Drawn, token: int, on_rank: Callable[[int], None]) -> None:
    """A click on a next token: widths and heads' effects become those of its logit; a second one: widths are those of
    the state again."""
    if drawn.flow.toward[:1] == (token,):
        _trace_state()
    elif token in drawn.ranked:
        if drawn.can_trace:
            _trace_word(drawn)
        on_rank(drawn.ranked.index(token))


def _compare(drawn: Drawn, token: int | None, against: int, on_against: Callable[[int], None]) -> None:
    """A click on another next token with the Shift key: the difference of the two is explained."""
    if against in drawn.ranked and against != token and drawn.can_trace:
        _trace_word(drawn)
        on_against(drawn.ranked.index(against))


def _trace_word(drawn: Drawn) -> None:
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


def _see(drawn: Drawn, layer: int, head: int, query: int, key: int) -> None:
    """A click on a ribbon: on the page on heads, why that head looks from the one token at the other."""
    read, there = len(drawn.passage.ids) if drawn.passage.written else 0, drawn.layers[layer]
    part: Part | None = None
    if read:
        part = "encoder" if there.is_encoder else "cross" if there.is_cross else "decoder"
        query, key = query - read * (part != "encoder"), key - read * (part == "decoder")
    HeadOfText(drawn.model, drawn.pasted, there.block, head, part=part).open(query, key)
