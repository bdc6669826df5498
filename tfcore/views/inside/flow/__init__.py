"""The flow of information: a text through all layers of a model at once, traced back from the state at one token."""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import pandas as pd

from tfcore.generation.sampling import Sampling
from tfcore.measures.answers import answers_of
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.lenses import check_model
from tfcore.measures.token_text import in_words, tick_labels, visible
from tfcore.model import Transformer
from tfcore.views.beside import counterpart, names_of
from tfcore.views.inside.flow import say
from tfcore.views.inside.flow.draw.river import Mouth, river_scene
from tfcore.views.inside.flow.draw.shares import shares_figure
from tfcore.views.inside.flow.measure import columns as flow_columns
from tfcore.views.inside.flow.measure import heads as measure_heads
from tfcore.views.inside.flow.measure import routes as measure_routes
from tfcore.views.inside.flow.measure import shares
from tfcore.views.inside.flow.measure.columns import Column
from tfcore.views.inside.flow.measure.heads import Cell, HeadEffects, Matrix
from tfcore.views.inside.flow.measure.passages import Passage, heads_there, read_passage
from tfcore.views.inside.flow.measure.routes import Flow, LayerGuesses, factors_of
from tfcore.views.inside.flow.measure.shares import LayerShares, Recorded
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, opened
from tfcore.views.view import View, view

TOKENS = 40  # of a text
NEXT = 7  # next tokens at the mouth of the river
LEAST = 0.01  # of the state: routes below are pooled
ALL_OPEN = 9  # layers of a model that are all drawn wide
OPEN = 5  # layers drawn wide at first in a larger one

FORMULA = (
    r"\begin{gathered} x_i^{mid} = x_i + \sum_{h,j} A^h_{ij}\, v^h_j W_O^h \\ "
    r"\text{share}(z) = \frac{\max(0,\, "
    r"\lVert y \rVert_1 - \lVert z - y \rVert_1)}{\sum_{z'} \max(0,\, \lVert y \rVert_1 - \lVert z' - y "
    r"\rVert_1)} \\ "
    r"\text{share of a logit}(z) = \frac{\max(0,\, \text{LN}(z) \cdot u)}{\sum_{z'} \max(0,\, "
    r"\text{LN}(z') \cdot u)} \end{gathered}"
)
PAPERS = (
    "Information flow routes: arXiv:2403.00824, section 2, with shares multiplied along a route, not "
    "renormalised, and the residual stream always kept; those of a logit are close to ALTI-Logit: "
    "arXiv:2305.12535; logit lens: arXiv:2303.08112, section 2; direct logit attribution: arXiv:2211.00593, "
    "section 3.1; estimates of effects: arXiv:2310.10348."
)
CODE = (
    shares.layer_shares,
    shares.logit_shares,
    measure_routes.follow,
    measure_routes.layer_guesses,
    measure_heads.direct_by_head,
)


# ---- what was measured, kept; each takes a text, and the place of the token that is explained where there is a choice


def network(reading: Reading) -> Transformer:
    """The model of a reading."""
    return cast("Transformer", opened(reading.model)[0])


def _passage(reading: Reading, choice: int | None) -> Passage:
    model, tokenizer = opened(reading.model)
    return read_passage(model, tokenizer, reading.text, TOKENS, choice)


def _recorded(reading: Reading, choice: int | None, heads: str) -> Recorded:
    """One pass over a text, whatever is read from it: 17 MB of 40 tokens of smollm2."""
    model, plain = network(reading), recorded_of(reading, choice, "") if heads else None
    return shares.record(model, passage_of(reading, choice), factors_of(model, heads), plain)


def _shares(reading: Reading, choice: int | None, heads: str) -> tuple[LayerShares, ...]:
    """Shares in all sums, whatever is followed through them: 4 MB of 40 tokens of smollm2."""
    model, plain = network(reading), shares_of(reading, choice, "") if heads else ()
    run = recorded_of(reading, choice, heads)
    return shares.layer_shares(model, passage_of(reading, choice), factors_of(model, heads), run, plain)


def _guesses(reading: Reading, choice: int | None, heads: str) -> LayerGuesses:
    model, plain = network(reading), guesses_of(reading, choice, "") if heads else None
    run = recorded_of(reading, choice, heads)
    return measure_routes.layer_guesses(model, passage_of(reading, choice), factors_of(model, heads), run, plain)


def _flow(reading: Reading, choice: int | None, threshold: float, heads: str, toward: tuple[int, ...]) -> Flow:
    model, passage, by_layer = network(reading), passage_of(reading, choice), shares_of(reading, choice, heads)
    if toward:
        run = recorded_of(reading, choice, heads)
        by_layer = shares.logit_shares(model, passage, by_layer, toward, factors_of(model, heads), run)
    return measure_routes.follow(model.config, passage, by_layer, threshold, toward)


def _effects(reading: Reading, choice: int | None, explained: Quantity | None) -> HeadEffects:
    passage = passage_of(reading, choice)
    *_, last = measure_heads.measure_heads(network(reading), passage, explained, estimate=False)
    return last


def _direct(reading: Reading, choice: int | None, token: int, against: int | None) -> Matrix | None:
    return measure_heads.direct_by_head(network(reading), passage_of(reading, choice), token, against)


def _weights(reading: Reading, choice: int | None, heads: str, layer: int, head: int) -> list[tuple[int, int, float]]:
    passage, run = passage_of(reading, choice), recorded_of(reading, choice, heads)
    return measure_heads.head_weights(network(reading), passage, run, layer, head)


def _cell(reading: Reading, choice: int | None, heads: str, *place: int) -> Cell | None:
    model = network(reading)
    return measure_heads.head_cell(model, passage_of(reading, choice), factors_of(model, heads), *place)


passage_of = kept(_passage, entries=256)
recorded_of = kept(_recorded, entries=4)
shares_of = kept(_shares, entries=8)
guesses_of = kept(_guesses, entries=256)
flow_of = kept(_flow, entries=256)
effects_of = kept(_effects, entries=64)
weights_of = kept(_weights, entries=256)
cell_of = kept(_cell, entries=256)
direct_of = kept(_direct, entries=64)


# ---- what is said and shown ----


def story_of(
    reading: Reading, choice: int | None, threshold: float, heads: str, toward: tuple[int, ...] = ()
) -> say.Story:
    """A sentence on where the state at a token, or a logit, came from; arguments as of `routes`."""
    model, answers = network(reading), answers_of(*opened(reading.model))
    guesses = guesses_of(reading, choice, heads)
    first = guesses.ranked(1)
    passage = passage_of(reading, choice)
    return say.story(
        flow_of(reading, choice, threshold, heads, toward),
        passage.tokens,
        answers.tokens(first)[0] if first else None,
        float(guesses.final.max()) if first else 0.0,
        factors_of(model, heads),
        answers.tokens(toward),
        is_last=model.config.architecture != "decoder" or passage.target == len(passage.tokens) - 1,
    )


@dataclass(frozen=True, slots=True)
class River:
    """A flow, its layers as they are drawn, and the effects of switching off each head."""

    flow: Flow
    columns: tuple[Column, ...]
    effects: HeadEffects

    @property
    def opened(self) -> list[int]:
        """The layers that are drawn wide."""
        return [one.first for one in self.columns if one.open]

    def opened_after(self, place: int) -> list[int]:
        """The layers that are drawn wide after a click on the number of a column: an open layer is folded, of folded
        ones the one that carried most opens.

        Args:
            place: of the column.
        """
        column = self.columns[place]
        strongest = column.first + int(self.flow.carried[column.first : column.last + 1].sum(1).argmax())
        return sorted({*self.opened} ^ {strongest})


def can_trace(reading: Reading) -> bool:
    """Whether the logit of a next token can be traced through the model."""
    try:
        check_model(network(reading))
    except ValueError:
        return False
    return True


@view
def river(
    reading: Reading,
    choice: int | None = None,
    threshold: float = 0.0,
    heads: str = "",
    toward: tuple[int, ...] = (),
    explained: Quantity | None = None,
    sampling: Sampling | None = None,
    layers: tuple[int, ...] = (),
    zoom: tuple[int, ...] = (),
    so_far: HeadEffects | None = None,
) -> View:
    """The streams of all tokens through all layers, what each head brings from one to another, and the next tokens.

    Args:
        reading, choice, threshold, heads, toward: see `routes`.
        explained: what falls where a head is switched off; None: how near the state is to what it is, as a cosine.
        sampling: how the next token is drawn; None: by the model's own probabilities.
        layers: those drawn wide; none: all of a small model, or those whose attention carried most.
        zoom: the layer that is drawn over the whole width, or it and the head whose attention is, or both and the query
            and the key token of one cell; none: the river.
        so_far: the effects of the heads; None: they are measured, which takes a while in a large model.
    """
    model, answers, passage = network(reading), answers_of(*opened(reading.model)), passage_of(reading, choice)
    flow, guesses = flow_of(reading, choice, threshold, heads, toward), guesses_of(reading, choice, heads)
    n_layers = len(flow.layers)
    wide = layers or flow_columns.strongest_layers(flow, ALL_OPEN if n_layers <= ALL_OPEN else OPEN)
    columns = tuple(flow_columns.columns(flow, sorted({*wide, *zoom[:1]}), LEAST))
    effects = effects_of(reading, choice, explained) if so_far is None else so_far
    best = zip(guesses.best, guesses.probability, strict=True)
    chart = river_scene(
        [in_words(piece) for piece in passage.tokens],
        flow,
        columns,
        effects,
        measure_heads.head_kinds(reading.model),
        factors_of(model, heads),
        [None if one is None else (in_words(*answers.tokens([one])), probability) for one, probability in best],
        _mouth(reading, choice, heads, explained, sampling),
        measure=say.explained_as(model, passage, answers, explained),
        whole=say.whole_of(answers.tokens(toward)),
        zoom=zoom,
        weights=weights_of(reading, choice, heads, *zoom[:2]) if len(zoom) > 1 else None,
        cell=cell_of(reading, choice, heads, *zoom) if len(zoom) > 2 else None,
    )
    return View(
        key="river",
        title="Flow of information",
        result=River(flow, columns, effects),
        chart=chart,
        findings=(story_of(reading, choice, threshold, heads, toward),),
        table=lambda: _routes_table(flow, passage),
        formula=FORMULA,
        papers=PAPERS,
        code=CODE,
    )


@view
def beside(reading: Reading, choice: int | None, other: Reading, threshold: float = 0.0) -> View:
    """The river of another text, or of the same text in another model, explained at the token that stands for the one
    that is explained in the first; and which heads carry most in both.

    Args:
        reading, choice, threshold: see `routes`.
        other: the second, of the same architecture. Its heads have no dots, as their effects take a while.
    """
    here, there = passage_of(reading, choice), passage_of(other, None)
    chosen = counterpart(reading, other, here.choices, there.choices, here.choice)
    at = None if network(other).config.architecture == "decoder" and chosen == len(there.choices) - 1 else chosen
    shown = river(other, at, threshold, so_far=measure_heads.unmeasured(network(other)))
    flows = flow_of(reading, choice, threshold, "", ()), flow_of(other, at, threshold, "", ())
    alike = (say.heads_beside(*flows, names_of(reading, other)),) if reading.model == other.model else ()
    return replace(shown, key="beside", title="Flow of information, beside", findings=(*shown.findings, *alike))


def following(reading: Reading, choice: int | None, heads: str) -> list[int]:
    """The next tokens at the mouth of the river: the most probable ones, and last the one that was so before heads were
    changed, if it is no longer among them."""
    now, before = guesses_of(reading, choice, heads).ranked(NEXT), guesses_of(reading, choice, "").ranked(1)
    return now if set(before) <= set(now) else [*now[:-1], *before]


def _mouth(
    reading: Reading, choice: int | None, heads: str, explained: Quantity | None, sampling: Sampling | None
) -> Mouth:
    answers, next_tokens = answers_of(*opened(reading.model)), following(reading, choice, heads)
    guesses, before = guesses_of(reading, choice, heads), guesses_of(reading, choice, "").final
    chances = guesses.final if sampling is None else measure_routes.sampled(guesses, sampling)
    drawing = "" if sampling is None else say.how_drawn(sampling)
    token = None if explained is None or explained.kind == "text" else explained.token
    against = explained.against if explained is not None and explained.kind == "difference" else None
    pieces = answers.tokens(next_tokens)
    return Mouth(
        following=[(in_words(piece), float(chances[i])) for i, piece in zip(next_tokens, pieces, strict=True)],
        former=[float(before[i]) for i in next_tokens] if heads or drawing else None,
        drawing=drawing,
        word=next_tokens.index(token) if token in next_tokens else None,
        against=next_tokens.index(against) if against in next_tokens else None,
        tracing=can_trace(reading),
    )


@view
def routes(reading: Reading, choice: int | None, threshold: float, heads: str, toward: tuple[int, ...] = ()) -> View:
    """Where the state at a token, or a logit, came from: its shares in the streams of all tokens, layer by layer.

    Args:
        reading: the last TOKENS tokens of a text, or the first of one that is translated.
        choice: the token that is explained, of a decoder the one whose next token is; None: the last of a decoder, of
            an encoder a masked one.
        threshold: at each token, heads' contributions below this share are not followed.
        heads: what is multiplied, as in "2.5*0 1.3*-1".
        toward: the next token whose logit is traced, and the one whose logit is taken off; none: the state is traced.
    """
    flow, passage = flow_of(reading, choice, threshold, heads, toward), passage_of(reading, choice)
    return View(
        key="shares",
        title="Shares by token and layer",
        result=flow,
        chart=shares_figure(flow, tick_labels(passage.tokens, 10)),
        min_width=420,
        findings=(story_of(reading, choice, threshold, heads, toward),),
        table=lambda: _routes_table(flow, passage),
        formula=FORMULA,
        papers=PAPERS,
        code=CODE,
    )


def _routes_table(flow: Flow, passage: Passage) -> pd.DataFrame:
    """Routes from token to token, the widest first."""
    tokens = passage.tokens
    rows = [
        (flow.head(one.layer, one.head), tokens[one.key], tokens[one.query], round(one.share, 4)) for one in flow.routes
    ]
    return pd.DataFrame(rows, columns=["head", "from", "to", "share"])


def compared(
    reading: Reading, flow: Flow, explained: Quantity, effects: HeadEffects
) -> tuple[say.HeadMeasures, pd.DataFrame] | None:
    """The head that comes first by share of the state, by share of the logit and by effect; and all heads by all three.
    None where a model does not write into a sum that is read for a next token.

    Args:
        flow: of the state, through the model as it is.
        explained: one token or the difference of two.
        effects: on that.
    """
    if network(reading).config.architecture != "decoder":
        return None
    against = explained.against if explained.kind == "difference" else None
    direct = direct_of(reading, flow.target, explained.token, against)
    if direct is None:
        return None
    tokens = [explained.token, *([] if against is None else [against])]
    words = [visible(piece) for piece in opened(reading.model)[1].tokens(tokens)]
    is_exact, there = bool(effects.exact.all()), np.array(heads_there(network(reading).config))
    finding = say.compare(
        words[0],
        flow.carried,
        direct,
        effects.values,
        is_exact=is_exact,
        against=words[1] if words[1:] else None,
        mixers=flow.mixers,
    )
    effect = f"effect when off ({explained.unit})"
    columns = {"share of the state": flow.carried, "share of the logit": direct, effect: effects.values}
    names = [flow.head(int(layer), int(head)) for layer, head in np.argwhere(there)]
    table = pd.DataFrame({"head": names} | {name: values[there].round(4) for name, values in columns.items()})
    return finding, table.sort_values(effect, ascending=False)
