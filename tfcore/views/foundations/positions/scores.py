"""Positions that act on scores: RoPE rotates queries and keys, ALiBi subtracts a bias."""

import pandas as pd

from tfcore import positions
from tfcore.views.finding import state
from tfcore.views.foundations.positions import say
from tfcore.views.foundations.positions.draw import scores as charts
from tfcore.views.foundations.positions.measure.scores import linear_biases, rotary_scores
from tfcore.views.foundations.positions.measure.scores import two_bases as measure_bases
from tfcore.views.kept import kept
from tfcore.views.view import View, view

rotary_of = kept(rotary_scores, entries=64)
bases_of = kept(measure_bases, entries=64)
biases_of = kept(linear_biases, entries=64)


# ---- RoPE ----


@view
def rotary_pairs(d_head: int, base: float, alike: float, moved: int, distance: int) -> View:
    """RoPE: pairs of dimensions of a query and a key as arrows, rotated to where they stand. See rope."""
    rotated = rotary_of(d_head, base, alike, moved, distance)
    return View(
        key="pairs",
        title="Pairs of dimensions",
        result=rotated,
        chart=charts.rotary_pairs_figure(rotated, height=400),
        min_width=480,
        findings=(say.rotary_pairs(rotated, moved, distance),),
        note="In bold: the share of q · k.",
        table=lambda: pd.DataFrame({"pair": rotated.pairs, "share": rotated.products}),
        formula=r"(R_m q)\cdot(R_n k) = q \cdot R_{n-m}\, k, \qquad \theta_i = b^{-2i/d_{head}}",
        papers=(
            "RoFormer, arXiv:2104.09864, sections 3.2 and 3.4.3. Pairs: (i, i + d/2) as in LLaMA; in the paper (2i, 2i "
            "+ 1)"
        ),
        code=(positions.apply_rope, rotary_scores),
    )


@view
def rope(d_head: int, base: float, alike: float, moved: int, distance: int) -> View:
    """RoPE: a rotated query and key know how far apart they are, and nothing else (arXiv:2104.09864).

    Args:
        d_head: width of the head.
        base: of the frequencies.
        alike: cosine between query and key before they are rotated.
        moved: position of the key.
        distance: of the query, after it.
    """
    rotated = rotary_of(d_head, base, alike, moved, distance)
    return View(
        key="scores",
        title="Products by distance",
        result=rotated,
        chart=charts.rotary_scores_figure(rotated, moved, distance, height=280),
        findings=(say.rotary_products(rotated, moved, distance),),
        note="The vectors are random, drawn with seed 0 and bent to the chosen cosine.",
        table=lambda: pd.DataFrame(rotated.scores.T, columns=["key at 0", "moved"]),
    )


@view
def two_bases(d_head: int, base: float, wide: float) -> View:
    """RoPE with two bases in one model: layers with a window keep the usual one, layers without have a larger one.

    Args:
        d_head: width of the head.
        base: of the layers with a window.
        wide: of the layers that see the whole text.
    """
    both = bases_of(d_head, (base, wide))
    return View(
        key="bases",
        title="Two bases in one model",
        result=both,
        chart=charts.two_bases_figure(both, height=260),
        findings=(say.base_halves(both),),
        note="Gemma 3: 10,000 in layers with a window, 1,000,000 in the others.",
        table=lambda: pd.DataFrame(both.left.T, both.distances, [f"base {one:g}" for one in both.bases]).reset_index(
            names="distance"
        ),
        formula=(
            r"\frac{\mathbb{E}\,[R_m q \cdot k]}{q \cdot k} = \frac{2}{d_{head}} \sum_i \cos(m\,b^{-2i/d_{head}})"
        ),
        papers="Two bases: Gemma 3, arXiv:2503.19786. The fall: RoFormer, arXiv:2104.09864, section 3.4.3.",
        code=(measure_bases,),
    )


# ---- ALiBi ----


@view
def bias(n_heads: int, head: int, seq: int) -> View:
    """ALiBi: the biases of one head. See alibi."""
    biases = biases_of(n_heads, head, seq)
    return View(
        key="bias",
        title="The biases of a head",
        result=biases,
        chart=charts.bias_figure(biases, height=360),
        cursor=True,
        findings=(say.head_bias(biases, head),),
        note=f"Shape ({seq}, {seq}). Grey: blocked.",
        table=lambda: pd.DataFrame(biases.bias),
        formula=(
            r"\mathrm{score}_{ij} = \frac{q_i \cdot k_j}{\sqrt{d_{head}}} - m_h\,(i - j), \qquad "
            r"m_h = 2^{-8h/n},\; h = 1 \ldots n"
        ),
        papers="Train Short, Test Long, section 3, arXiv:2108.12409",
        code=(positions.alibi_slopes, positions.alibi_bias),
    )


@view
def alibi(n_heads: int, head: int, seq: int) -> View:
    """ALiBi: every head subtracts its own slope times the distance from its scores (arXiv:2108.12409, section 3).

    Args:
        n_heads: of the layer.
        head: the one to show.
        seq: length in tokens.
    """
    biases = biases_of(n_heads, head, seq)
    reach = say.head_reach(biases, head)
    return View(
        key="reach",
        title="Attention by distance",
        result=biases,
        chart=charts.reach_figure(biases, head, height=360),
        findings=(reach,),
        described=state("weights", "Attention weights that the biases alone would give. {reach}", reach=reach),
        table=lambda: pd.DataFrame(biases.weights.T, columns=[f"head {h}" for h in range(n_heads)]),
    )


@view
def slopes(n_heads: int, head: int, seq: int) -> View:
    """ALiBi: the slope of every head. See alibi."""
    biases = biases_of(n_heads, head, seq)
    both = say.slope_range(biases)
    return View(
        key="slopes",
        title="The slopes of all heads",
        result=biases,
        chart=charts.slopes_figure(biases, head, height=250),
        findings=(both,),
        described=state("axis", "On a logarithmic axis: {slopes}", slopes=both),
        table=lambda: pd.DataFrame({"head": range(n_heads), "slope": biases.slopes, "mean distance": biases.reach}),
    )
