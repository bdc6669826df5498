"""Views of neurons as keys and values: over many texts where a model was scanned, on one text in any decoder."""

from dataclasses import replace

import pandas as pd
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts.promoted import promoted_figure
from tfcore.config import ModelConfig
from tfcore.measures.neuron_scan import load_neuron_scan, scan_neurons
from tfcore.measures.one_text import last_tokens
from tfcore.measures.token_text import label, tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.block.feedforward import say
from tfcore.views.block.feedforward.draw.neurons import activations_figure, active_figure, shares_figure
from tfcore.views.block.feedforward.measure import neurons
from tfcore.views.block.feedforward.measure import shares as measure_shares
from tfcore.views.block.feedforward.measure.neurons import Promotion
from tfcore.views.block.feedforward.measure.shares import NeuronReading, WritingNeurons
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, opened
from tfcore.views.view import View, view

LETTERS = 8  # of a token beside a bar
ACTIVE = 10  # neurons most active at a token
TOKENS = 128  # of a text
BYTES = 64_000_000  # of the activations of one text: of larger models fewer tokens are read


def _value(promoted: Promotion, marked: str) -> View:
    """The value vector of a neuron.

    Args:
        promoted: what it promotes at one place of a text.
        marked: which token the figure marks.
    """
    followed = None if promoted.followed is None else label(promoted.followed, 12)
    return View(
        key="value",
        title="The value of the neuron",
        result=promoted,
        chart=promoted_figure(tick_labels(promoted.tokens), promoted.lifts, followed, height=330, room=1.8),
        findings=(say.promotion(promoted),),
        note=f"{say.shapes(promoted)} ◂ marks {marked}.",
        table=lambda: pd.DataFrame({"token": promoted.tokens, "logits": promoted.lifts}),
    )


# ---- in a model whose neurons were scanned ----


def _activations(
    model: Transformer, tokenizer: Tokenizer, text: str
) -> tuple[Float[ndarray, "layer seq neuron"], list[str]]:
    """Every neuron at every token of a text, and the tokens."""
    read = last_tokens(model, tokenizer, text, model.config.max_seq_len)
    return neurons.text_activations(model, read.ids), read.tokens


activations_of = kept(_activations, entries=8)
strongest_of = kept(neurons.strongest_texts, entries=128)
promotion_of = kept(neurons.promotion, entries=128)
promoted_by = kept(neurons.promoted_tokens, entries=64)


@view
def value(model: str, layer: int, neuron: int, side: int) -> View:
    """The value vector of a neuron: the tokens whose logits it raises and lowers most (arXiv:2012.14913).

    Args:
        model: name of a model whose neurons were scanned.
        layer, neuron: which one.
        side: 0 for its largest activation in the scan, 1 for its smallest.
    """
    return replace(
        _value(promotion_of(model, model, layer, neuron, side), "what comes next in that text"),
        formula=(
            r"\mathrm{FF}(x) = \sum_{i=1}^{d_{ff}} \underbrace{a_i(x)}_{\text{key: how well } x \text{ fits}}\; "
            r"\underbrace{v_i}_{\text{value: column } i \text{ of } W_{down}}, \qquad "
            r"a_i = \mathrm{SiLU}(g_i \cdot x)\,(u_i \cdot x)"
        ),
        code=(neurons.promoted, neurons.neuron_effect, scan_neurons),
        papers=(
            "Key-value memories: arXiv:2012.14913, equations 1 and 2, for plain layers; the stories model's are gated. "
            "The texts are excerpts of TinyStories' validation split (arXiv:2305.07759, CDLA-Sharing-1.0), found by "
            "one scan of 134,700 tokens that is kept beside the model; each is read again by the model when you look."
        ),
    )


@view
def on_text(model: str, text: str, layer: int, neuron: int, side: int, token: int) -> View:
    """One neuron as a small rule: where it is active in a text (arXiv:2012.14913).

    Args:
        model, layer, neuron, side: see value.
        token: that is marked.
    """
    values, tokens = activations_of(model, text)
    own = values[layer, :, neuron]
    record = load_neuron_scan(model).record(layer, neuron, side)  # its largest activation in many texts
    return View(
        key="text",
        title="The neuron on the text",
        result=own,
        chart=activations_figure(own, tick_labels(tokens), token, record, height=330),
        min_width=520,
        findings=(say.peak(own, record, tokens, layer, neuron),),
        table=lambda: pd.DataFrame({"token": tokens, "activation": own}),
    )


@view
def most_active(model: str, text: str, layer: int, neuron: int, side: int, token: int) -> View:
    """The neurons most active at a token of a text, with the tokens that each promotes. See on_text."""
    values, tokens = activations_of(model, text)
    active = neurons.most_active(values[:, token], load_neuron_scan(model).value[..., 0], ACTIVE)
    words = [" ".join(map(label, promoted_by(model, one.layer, one.neuron, one.side))) for one in active]
    return View(
        key="excited",
        title="The neurons most active at the token",
        result=active,
        chart=active_figure(active, words, (layer, neuron, side), height=330),
        findings=(say.most_active(active, tokens[token]),),
        note="The bars name the tokens that each promotes.",
        table=lambda: pd.DataFrame(active),
    )


# ---- in any decoder, on one text ----


def most_tokens(config: ModelConfig) -> int:
    """How many tokens of a text are read."""
    return max(1, min(TOKENS, BYTES // (4 * config.n_layers * config.ff_size)))


def _read(model: Transformer, tokenizer: Tokenizer, text: str) -> NeuronReading:
    return measure_shares.read_neurons(model, tokenizer, text, most_tokens(model.config))


def _writers(reading: Reading, token: int) -> WritingNeurons:
    model, tokenizer = opened(reading.model)
    return measure_shares.writing_neurons(model, tokenizer, read_of(reading.model, reading.text), token)


def _first(reading: Reading) -> int:
    return measure_shares.first_token(opened(reading.model)[0], read_of(reading.model, reading.text))


def _promotion(reading: Reading, token: int, layer: int, neuron: int) -> Promotion:
    (model, tokenizer), read = opened(reading.model), read_of(reading.model, reading.text)
    return measure_shares.promotion_here(model, tokenizer, read, token, layer, neuron)


read_of = kept(_read, entries=4)
writers_of = kept(_writers, entries=64)
first_of = kept(_first, entries=64)
promotion_there = kept(_promotion, entries=64)


@view
def writers(reading: Reading, token: int, layer: int, neuron: int) -> View:
    """The neurons with the largest shares in the logit of the token that is expected next (arXiv:2211.00593).

    Args:
        reading: a text, and a decoder; of the text most_tokens are read.
        token: after which it is expected.
        layer, neuron: the one that is marked.
    """
    writing = writers_of(reading, token)
    words = [" ".join(label(raised, LETTERS) for raised in one.raised) for one in writing.largest]
    return View(
        key="shares",
        title="Who writes the next token",
        result=writing,
        chart=shares_figure(writing.largest, words, (layer, neuron), height=330),
        findings=(say.writing_neurons(writing),),
        table=lambda: pd.DataFrame(writing.largest),
        formula=(
            r"\mathrm{FF}(x) = \sum_{i=1}^{d_{ff}} a_i(x)\, v_i \quad\Rightarrow\quad \Delta \mathrm{logit}_t = "
            r"\sum_i a_i(x)\, \frac{(\gamma \odot v_i) \cdot (W_U[t] - \bar W_U)}{s}"
        ),
        code=(measure_shares.neuron_shares, neurons.promoted, neurons.neuron_off),
        papers=(
            "Key-value memories: arXiv:2012.14913, equations 1 and 2; what values promote: arXiv:2203.14680; direct "
            "logit attribution: arXiv:2211.00593, section 3.1"
        ),
    )


@view
def value_there(reading: Reading, token: int, layer: int, neuron: int) -> View:
    """The effect of a neuron at one token of a text: the tokens it raises and lowers there. See writers."""
    return _value(promotion_there(reading, token, layer, neuron), "what the model expects next")


@view
def along(reading: Reading, token: int, layer: int, neuron: int) -> View:
    """The activation of a neuron at every token of a text. See writers."""
    read = read_of(reading.model, reading.text)
    own = read.values[layer, :, neuron]
    return View(
        key="text",
        title="The neuron along the text",
        result=own,
        chart=activations_figure(own, tick_labels(read.tokens), token, None, height=230),
        min_width=520,
        findings=(say.along_text(own, read.tokens, layer, neuron),),
        table=lambda: pd.DataFrame({"token": read.tokens, "activation": own}),
    )
