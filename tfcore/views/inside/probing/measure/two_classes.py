"""A direction that tells two classes of sentences apart: the difference of their means, or a probe."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.measures.lenses import unembedding
from tfcore.measures.one_text import first_tokens, last_tokens, one_text
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.inside.probing.measure.by_layer import layer_name, stream_names
from tfcore.views.inside.probing.measure.logistic import L2

Method = Literal["means", "probe"]
METHODS: dict[Method, str] = {"means": "difference of means", "probe": "probe"}
SENTENCES = 12  # of a class
TOKENS = 32  # of a sentence
NEWTON = 25  # steps, at most needed for a loss that is this flat


def all_sentences(text: str) -> list[str]:
    """The lines of a box that are not empty."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def sentences(text: str) -> list[str]:
    """The sentences of a box that are used, at most SENTENCES."""
    return all_sentences(text)[:SENTENCES]


@dataclass(frozen=True, slots=True)
class TwoClasses:
    """Sentences of two classes as a model reads them.

    Args:
        sentences: of the first class, then of the second.
        first: which belong to the first.
        line: the line of its box that each stands in.
        states: the stream before the first layer and after each, mean over a sentence's tokens.
    """

    sentences: tuple[str, ...]
    first: Bool[ndarray, " sentence"]
    line: Int[ndarray, " sentence"]
    states: Float[ndarray, "layer sentence d_model"]


def both_classes(
    one: str, two: str, first: Float[ndarray, "layer _ d_model"], second: Float[ndarray, "layer _ d_model"]
) -> TwoClasses:
    """Two classes, and what `read_class` gives for each."""
    lines = [sentences(text) for text in (one, two)]
    return TwoClasses(
        (*lines[0], *lines[1]),
        np.repeat([True, False], [len(own) for own in lines]),
        np.concatenate([np.arange(len(own)) for own in lines]),
        np.concatenate([first, second], 1),
    )


@torch.no_grad()
def read_class(model: Transformer, tokenizer: Tokenizer, text: str) -> Float[ndarray, "layer sentence d_model"]:
    """The mean state of every sentence of a class after every layer.

    The first token is left out where there are others: its state is many times as long as the others' in most models,
    whatever it is (attention sink).

    Raises:
        ValueError: fewer than two sentences.
    """
    if len(own := sentences(text)) < 2:
        raise ValueError("each class needs at least two sentences, one a line, so that one of them can be held out")
    rows = [first_tokens(model, tokenizer, sentence, TOKENS).ids for sentence in own]
    longest = max(map(len, rows))
    # What is appended to shorter ones comes after all that counts, and a decoder does not look ahead.
    ids = torch.cat([one_text(model, [*row, *[0] * (longest - len(row))]) for row in rows])
    counted = torch.tensor([[min(1, len(row) - 1) <= i < len(row) for i in range(longest)] for row in rows])
    names = stream_names(model.config)
    kept = model.activations(ids, names)
    weights = (counted / counted.sum(1, keepdim=True)).to(ids.device)
    return torch.stack([torch.einsum("rsd,rs->rd", kept[name].float(), weights) for name in names]).cpu().numpy()


def direction_weights(
    gram: Float[Tensor, "layer n n"], first: Bool[Tensor, " n"], method: Method, width: int
) -> tuple[Float[Tensor, "layer n"], Float[Tensor, " layer"]]:
    """The direction v as a weighted sum of the states x_i, and the offset t: v . x - t > 0 means the first class.

    "means": v is the mean of the first class less that of the second, and t lies midway. "probe": logistic regression
    on standardised states with penalty L2 / 2 ||w||^2, which by the representer theorem is such a sum, too; found by
    Newton's method for the weights, of which there are as many as sentences, and not as many as dimensions.

    Args:
        gram: the products x_i . x_j of all states, layer by layer.
        first: which are of the first class.
        width: dimensions of a state.
    """
    one, two = first / first.sum(), (~first) / (~first).sum()
    one, two = one.to(gram.dtype), two.to(gram.dtype)
    if method == "means":
        weights = (one - two).expand(len(gram), -1)
        return weights, torch.einsum("lij,i,j->l", gram, one - two, (one + two) / 2)
    n = len(first)
    mean = torch.full((n,), 1 / n, dtype=gram.dtype)
    along = gram @ mean  # x_i . mean
    centred = gram - along[:, :, None] - along[:, None, :] + (along @ mean)[:, None, None]
    scale = (centred.diagonal(dim1=1, dim2=2).sum(1) / (n * width)).clamp(min=1e-12)  # square of the standard deviation
    alpha, bias = dual_logistic(centred / scale[:, None, None], first)
    weights = alpha / scale[:, None]
    return weights, torch.einsum("ln,ln->l", weights, along) - bias


def dual_logistic(
    kernel: Float[Tensor, "layer n n"], first: Bool[Tensor, " n"]
) -> tuple[Float[Tensor, "layer n"], Float[Tensor, " layer"]]:
    """Weights a and bias b of f = K a + b that minimise mean log(1 + exp(-y f)) + L2 / 2 a^T K a, with y = 1 for the
    first class and -1 for the other: Newton's method as iteratively reweighted least squares, from zero.

    In each step [[K + L2 / W, 1], [1, 0]] [a, b] = [f - g / W, 0], where g and W are the first and second derivatives
    of the mean loss by f.
    """
    n = len(first)
    target = first.to(kernel.dtype)
    alpha, bias = kernel.new_zeros(kernel.shape[:2]), kernel.new_zeros(len(kernel))
    system = kernel.new_zeros(len(kernel), n + 1, n + 1)
    system[:, n, :n] = system[:, :n, n] = 1
    for _ in range(NEWTON):
        f = torch.einsum("lij,lj->li", kernel, alpha) + bias[:, None]
        p = torch.sigmoid(f)
        curvature = (p * (1 - p) / n).clamp(min=1e-9)
        system[:, :n, :n] = kernel + torch.diag_embed(L2 / curvature)
        right = torch.cat([f - (p - target) / n / curvature, bias.new_zeros(len(bias), 1)], 1)
        solved = torch.linalg.solve(system, right)
        alpha, bias = solved[:, :n], solved[:, n]
    return alpha, bias


def gram_matrix(classes: TwoClasses) -> Float[Tensor, "layer n n"]:
    """x_i . x_j of all sentences, layer by layer, in double precision."""
    x = torch.tensor(classes.states).double()
    return x @ x.mT


def held_out_right(classes: TwoClasses, method: Method) -> Bool[ndarray, "layer sentence"]:
    """Which sentences fall on the right side when their line is left out of both classes.

    Lines are left out together, because the two sentences of a line are often about the same thing: the one that is
    still there would pull the other to its side.
    """
    gram, first, line = gram_matrix(classes), torch.tensor(classes.first), torch.tensor(classes.line)
    right = torch.zeros(gram.shape[:2], dtype=torch.bool)
    for one in range(int(line.max()) + 1):
        held, used = line == one, line != one
        weights, offset = direction_weights(gram[:, used][:, :, used], first[used], method, classes.states.shape[2])
        scores = torch.einsum("lhu,lu->lh", gram[:, held][:, :, used], weights) - offset[:, None]
        right[:, held] = (scores > 0) == first[held]
    return right.numpy()


@dataclass(frozen=True, slots=True)
class Direction:
    """A direction of the stream.

    Args:
        title: as in "difference of means at layer 14".
        layer: index of the stream's state it belongs to, see stream_names.
        vector: what factor 1 adds when it is used to steer.
        offset, half: (x . vector - offset) / half is the score of a state x: above 0 on the side of the first class;
            with the difference of means it is 1 at the mean of the first class and -1 at that of the second.
    """

    title: str
    layer: int
    vector: Float[ndarray, " d_model"]
    offset: float = 0.0
    half: float = 1.0


@dataclass(frozen=True, slots=True)
class OfClasses:
    """The direction from the second of two classes of sentences to the first.

    Args:
        one, two: sentences of the classes, one a line.
        method: how it is found.
        layer: index of the stream's state, see stream_names.
    """

    one: str
    two: str
    method: Method
    layer: int


def class_direction(classes: TwoClasses, layer: int, method: Method) -> Direction:
    """The direction from the second class to the first, as long as the difference of their means."""
    x, first = classes.states[layer].astype(np.float64), classes.first
    gram = torch.tensor(x @ x.T)[None]
    (weights,), (offset,) = direction_weights(gram, torch.tensor(first), method, x.shape[1])
    gap = x[first].mean(0) - x[~first].mean(0)
    vector = weights.numpy() @ x
    stretch = float(np.linalg.norm(gap)) / max(float(np.linalg.norm(vector)), 1e-12)
    vector = vector * stretch
    half = max(float(vector @ gap) / 2, 1e-12)
    title = f"{METHODS[method]} at {layer_name(layer)}"
    return Direction(title, layer, vector.astype(np.float32), float(offset) * stretch, half)


@dataclass(frozen=True, slots=True)
class TextStates:
    """A text as a model reads it.

    Args:
        tokens: of the text.
        states: the stream before the first layer and after each.
    """

    tokens: tuple[str, ...]
    states: Float[ndarray, "layer seq d_model"]


@torch.no_grad()
def read_text(model: Transformer, tokenizer: Tokenizer, text: str, limit: int) -> TextStates:
    """The stream at the last tokens of a text, of which there must be one."""
    read, names = last_tokens(model, tokenizer, text, limit), stream_names(model.config)
    kept = model.activations(one_text(model, read.ids), names)
    return TextStates(tuple(read.tokens), torch.cat([kept[name] for name in names]).float().cpu().numpy())


def token_scores(read: TextStates, along: Direction) -> Float[ndarray, " seq"]:
    """The score of each token of a text; NaN at the first one where there are others, see read_class."""
    scores = (read.states[along.layer] @ along.vector - along.offset) / along.half
    scores[: min(1, len(scores) - 1)] = np.nan
    return scores


@dataclass(frozen=True, slots=True)
class PointsAt:
    """The tokens whose unembedding vectors a direction is most nearly parallel to.

    Args:
        title: of the direction.
        tokens, cosines: the most nearly parallel first, then the most nearly opposite.
        along: how many of them come first.
    """

    title: str
    tokens: tuple[str, ...]
    cosines: tuple[float, ...]
    along: int


@dataclass(frozen=True, slots=True)
class TokenRows:
    """The part of `points_at` that does not depend on the direction.

    Args:
        mean: the mean row of W_U.
        gamma: of the final norm.
        lengths: |gamma * (row - mean)| of every token.
    """

    mean: Float[Tensor, " d_model"]
    gamma: Float[Tensor, " d_model"]
    lengths: Float[Tensor, " vocab"]


@torch.no_grad()
def token_rows(model: Transformer) -> TokenRows:
    """The part of `points_at` that is the same for every direction of a model; it takes most of the time of
    `points_at`."""
    rows = unembedding(model).float()
    gamma = getattr(model.decoder.ln_final, "weight", rows.new_ones(rows.shape[1])).float()
    mean = rows.mean(0)
    # The squared lengths of gamma * (row - mean), without a second matrix of that size.
    squares = rows.square() @ gamma.square() - 2 * rows @ (gamma.square() * mean) + (gamma * mean).square().sum()
    return TokenRows(mean, gamma, squares.clamp(min=1e-12).sqrt())


@torch.no_grad()
def points_at(
    model: Transformer,
    tokenizer: Tokenizer,
    along: Direction,
    towards: int = 8,
    away: int = 6,
    known: TokenRows | None = None,
) -> PointsAt:
    """Cosines of the direction with the rows of W_U, each less the mean row and times the final norm's gamma: what adds
    the same to all logits does not count, nor how long a row is.

    Args:
        known: what `token_rows` gives; None computes it.
    """
    known = known or token_rows(model)
    rows = unembedding(model).float()
    vector = torch.tensor(along.vector).to(rows)
    shares = rows @ (known.gamma * vector) - known.mean @ (known.gamma * vector)
    cosines = (shares / (known.lengths * vector.norm().clamp(min=1e-12))).cpu().numpy()
    order = np.argsort(-cosines, kind="stable")
    ids = [*order[:towards].tolist(), *order[-away:].tolist()]
    return PointsAt(along.title, tuple(tokenizer.tokens(ids)), tuple(cosines[ids].tolist()), towards)
