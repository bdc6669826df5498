"""Views of why scores are divided by sqrt(d_k): random queries and keys of many widths, and theory over them.

Args of all of them:
    at: which of WIDTHS is chosen.
    seed: of the draw.
"""

from typing import Any

import pandas as pd

from tfcore.charts.theme import Figure
from tfcore.measures.product_spread import ProductSpread, product_spread, products_by_width
from tfcore.views.finding import state
from tfcore.views.foundations.attention.draw.scale import (
    curve_figure,
    entropy_figure,
    gradient_figure,
    largest_figure,
    products_figure,
    variance_figure,
)
from tfcore.views.foundations.attention.measure.scale import (
    Quantity,
    Saturation,
    gradient_theory,
    measured_jacobian,
    saturation,
    softmax_jacobian,
)
from tfcore.views.foundations.attention.say import product_variance, saturation_means, theory_at, variance_by_width
from tfcore.views.kept import kept
from tfcore.views.view import View, view

SAMPLES = 2_000  # pairs of vectors

spread_of = kept(product_spread, entries=8)
saturation_of = kept(saturation, entries=16)
theory_of = kept(gradient_theory, entries=64)


# ---- products ----


@view
def products(at: int, seed: int = 0) -> View:
    """The distribution of q · k at one width, beside the normal distribution of the same variance."""
    return _histogram("products False", "Products", at, seed, divided=False)


@view
def divided_products(at: int, seed: int = 0) -> View:
    """The distribution of q · k divided by the square root of d_k, beside the normal distribution of variance 1."""
    return _histogram("products True", "Products divided by √d_k", at, seed, divided=True)


def _histogram(key: str, title: str, at: int, seed: int, *, divided: bool) -> View:
    spread = spread_of(SAMPLES, seed)
    said = product_variance(spread, at, divided=divided)
    return View(
        key=key,
        title=title,
        result=said,
        chart=products_figure(spread, at, scaled=divided),
        described=state(
            "histogram", "Histogram with the normal curve of the variance in theory over it: {variance}", variance=said
        ),
        findings=(said,),
        table=lambda: _bins(spread, at, divided),
    )


def _bins(spread: ProductSpread, at: int, divided: bool) -> pd.DataFrame:
    """The bins of one histogram, which are kept in units of sqrt(d_k)."""
    unit = 1.0 if divided else float(spread.widths[at]) ** 0.5
    edges = spread.edges * unit
    return pd.DataFrame({"from": edges[:-1], "to": edges[1:], "density": spread.density[at] / unit})


@view
def variance(at: int, seed: int = 0) -> View:
    """Why scores are divided by sqrt(d_k): the variance of q · k grows like d_k (arXiv:1706.03762, footnote 4)."""
    spread = spread_of(SAMPLES, seed)
    said = variance_by_width(spread)
    return View(
        key="variance",
        title="Variance against the width",
        result=spread,
        chart=variance_figure(spread, at),
        described=state(
            "variances",
            "Variance of q · k against d_k from 1 to 1,024 on logarithmic axes, with the line variance = d_k and, "
            "after the division, the line at 1. {measured}",
            measured=said,
        ),
        findings=(said,),
        table=lambda: pd.DataFrame(
            {
                "d_k": spread.widths,
                "variance": spread.variance,
                "divided": spread.variance / spread.widths,
                "kurtosis": spread.kurtosis,
            }
        ),
        papers="Attention Is All You Need, section 3.2.1 and footnote 4, arXiv:1706.03762. The first d_k numbers of "
        "the same vectors serve every d_k.",
        code=(product_spread, products_by_width),
    )


# ---- the softmax and its gradient ----


@view
def entropy(at: int, n_keys: int, seed: int = 0) -> View:
    """The entropy of attention weights against the width, with scores that are divided and not."""
    saturated = saturation_of(n_keys, seed)
    return _quantity(
        "entropy", "Entropy", saturated, at, entropy_figure(saturated, at), note="Bands: 10 to 90 % of them."
    )


@view
def largest(at: int, n_keys: int, seed: int = 0) -> View:
    """The largest attention weight against the width, with scores that are divided and not."""
    saturated = saturation_of(n_keys, seed)
    return _quantity("largest", "Largest weight", saturated, at, largest_figure(saturated, at))


@view
def slopes(at: int, n_keys: int, seed: int = 0) -> View:
    """The steepest slope of the softmax against its largest weight p, over the line p (1 − p)."""
    saturated = saturation_of(n_keys, seed)
    values = {"largest weight": saturated.largest, "steepest": saturated.steepest}
    rows = {f"{name}{end}": values[name][i, at] for name in values for i, end in enumerate(("", ", divided"))}
    return _quantity(
        "steepest",
        "Steepest slope",
        saturated,
        at,
        curve_figure(saturated, at),
        key="curve",
        note="The line is p (1 − p).",
        table=lambda: pd.DataFrame(rows),
    )


@view
def gradient(at: int, n_keys: int, seed: int = 0) -> View:
    """Large scores saturate the softmax: without the division its gradient falls towards 0."""
    saturated, theory = saturation_of(n_keys, seed), theory_of(n_keys)
    measured, known = saturation_means(saturated, "gradient", at), theory_at(theory, int(saturated.widths[at]))
    return _quantity(
        "gradient",
        "Norm of the gradient",
        saturated,
        at,
        gradient_figure(saturated, theory, at),
        described=state("gradient", "{measured} {known}", measured=measured, known=known),
        findings=(measured, known),
        papers="Attention Is All You Need, section 3.2.1, arXiv:1706.03762. The marks are measured by automatic "
        "differentiation of torch's softmax; lines are theory.",
        code=(saturation, softmax_jacobian, measured_jacobian, gradient_theory),
    )


def _quantity(quantity: Quantity, title: str, saturated: Saturation, at: int, chart: Figure, **more: Any) -> View:
    usual = {
        "key": quantity,
        "findings": (saturation_means(saturated, quantity, at),),
        "table": lambda: _means(saturated),
    }
    return View(**{"title": title, "result": saturated, "chart": chart, **usual, **more})


def _means(saturated: Saturation) -> pd.DataFrame:
    """The means behind the figures against d_k, without and with the division."""
    columns = {"d_k": saturated.widths}
    for name, values in (
        ("entropy", saturated.entropy),
        ("largest weight", saturated.largest),
        ("norm", saturated.gradient),
    ):
        columns |= {name: values[0].mean(-1), f"{name}, divided": values[1].mean(-1)}
    return pd.DataFrame(columns)
