"""The river of a text in a decoder, with all that can be done to it: on a page of its own, and on the front page."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from pages.ui import cache, controls, links, text
from pages.ui.components import dragging, river
from pages.ui.reading import FirstTokens, first_tokens, kinds_of
from pages.ui.work import jobs, live
from pages.ui.work.filling import FEW
from tfcore.analysis.inside import attribution_patching, flow_columns, information_flow, knock_outs
from tfcore.analysis.inside.flow_columns import Column
from tfcore.analysis.inside.information_flow import Flow, LayerGuesses, written_factors
from tfcore.analysis.inside.knock_outs import LayerEffects
from tfcore.analysis.inside.quantities import Quantity, quantity_name
from tfcore.analysis.one_text import first_tokens as read_tokens
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

TOKENS = 40
NEXT = 7  # next tokens at the mouth
LEAST = 0.005  # of the state: routes below are pooled
ALL_OPEN = 8  # layers of a model that are all drawn wide
OPEN = 5  # layers drawn wide at first in a larger one
LAYERS = 200  # characters of the list of open layers


@dataclass(frozen=True, slots=True)
class Drawn:
    """A text, and what was drawn of it.

    Args:
        heads: those that are changed, as in "2.5*0".
        ranked: the most probable next tokens of the model as it is.
    """

    model: str
    pasted: str
    read: FirstTokens
    heads: str
    flow: Flow
    guesses: LayerGuesses
    ranked: list[int]


def estimate(model: Transformer, tokenizer: Tokenizer, text: str, token: int) -> Float[ndarray, "layer part"]:
    """By how much the log-probability of the next token falls without each part, all estimated at once."""
    ids = read_tokens(model, tokenizer, text, TOKENS).ids
    return attribution_patching.estimate_effects(model, ids, Quantity("prediction", token), "zero")


def by_layer(model: Transformer, tokenizer: Tokenizer, text: str, token: int) -> Iterator[LayerEffects]:
    """The same measured, layer by layer."""
    ids = read_tokens(model, tokenizer, text, TOKENS).ids
    return knock_outs.knock_out_each(model, ids, Quantity("prediction", token), "zero")


def every_layer(model: Transformer, tokenizer: Tokenizer, text: str, token: int) -> list[LayerEffects]:
    """The same, of all layers."""
    return list(by_layer(model, tokenizer, text, token))


traced = cache.of_model(max_entries=256)(information_flow.read_flow)
guessed = cache.of_model(max_entries=256)(information_flow.read_guesses)
estimated = cache.of_model(max_entries=64)(estimate)
measured = cache.of_model(max_entries=64)(every_layer)


def read(model: str, pasted: str, threshold: float = 0.0) -> Drawn:
    """The river of a text, traced; what is to be drawn before any other control that is said in the address."""
    config = cache.model(model)[0].config
    heads = written_factors(river.read("heads", config.n_layers, config.n_heads))
    given = model, pasted, TOKENS
    flow: Flow = traced(*given, threshold, heads)
    plain, changed = guessed(*given, ""), guessed(*given, heads)
    ranked = plain.final.argsort()[::-1][:NEXT].tolist()
    return Drawn(model, pasted, first_tokens(*given), heads, flow, changed, ranked)


def show(
    drawn: Drawn, opened: Sequence[int], rank: int, story: str, on_rank: Callable[[int], None]
) -> tuple[list[list[float]], bool]:
    """Draw it, and what is measured behind it; returns the effects of all heads, and whether all are measured.

    Args:
        opened: layers drawn wide; none: those whose attention carried most.
        rank: of the next token on which heads are measured.
        story: what the picture shows, in a sentence.
        on_rank: told the place of the next token that was clicked, among those of the model as it is.
    """
    network, tokenizer = cache.model(drawn.model)
    n_layers = network.config.n_layers
    wide = list(opened) or flow_columns.strongest_layers(drawn.flow, ALL_OPEN if n_layers <= ALL_OPEN else OPEN)
    stage = st.container()
    token = drawn.ranked[rank]
    effects, exact = head_effects(drawn, token)
    following = drawn.guesses.final.argsort()[::-1][:NEXT].tolist()
    columns = flow_columns.columns(drawn.flow, wide, LEAST)
    guesses = zip(tokenizer.tokens(list(drawn.guesses.best)), drawn.guesses.probability, strict=True)
    with stage:
        river.show(
            "heads",
            river.River(
                tokens=[text.visible(piece) for piece in drawn.read.tokens],
                flow=drawn.flow,
                columns=columns,
                effects=effects,
                exact=exact,
                measure=quantity_name(Quantity("prediction", token), tokenizer),
                kinds=kinds(drawn.model),
                guesses=[(text.visible(piece), probability) for piece, probability in guesses],
                following=[
                    (text.visible(piece), float(drawn.guesses.final[i]))
                    for i, piece in zip(following, tokenizer.tokens(following), strict=True)
                ],
                word=following.index(token) if token in following else None,
                story=story,
            ),
            information_flow.factors_of(network, drawn.heads),
            foldable=n_layers > ALL_OPEN,
            on_word=lambda place: _measure(drawn.ranked, following[place], on_rank),
            on_column=lambda place: _fold(columns[place], wide, drawn.flow),
            on_ribbon=lambda layer, head, query, _: _see(drawn, layer, head, query),
        )
    return effects, all(exact)


def asked_layers(model: str) -> list[int]:
    """The layers of a large model that the address or a click wants wide; none where it says nothing."""
    n_layers = cache.model(model)[0].config.n_layers
    if n_layers <= ALL_OPEN:
        return []

    def parse(said: object) -> tuple[str, bool]:
        given = str(said or "")[:LAYERS].split()
        found = [word for word in given if word.isdecimal() and int(word) < n_layers]
        return " ".join(found), found == given

    return sorted({int(word) for word in dragging.read("open", "", parse, str).split()})


def asked_rank() -> int:
    """The place of the next token on which heads are measured, where no control of the page says it."""

    def parse(said: object) -> tuple[str, bool]:
        return (str(said), True) if str(said) in map(str, range(NEXT)) else ("0", False)

    return int(dragging.read("measured", "0", parse, str))


def kinds(model: str) -> list[list[str]]:
    """What each head does, by layer and head."""
    found = kinds_of(model)
    config = cache.model(model)[0].config
    if found is None:
        return [["broad"] * config.n_heads] * config.n_layers
    return [[str(kind) for kind in layer] for layer in found.kind]


def head_effects(drawn: Drawn, token: int) -> tuple[list[list[float]], list[bool]]:
    """Of every head on a token's log-probability: measured where that is quick or done, else estimated meanwhile."""
    network, tokenizer = cache.model(drawn.model)
    n_layers, n_heads = network.config.n_layers, network.config.n_heads
    given = drawn.model, drawn.pasted, token
    guess = estimated(*given)
    if knock_outs.operations(network, guess.size, len(drawn.read.ids)) <= FEW:
        found = measured(*given)
    else:
        key = ("flow", *given)
        job = live.begin(key, lambda: by_layer(network, tokenizer, drawn.pasted, token))
        live.watch(key, lambda now: _bar(key, now, n_layers), job)
        found = list(job.items)
    exact = knock_outs.all_effects(found, n_layers) if found else float("nan") * guess
    values, _ = knock_outs.merged(guess, exact)
    known = {one.layer for one in found}
    return values[:, :n_heads].tolist(), [layer in known for layer in range(n_layers)]


def _bar(key: Hashable, job: jobs.Job, layers: int) -> None:
    live.bar(key, job, len(job.items), layers, {}, work="measurement", step="layer", fresh="")


def write(drawn: Drawn, temperature: float) -> None:
    """A button that draws the next token, which joins the text."""
    full = drawn.read.total >= TOKENS
    st.button(
        "Write the next token",
        key="write",
        on_click=_write,
        args=(drawn, temperature),
        disabled=full,
        help=f"The picture has room for {TOKENS} tokens" if full else None,
    )


def restore(drawn: Drawn) -> None:
    """A button that undoes all changes of heads; nothing where there are none."""
    if drawn.heads:
        st.button("All heads as they are", key="whole", on_click=controls.set_values, kwargs={"heads": ""})


def _write(drawn: Drawn, temperature: float) -> None:
    token = information_flow.draw_token(drawn.guesses, temperature, seed=drawn.read.total)
    controls.set_values(text=drawn.pasted + cache.model(drawn.model)[1].decode([token]))


def _fold(column: Column, opened: Sequence[int], flow: Flow) -> None:
    """A click on the number of a column: an open layer is folded, of folded ones the one that carried most opens."""
    strongest = column.first + int(flow.carried[column.first : column.last + 1].argmax())
    if now := sorted(set(opened) ^ {strongest}):
        controls.set_values(open=" ".join(map(str, now)))


def _measure(ranked: Sequence[int], token: int, on_rank: Callable[[int], None]) -> None:
    """A click on a next token."""
    if token in ranked:
        on_rank(ranked.index(token))


def _see(drawn: Drawn, layer: int, head: int, query: int) -> None:
    """A click on a ribbon: that head on the page on heads, at the same token."""
    view = {"model": drawn.model, "layer": str(layer), "head": str(head), "token": str(query)}
    links.go("foundations/heads/page.py", {**view, **links.text_parameters("text", drawn.pasted)})
