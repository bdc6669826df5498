"""The experiments of the page on information."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore import load
from tfcore.analysis.training.compression import Coder, per_byte
from tfcore.analysis.training.entropy import compare, divergence_sums, entropy_numbers, loss_of_mixture, loss_of_token
from tfcore.analysis.training.kl_fit import KLFit, fit_of, fitted_bumps, kl_minima, own_bump
from tfcore.analysis.training.mutual_information import (
    cell_sum,
    joint_information,
    pair_count,
    shared_information,
    three_ways,
)
from tfcore.analysis.training.text_bits import Prediction, concentration, first_guess, text_cost, token_surprisal
from tfcore.figures.guesses import guesses_figure
from tfcore.figures.shown import Shown
from tfcore.figures.training.entropy import areas_figure, outcome_terms_figure, token_loss_figure
from tfcore.figures.training.kl_fit import bumps_figure, kl_maps_figure
from tfcore.figures.training.mutual_information import cell_terms_figure, overlap_figure
from tfcore.figures.training.text_bits import adding_up_figure, per_byte_figure
from tfcore.measures.text_loss import TextBits, next_tokens, text_bits
from tfcore.measures.token_text import label, tick_labels, visible
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def distributions(p: Sequence[float], q: Sequence[float], names: Sequence[str]) -> Shown:
    """Entropy of P, and cross-entropy with a prediction Q, as areas: each outcome as wide as its probability."""
    result = compare(np.array(p), np.array(q))
    return Shown(areas_figure(result, tick_labels(names), height=300), (entropy_numbers(result),))


def terms(p: Sequence[float], q: Sequence[float], names: Sequence[str]) -> Shown:
    """What each outcome adds to KL(P‖Q) and to KL(Q‖P)."""
    result = compare(np.array(p), np.array(q))
    return Shown(outcome_terms_figure(result, tick_labels(names), height=230), (divergence_sums(result),))


def next_shares(
    model: Transformer, tokenizer: Tokenizer, text: str, limit: int, count: int
) -> tuple[tuple[float, ...], list[str]]:
    """The probabilities of the likeliest tokens after a text and of all others together, and their names."""
    ids = tokenizer.encode(text)[: min(limit, model.config.max_seq_len)]
    found = next_tokens(model, ids, count)
    p = found.probabilities.astype(np.float64)
    return (*p.tolist(), max(0.0, 1 - float(p.sum()))), [*map(visible, tokenizer.tokens(found.ids.tolist())), "others"]


def next_token(prediction: tuple[tuple[float, ...], list[str]], q: Sequence[float]) -> Shown:
    """How well a guess Q fits what a model expects next: cross-entropy in bits."""
    p, names = prediction
    return distributions(p, q, names)


def bumps(fit: KLFit, own_mean: float, own_width: float) -> Shown:
    """One bump fitted to two: the least KL(P‖Q) covers both, the least KL(Q‖P) picks one; and a bump of one's own."""
    own = fit_of(fit.p, fit.x, own_mean, own_width)
    return Shown(bumps_figure(fit, own, height=330), (fitted_bumps(fit), kl_minima(fit), own_bump(own)))


def maps(fit: KLFit, own_mean: float, own_width: float) -> Shown:
    """KL(P‖Q) and KL(Q‖P) of every bump, with their minima and a bump of one's own."""
    own = fit_of(fit.p, fit.x, own_mean, own_width)
    return Shown(kl_maps_figure(fit, own, height=340), (kl_minima(fit), own_bump(own)))


def joint(table: Sequence[Sequence[float]]) -> Shown:
    """Mutual information of a table of two variables, three ways."""
    result = joint_information(np.array(table))
    return Shown(overlap_figure(result, height=220), (shared_information(result), three_ways(result)))


def letters(counts: Int[ndarray, "4 4"], apart: int) -> Shown:
    """What a character of a text tells about the one so many places after it."""
    result = joint_information(counts / counts.sum())
    findings = (shared_information(result), three_ways(result), pair_count(counts, apart))
    return Shown(overlap_figure(result, height=220), findings)


def cells(table: Float[ndarray, "x y"], rows: Sequence[str], columns: Sequence[str]) -> Shown:
    """What each cell of a table adds to the mutual information."""
    result = joint_information(table)
    figure = cell_terms_figure(result, tick_labels(rows), tick_labels(columns), height=260)
    return Shown(figure, (cell_sum(result),))


def one_token(p: float, share: float, others: float) -> Shown:
    """The loss of one token against the probability of the right one."""
    return Shown(token_loss_figure(p, height=330), (loss_of_token(p), loss_of_mixture(p, share, others)))


def every_text(models: Sequence[str], text: str) -> dict[str, TextBits]:
    """What each token of a text costs each of several models."""
    return {name: text_bits(*load(name), text) for name in models}


def text(every: Mapping[str, TextBits], peers: Sequence[Coder], chosen: str) -> Shown:
    """What a text costs a model, token by token, in bits; beside other models and simpler coders."""
    own = every[chosen]
    names = {name: label(name, 40) for name in every}
    figure = adding_up_figure(every, names, chosen, tick_labels(own.tokens), height=330)
    return Shown(figure, (concentration(own), text_cost(own), per_byte(every, peers)))


def coders(every: Mapping[str, TextBits], peers: Sequence[Coder], chosen: str) -> Shown:
    """Bits per byte of a text by every model, and by coders that know no language."""
    found = per_byte(every, peers)
    names = {name: label(name, 40) for name in every}
    return Shown(per_byte_figure(found.coders, names, chosen, height=330), (found,))


def surprise(found: TextBits, prediction: Prediction, at: int) -> Shown:
    """What a model expected in the place of one token of a text."""
    figure = guesses_figure(prediction.probabilities, tick_labels(prediction.tokens), height=200)
    return Shown(figure, (first_guess(prediction), token_surprisal(found, at, prediction.rank)))
