"""Two models on one text: what they expect token by token, which heads look elsewhere, what moved in the weights, and
at which layers the difference comes in. Versions of a model, such as smollm2@int4/32, stand in the place of a model
(tfcore.views.versions)."""

from dataclasses import replace

import pandas as pd

from tfcore.charts.before_after import before_after
from tfcore.measures import information
from tfcore.measures.one_text import pieces_of
from tfcore.measures.token_text import label, plotly_escape, shorten, tick_labels
from tfcore.views.finding import state
from tfcore.views.model.compare import say
from tfcore.views.model.compare.draw.parts import exchanged_figure, heads_figure, map_figure, norms_figure, ranks_figure
from tfcore.views.model.compare.draw.predictions import divergence_figure, spans_figure
from tfcore.views.model.compare.measure import attention, exchanged, pair, predictions, weights
from tfcore.views.model.compare.measure import spans as _spans
from tfcore.views.sources import Reading, Source, opened, title_of
from tfcore.views.view import View, view

TOKENS = pair.TOKENS
NAME = 40  # characters of a model's name in a picture

begin = pair.begin
both_texts = pair.both_texts
compared = predictions.compared
compared_heads = attention.compared_heads

# Why two models cannot be compared in one of these ways, or None.
why_not_by_token = pair.why_not_by_token
why_not_by_head = attention.why_not_by_head
why_not_by_matrix = weights.why_not_by_matrix
why_not_exchanged = exchanged.why_not_exchanged

KL = (
    r"\mathrm{KL}(A \,\|\, B) = \sum_v p_A(v) \ln \frac{p_A(v)}{p_B(v)} \qquad "
    r"\text{surprise: } -\ln p(t_i \mid t_{<i})"
)


def _names(first: Source, second: Source) -> tuple[str, str]:
    """Both models in words."""
    return title_of(first), title_of(second)


def _legend(first: Source, second: Source) -> tuple[str, str]:
    """The same, short and safe for plotly."""
    here, there = (plotly_escape(shorten(name, NAME)) for name in _names(first, second))
    return here, there


def _check_token(token: int, tokens: tuple[str, ...]) -> None:
    if not 0 <= token < len(tokens):
        raise ValueError(f"token={token} must be between 0 and {len(tokens) - 1}, the last token of the text")


# ---- token by token ----


@view
def tokens(reading: Reading, other: Source, token: int) -> View:
    """KL divergence after each token of a text, and the surprise of both models at each.

    Args:
        other: the second model, of the same vocabulary.
        token: that is marked.
    """
    read = predictions.compared(reading, other)
    _check_token(token, read.tokens)
    names = _names(reading.model, other)
    return View(
        key="tokens",
        title="Predictions apart",
        result=read,
        chart=divergence_figure(read, tick_labels(read.tokens), _legend(reading.model, other), token, height=330),
        cursor=True,
        findings=(say.predictions_apart(read, names),),
        table=lambda: _token_table(read),
        formula=KL,
        papers="KL divergence as the loss between a model and a smaller one that learns from it (distillation): "
        "arXiv:1503.02531. KL per token as the measure of what quantisation changes: arXiv:2407.09141.",
        terms=("KL divergence", "surprisal"),
        code=(information.divergence, predictions.log_probabilities),
    )


def _token_table(read: predictions.ComparedPredictions) -> pd.DataFrame:
    first, second = read.surprise
    return pd.DataFrame(
        {"token": read.tokens, "KL after it": read.kl, "surprise, first": first, "surprise, second": second}
    )


@view
def next_tokens(reading: Reading, other: Source, token: int) -> View:
    """The likeliest next tokens of both models after one token of a text. See tokens."""
    read = predictions.compared(reading, other)
    _check_token(token, read.tokens)
    pieces = pieces_of(opened(reading.model)[1], read.likeliest[token].tolist())
    first, second = read.probabilities[token]
    names = _names(reading.model, other)
    return View(
        key="next",
        title="The next token in both",
        result=read.probabilities[token],
        chart=before_after(tick_labels(pieces), first.tolist(), second.tolist(), _legend(reading.model, other)),
        findings=(say.best_guesses(read, token, pieces, names),),
        note="Outline: the first model.",
        table=lambda: pd.DataFrame({"token": pieces, "p, first": first, "p, second": second}),
    )


@view
def spans(reading: Reading, other: Source) -> View:
    """The surprise of two models with different tokens, by the shortest pieces of the text at whose ends both end one.

    Args:
        other: the second model.
    """
    read = _spans.spans_of(reading.model, other, reading.text)
    return View(
        key="spans",
        title="Surprise by characters",
        result=read,
        chart=spans_figure(read, tick_labels(read.pieces), _legend(reading.model, other), height=330),
        findings=(say.surprise_by_span(read, _names(reading.model, other)),),
        note="A piece ends where both models end a token.",
        table=lambda: pd.DataFrame(
            {"piece": read.pieces, "nats, first": read.nats[0], "nats, second": read.nats[1], "bytes": read.sizes}
        ),
        formula=r"-\ln p(c_i \dots c_j) = -\sum_{t \subset (i, j]} \ln p(t \mid t_{<})",
        papers="Texts compared by bytes, not by tokens, where vocabularies differ: arXiv:2101.00027, section 3.1.",
        terms=("surprisal", "bits per byte"),
        code=(_spans.spans,),
    )


# ---- heads ----


@view
def heads(reading: Reading, other: Source, layer: int, head: int) -> View:
    """How much of each head's weight lies elsewhere in the second model.

    Args:
        other: the second model, with as many layers and heads.
        layer, head: that is framed.
    """
    read = attention.compared_heads(reading, other)
    _check_head(read, layer, head)
    return View(
        key="heads",
        title="Heads that look elsewhere",
        result=read,
        chart=heads_figure(read, (layer, head)),
        findings=(say.moved_heads(read),),
        note="A dot: of another kind.",
        table=lambda: _head_table(read),
        formula=r"\mathrm{TV} = \frac{1}{n} \sum_{q} \frac{1}{2} \sum_{k} \left| A_{qk} - B_{qk} \right|",
        papers="Kinds of heads: arXiv:2209.11895. Total variation distance is half of the sum of all differences: 0 "
        "for the same map, 1 where no weight lies on the same key.",
        terms=("attention head",),
        code=(attention.total_variation,),
    )


def _check_head(read: attention.ComparedHeads, layer: int, head: int) -> None:
    layers, n_heads = read.distance.shape
    if not (0 <= layer < layers and 0 <= head < n_heads):
        raise ValueError(f"there is no head {layer}.{head}: layers are 0 to {layers - 1}, heads 0 to {n_heads - 1}")


def _head_table(read: attention.ComparedHeads) -> pd.DataFrame:
    layers, n_heads = read.distance.shape
    return pd.DataFrame(
        [
            (i, j, float(read.distance[i, j]), str(read.before.kind[i, j]), str(read.after.kind[i, j]))
            for i in range(layers)
            for j in range(n_heads)
        ],
        columns=["layer", "head", "total variation", "kind, first", "kind, second"],
    ).sort_values("total variation", ascending=False, ignore_index=True)


@view
def first_map(reading: Reading, other: Source, layer: int, head: int) -> View:
    """The map of one head in the first model. See heads."""
    return _map(reading, other, layer, head, second=False)


@view
def second_map(reading: Reading, other: Source, layer: int, head: int) -> View:
    """The map of the same head in the second model, and what became of it. See heads."""
    return _map(reading, other, layer, head, second=True)


def _map(reading: Reading, other: Source, layer: int, head: int, *, second: bool) -> View:
    read = attention.compared_heads(reading, other)
    _check_head(read, layer, head)
    shown, beside = (replace(reading, model=other), reading.model) if second else (reading, other)
    pattern = attention.maps_of(shown, beside).patterns[layer, head]
    texts = pair.read_text(reading, other).tokens
    name = title_of(shown.model)
    kind = str((read.after if second else read.before).kind[layer, head])
    described = state("map", "Head {layer}.{head} of {name}: {kind}.", layer=layer, head=head, name=name, kind=kind)
    found = say.one_head(read, layer, head, _names(reading.model, other)) if second else described
    return View(
        key="second" if second else "first",
        title=f"Head {layer}.{head} of the {'second' if second else 'first'} model",
        result=pattern,
        chart=map_figure(pattern, tick_labels(texts), f"query token of {plotly_escape(shorten(name, NAME))}", 400),
        cursor=True,
        described=described,
        findings=(found,),
        table=lambda: pd.DataFrame(pattern, index=list(texts), columns=list(texts)),
    )


# ---- weights ----


@view
def moved(model: Source, other: Source) -> View:
    """The relative norm of the difference of each matrix of two models, B - A over A.

    Args:
        other: the second model, with matrices of the same shapes.
    """
    read = weights.moved(model, other)
    return View(
        key="moved",
        title="How far each matrix moved",
        result=read,
        chart=norms_figure(read),
        findings=(say.weights_moved(read),),
        table=lambda: _matrix_table(read),
        formula=r"\frac{\lVert B - A \rVert_F}{\lVert A \rVert_F} \qquad "
        r"r = \frac{\left(\sum_i \sigma_i^2\right)^2}{\sum_i \sigma_i^4}, \quad \sigma_i \text{ of } B - A",
        papers="That fine-tuning moves weights on few directions is what LoRA builds on: arXiv:2106.09685, section "
        "7.3. The effective rank is the participation ratio of the squared singular values.",
        terms=("LoRA", "quantisation"),
        code=(weights.relative_norm, weights.effective_rank),
    )


@view
def ranks(model: Source, other: Source) -> View:
    """The effective rank of the difference of each matrix, as a share of the largest possible. See moved."""
    read = weights.moved(model, other)
    return View(
        key="ranks",
        title="On how many directions",
        result=read,
        chart=ranks_figure(read),
        findings=(say.directions(read),),
        table=lambda: _matrix_table(read),
    )


def _matrix_table(read: weights.MovedWeights) -> pd.DataFrame:
    rows = [
        (layer, kind, float(read.norms[layer, column]), float(read.ranks[layer, column]), read.full[column])
        for layer in range(len(read.norms))
        for column, kind in enumerate(read.kinds)
    ]
    return pd.DataFrame(rows, columns=["layer", "matrix", "relative norm", "effective rank", "largest rank"])


# ---- where it comes in ----

exchange_places = exchanged.places
exchange_at = exchanged.exchanged_at


@view
def streams(reading: Reading, other: Source, token: int) -> View:
    """Activation patching between two models: the KL divergence that is left where the residual stream of the first
    is put into the second before each block, at all tokens.

    Args:
        other: the second model, of the same depth, width and vocabulary.
        token: whose prediction is drawn beside the mean.
    """
    read = exchanged.exchanged(reading, other)
    _check_token(token, read.tokens)
    return View(
        key="streams",
        title="Where the difference comes in",
        result=read,
        chart=exchanged_figure(read, token, label(read.tokens[token], NAME), height=340),
        findings=(say.where_it_comes_in(read, _names(reading.model, other)),),
        table=lambda: pd.DataFrame({"place": range(len(read.kl)), "KL left": read.kl.mean(1), "share left": read.left}),
        formula=r"h^{B}_\ell \leftarrow h^{A}_\ell, \qquad "
        r"\mathrm{KL}\left(p_A \,\|\, p_{B \mid h_\ell = h^A_\ell}\right)",
        papers="Activations of a base model put into its fine-tuned version, and the other way round (cross-model "
        "activation patching): arXiv:2402.14811. Activation patching: arXiv:2404.15255.",
        terms=("activation patching", "residual stream"),
        code=(exchanged.exchanged_at,),
    )
