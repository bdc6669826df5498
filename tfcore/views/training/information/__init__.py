"""Information: what a loss measures, in bits; of a coin, of two bumps, of two variables, of a token and of a text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts.guesses import guesses_figure
from tfcore.measures import information, text_loss
from tfcore.measures.text_loss import TextBits, surprisal
from tfcore.measures.token_text import label, tick_labels
from tfcore.views.finding import state
from tfcore.views.kept import kept
from tfcore.views.sources import Source
from tfcore.views.training.information.draw.entropy import areas_figure, outcome_terms_figure, token_loss_figure
from tfcore.views.training.information.draw.kl_fit import WORST, bumps_figure, kl_maps_figure
from tfcore.views.training.information.draw.mutual_information import cell_terms_figure, overlap_figure
from tfcore.views.training.information.draw.text_bits import adding_up_figure, per_byte_figure
from tfcore.views.training.information.measure import compression, entropy, kl_fit, mutual_information, text_bits
from tfcore.views.training.information.measure.entropy import TwoDistributions, compare, token_loss
from tfcore.views.training.information.measure.kl_fit import FittedBump, KLFit, fit_of
from tfcore.views.training.information.measure.mutual_information import KINDS, JointInformation, joint_information
from tfcore.views.training.information.say.entropy import divergence_sums, entropy_numbers, loss_of_token
from tfcore.views.training.information.say.kl_fit import fitted_bumps, kl_minima, own_bump
from tfcore.views.training.information.say.mutual_information import cell_sum, shared_information
from tfcore.views.training.information.say.text_bits import (
    concentration,
    every_coder,
    first_guess,
    least_bits,
    text_cost,
)
from tfcore.views.view import View, view

TOKENS = 128  # of the text that a model goes on from
OUTCOMES = 5  # likeliest tokens that are told apart; all others are one outcome
GUESSES = 6  # tokens that are drawn of what a model predicts
NAME = 40  # characters of a model's name in a picture
ROWS = (1.0, 0.9, 0.5, 0.1, 0.01, 0.001)  # probabilities whose losses stand in a table

shares_of = kept(text_bits.next_shares, entries=64)
fitted = kept(kl_fit.fit_bumps, entries=128)
counted = kept(mutual_information.neighbours, entries=128)
costs = kept(text_loss.text_bits, entries=64)
peers_of = kept(compression.peers, entries=64)
window_of = kept(text_bits.window_of, entries=256)
predicted = kept(text_bits.predict_window, entries=16)  # a pass tells all tokens of a window

# What a model has to know to be offered.
knows_text = kept(text_bits.knows_text, entries=64)


# ---- two distributions ----


@view
def areas(p: Sequence[float], q: Sequence[float], names: Sequence[str]) -> View:
    """Entropy of P, and cross-entropy with a prediction Q, as areas: each outcome as wide as its probability.

    Args:
        p, q: the distributions.
        names: of the outcomes.
    """
    return _areas(p, q, names)


@view
def next_areas(model: Source, text: str, q: Sequence[float]) -> View:
    """How well a guess Q fits what a model expects next: cross-entropy in bits, as areas.

    Args:
        model: a decoder.
        text: that it goes on from, of which it reads the last TOKENS tokens.
        q: probabilities of its OUTCOMES likeliest tokens, and of all others together.
    """
    p, names = shares_of(model, text, TOKENS, OUTCOMES)
    return _areas(p, q, names)


def _areas(p: Sequence[float], q: Sequence[float], names: Sequence[str]) -> View:
    result = compare(np.array(p), np.array(q))
    return View(
        key="areas",
        title="Entropy and cross-entropy",
        result=result,
        chart=areas_figure(result, tick_labels(names), height=300),
        findings=(entropy_numbers(result),),
        note=f"P and Q have shape ({len(names)},).",
        table=lambda: _outcomes(result, names),
        formula=(
            r"\underbrace{-\sum_i p_i \log_2 q_i}_{\text{cross-entropy } H(P, Q)} = "
            r"\underbrace{-\sum_i p_i \log_2 p_i}_{\text{entropy } H(P)} + "
            r"\underbrace{\sum_i p_i \log_2 \frac{p_i}{q_i}}_{\mathrm{KL}(P \,\|\, Q)\; \ge\; 0}"
        ),
        papers="Entropy: Shannon 1948, section 6. Cross-entropy and KL: Cover and Thomas, Elements of Information "
        "Theory, chapter 2. Targets that give every outcome some probability: label smoothing, arXiv:1512.00567, "
        "section 7.",
        code=(information.entropy, information.cross_entropy, information.divergence_terms, information.weighted_logs),
    )


@view
def terms(p: Sequence[float], q: Sequence[float], names: Sequence[str]) -> View:
    """The terms of each outcome in KL(P‖Q) and in KL(Q‖P). See areas."""
    return _terms(p, q, names)


@view
def next_terms(model: Source, text: str, q: Sequence[float]) -> View:
    """The terms of each token in KL(P‖Q) and in KL(Q‖P), where P is what a model expects next. See next_areas."""
    p, names = shares_of(model, text, TOKENS, OUTCOMES)
    return _terms(p, q, names)


def _terms(p: Sequence[float], q: Sequence[float], names: Sequence[str]) -> View:
    result = compare(np.array(p), np.array(q))
    sums = divergence_sums(result)
    weighted = "The same log-ratios of p and q, weighted by P or by Q: that is all the difference. {sums}"
    return View(
        key="terms",
        title="What each outcome adds to KL",
        result=result,
        chart=outcome_terms_figure(result, tick_labels(names), height=230),
        findings=(state("weighted", weighted, sums=sums),),
        described=state("terms", "What each outcome adds: {sums}", sums=sums),
        note="Hatched to the edge: infinite.",
        table=lambda: _outcomes(result, names),
        code=(information.divergence_terms, information.weighted_logs),
    )


def _outcomes(result: TwoDistributions, names: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "outcome": names,
            "p": result.p,
            "q": result.q,
            "adds to KL(P||Q)": result.forward_terms,
            "adds to KL(Q||P)": result.reverse_terms,
        }
    )


# ---- one bump for two ----


@dataclass(frozen=True, slots=True)
class Bumps:
    """Two bumps with those fitted to them, and a bump of one's own."""

    fit: KLFit
    own: FittedBump


def _bumps(distance: float, balance: float, width: float, own_mean: float, own_width: float) -> Bumps:
    fit = fitted(distance, balance, width)
    return Bumps(fit, fit_of(fit.p, fit.x, own_mean, own_width))


@view
def bumps(distance: float, balance: float, width: float, own_mean: float, own_width: float) -> View:
    """One bump fitted to two: the least KL(P‖Q) covers both, the least KL(Q‖P) picks one; and a bump of one's own.

    Args:
        distance: of the two bumps.
        balance: share of the right one.
        width: standard deviation of each.
        own_mean, own_width: of one's own.
    """
    curves = _bumps(distance, balance, width, own_mean, own_width)
    best = fitted_bumps(curves.fit)
    return View(
        key="bumps",
        title="One bump fitted to two",
        result=curves,
        chart=bumps_figure(curves.fit, curves.own, height=330),
        findings=(best,),
        described=state("bumps", "Two bumps, and one fitted to them by each KL. {best}", best=best),
        table=lambda: pd.DataFrame({"x": curves.fit.x, "p": curves.fit.p}),
        formula=(
            r"q_{\text{cover}} = \arg\min_q \mathrm{KL}(P \,\|\, Q) = \arg\min_q \sum_x p \log_2 \tfrac{p}{q}, \qquad "
            r"q_{\text{pick}} = \arg\min_q \mathrm{KL}(Q \,\|\, P) = \arg\min_q \sum_x q \log_2 \tfrac{q}{p}"
        ),
        papers="Mean-seeking and mode-seeking fits: Bishop, Pattern Recognition and Machine Learning, section 10.1.2. "
        "Training on a text minimises KL(P‖Q), with P the text; a student that learns by KL(Q‖P) on what it writes "
        "itself: arXiv:2306.08543, section 2. The grid has 241 points from −12 to 12, and Q is a bump on that grid.",
        code=(kl_fit.divergences, kl_fit.fit_bumps, kl_fit.refined),
    )


@view
def maps(distance: float, balance: float, width: float, own_mean: float, own_width: float) -> View:
    """KL(P‖Q) and KL(Q‖P) of every bump, with their minima and a bump of one's own. See bumps."""
    curves = _bumps(distance, balance, width, own_mean, own_width)
    minima, own = kl_minima(curves.fit), own_bump(curves.own)
    drawn = "Maps of shape (width, mean) = {shape}, in bits, up to {worst}. Rings: the minima. Cross: yours. {minima}"
    return View(
        key="maps",
        title="Maps of both divergences",
        result=curves,
        chart=kl_maps_figure(curves.fit, curves.own, height=340),
        min_width=620,
        findings=(state("minima", drawn, shape=curves.fit.forward.shape, worst=WORST, minima=minima), own),
        described=state("maps", "Maps of both divergences: {minima}", minima=minima),
        table=lambda: _map_rows(curves.fit),
        code=(kl_fit.divergences, kl_fit.fit_bumps),
    )


def _map_rows(result: KLFit) -> pd.DataFrame:
    rows = pd.DataFrame(result.forward, index=result.widths, columns=result.means).stack()
    reverse = pd.DataFrame(result.reverse, index=result.widths, columns=result.means).stack()
    named = pd.DataFrame({"KL(P||Q)": rows, "KL(Q||P)": reverse})
    return named.rename_axis(["width", "mean"]).reset_index()


# ---- two variables ----


@view
def overlap(table: Sequence[Sequence[float]]) -> View:
    """Mutual information of two variables, as what their entropies overlap by.

    Args:
        table: probabilities, a row for each value of X and a column for each of Y.
    """
    values = np.array(table)
    return _overlap(values, [f"x{i + 1}" for i in range(len(values))], [f"y{i + 1}" for i in range(values.shape[1])])


@view
def letter_overlap(text: str, apart: int) -> View:
    """Mutual information of the kinds of characters that stand so many places apart in a text.

    Args:
        text: in any language that vowels are known of.
        apart: characters from X to Y.
    """
    return _overlap(_letters(text, apart), KINDS, KINDS)


def _letters(text: str, apart: int) -> Float[ndarray, "4 4"]:
    counts = counted(text, apart)
    if not counts.any():
        raise ValueError(f"the text has {len(text)} characters; take one of more than {apart}, so that it has a pair")
    return counts / counts.sum()


def _overlap(table: Float[ndarray, "x y"], rows: Sequence[str], columns: Sequence[str]) -> View:
    result = joint_information(table)
    return View(
        key="overlap",
        title="Entropies that overlap",
        result=result,
        chart=overlap_figure(result, height=220),
        findings=(shared_information(result),),
        table=lambda: _cell_rows(result, rows, columns),
        formula=(
            r"I(X; Y) = H(X) + H(Y) - H(X, Y) = H(X) - H(X \mid Y) = "
            r"\sum_{x, y} p(x, y) \log_2 \frac{p(x, y)}{p(x)\,p(y)}"
        ),
        papers="Cover and Thomas, Elements of Information Theory, chapter 2. What a model's layers keep of their input "
        "has been studied by it, with care needed in measuring: arXiv:1703.00810. Counts of a short text overestimate "
        "it a little.",
        code=(joint_information, mutual_information.conditional_entropy),
    )


@view
def cells(table: Sequence[Sequence[float]]) -> View:
    """The term of each cell of a table in the mutual information. See overlap."""
    values = np.array(table)
    return _cells(values, [f"x{i + 1}" for i in range(len(values))], [f"y{i + 1}" for i in range(values.shape[1])])


@view
def letter_cells(text: str, apart: int) -> View:
    """The term of each pair of kinds of characters in the mutual information. See letter_overlap."""
    return _cells(_letters(text, apart), KINDS, KINDS)


def _cells(table: Float[ndarray, "x y"], rows: Sequence[str], columns: Sequence[str]) -> View:
    result = joint_information(table)
    total = cell_sum(result)
    each = "p(x, y) log₂ p(x, y) / p(x) p(y) of each cell, shape (X, Y) = {shape}. {total}"
    return View(
        key="cells",
        title="What each cell adds",
        result=result,
        chart=cell_terms_figure(result, tick_labels(rows), tick_labels(columns), height=260),
        findings=(state("each cell", each, shape=table.shape, total=total),),
        described=state("cells", "What each cell adds to the mutual information. {total}", total=total),
        table=lambda: _cell_rows(result, rows, columns),
        code=(joint_information,),
    )


def _cell_rows(result: JointInformation, rows: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    cells = [(row, column) for row in rows for column in columns]
    parts = {"p": result.table, "p(x) p(y)": result.product, "adds": result.terms}
    return pd.DataFrame(cells, columns=["X", "Y"]).assign(**{name: one.ravel() for name, one in parts.items()})


# ---- one token ----


@view
def one_token(p: float) -> View:
    """The loss of one token against the probability of the right one.

    Args:
        p: that probability, where the mark is.
    """
    finding = loss_of_token(p)
    return View(
        key="loss",
        title="Loss of one token",
        result=finding,
        chart=token_loss_figure(p, height=330),
        min_width=520,
        findings=(finding,),
        described=state("loss", "Loss against the probability of the right token. {finding}", finding=finding),
        note="The loss is unbounded, the gradient is not.",
        table=lambda: pd.DataFrame({"p": ROWS, "bits": [token_loss(row) for row in ROWS]}),
        formula=(
            r"\text{loss} = -\log_2 p_{\text{right}}, \qquad "
            r"\frac{\partial}{\partial x_{\text{right}}} \big(-\ln p_{\text{right}}\big) = p_{\text{right}} - 1, "
            r"\qquad "
            r"\text{perplexity} = 2^{\text{mean loss}}"
        ),
        papers="The loss that language models are trained with is the mean of this over all tokens; arXiv:1706.03762, "
        "table 3, reports its perplexity, per token of its own vocabulary.",
        code=(token_loss, entropy.mixed_loss, information.perplexity, surprisal),
    )


# ---- a text ----


@view
def guesses(model: Source, text: str, at: int) -> View:
    """Guesses of a model in the place of one token of a text.

    Args:
        model: a decoder.
        at: the token's place, from 0 on; a model that reads nothing before a text has no prediction for the first.
    """
    ranked = predicted(model, text, window_of(model, text, at), GUESSES)[at]
    return View(
        key="guesses",
        title="What was expected",
        result=ranked,
        chart=guesses_figure(ranked.probabilities, tick_labels(ranked.tokens), height=200),
        findings=(first_guess(ranked),),
        table=lambda: pd.DataFrame({"token": ranked.tokens, "probability": ranked.probabilities}),
    )


def _every(models: Sequence[str], text: str) -> dict[str, TextBits]:
    """The bits of a text in each model, but for those whose probabilities are no numbers."""
    costed = {name: costs(name, text) for name in models}
    return {name: one for name, one in costed.items() if np.isfinite(one.bits).all()}


def _names(every: Mapping[str, TextBits]) -> dict[str, str]:
    return {name: label(name, NAME) for name in every}


@view
def adding_up(models: Sequence[str], text: str) -> View:
    """The bits of each token of a text, by each of several models.

    Args:
        models: names of decoders, the first of them the one whose tokens are looked at.
    """
    every, chosen = _every(models, text), models[0]
    own = every[chosen]
    half = concentration(own)
    whole = "Bits of the text so far. {half} {cost}"
    return View(
        key="adding",
        title="Adding up",
        result=every,
        chart=adding_up_figure(every, _names(every), chosen, tick_labels(own.tokens), height=330),
        findings=(half,),
        described=state("adding up", whole, half=half, cost=text_cost(own)),
        note=f"Shape (token,) = {own.bits.shape}.",
        table=lambda: pd.DataFrame({"token": own.tokens, "bytes": own.sizes, "bits": own.bits}),
        formula=(
            r"\text{bits}_t = -\log_2 p(x_t \mid x_{<t}), \qquad "
            r"\text{perplexity} = 2^{\frac{1}{T}\sum_t \text{bits}_t}, \qquad "
            r"\text{bits per byte} = \tfrac{1}{B}\sum_t \text{bits}_t"
        ),
        papers="A model with an arithmetic coder is a compressor, and the other way round: arXiv:2309.10668, section "
        "2, which also counts the weights. English predicted by people: about 0.6 to 1.3 bits per letter (Shannon "
        "1951). Left out are encoders, which see the tokens on both sides of a mask, so that their probabilities do "
        "not multiply to that of the text; encoder-decoders, whose probability is that of an output given an input; "
        "and models without a text tokenizer.",
        code=(text_loss.text_bits, text_loss.framed, surprisal, compression.peers),
    )


@view
def per_byte(models: Sequence[str], text: str) -> View:
    """Bits per byte of a text by every model, and by coders that know no language. See adding_up."""
    every = _every(models, text)
    coded = compression.per_byte(every, peers_of(text))
    rows = [{"who": one.name, "bits per byte": one.per_byte, "how": one.how} for one in coded.coders]
    return View(
        key="everyone",
        title="The same text, every model",
        result=coded,
        chart=per_byte_figure(coded.coders, _names(every), models[0], height=330),
        min_width=330,
        findings=(least_bits(coded),),
        described=every_coder(coded),
        note="8 is a uniform guess. The table of “byte counts” is not counted.",
        table=lambda: pd.DataFrame(rows),
        code=(text_loss.text_bits, compression.peers),
    )
