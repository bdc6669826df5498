"""Positions that are added to embeddings: sinusoidal vectors, and learned ones."""

import pandas as pd

from tfcore import positions
from tfcore.views.finding import state
from tfcore.views.foundations.positions import say
from tfcore.views.foundations.positions.draw import learned as learned_charts
from tfcore.views.foundations.positions.draw import sinusoidal as charts
from tfcore.views.foundations.positions.measure.learned import EVERY, Task, draw_batch, learn_positions, position_table
from tfcore.views.foundations.positions.measure.sinusoidal import shifted_products, sinusoidal_shift, sinusoidal_table
from tfcore.views.foundations.positions.measure.sinusoidal import wavelengths as wavelengths_of
from tfcore.views.kept import kept
from tfcore.views.sources import Source, name_of
from tfcore.views.view import View, view

FORMULA = r"x_p = E[\mathrm{token}_p] + P[p], \qquad P \in \mathbb{R}^{n_{max} \times d} \text{ trained}"
PAPERS = "Learned positions: arXiv:1705.03122, section 3.1; used by BERT (arXiv:1810.04805) and GPT-2."

table_of = kept(sinusoidal_table, entries=32)
products_of = kept(shifted_products, entries=32)
shift_of = kept(sinusoidal_shift, entries=32)
learn = kept(learn_positions, entries=4)
vectors_of = kept(position_table, entries=8)


# ---- sinusoidal ----


@view
def sinusoidal(length: int, d_model: int, base: float, pairs: tuple[int, int]) -> View:
    """Sinusoidal positions: every position gets its own mix of waves (arXiv:1706.03762, section 3.5).

    Args:
        length: positions.
        d_model: width of a vector; dimensions 2i and 2i + 1 are sine and cosine of one wave.
        base: of the wavelengths.
        pairs: two pairs i of dimensions to frame.
    """
    table = table_of(length, d_model, base)
    first, second = pairs
    return View(
        key="table",
        title="Sinusoidal position vectors",
        result=table,
        chart=charts.table_figure(table, pairs, height=420),
        described=say.table_periods(table),
        note=f"Shape ({length}, {d_model}). One row is what is added to the token at that position; the framed columns "
        f"are the pairs {first} and {second}.",
        table=lambda: pd.DataFrame(table.table),
        formula=r"PE(p, 2i) = \sin\!\big(p / b^{2i/d}\big) \qquad PE(p, 2i{+}1) = \cos\!\big(p / b^{2i/d}\big)",
        papers="Attention Is All You Need, section 3.5, arXiv:1706.03762",
        code=(positions.sinusoidal, positions.shift_matrix),
    )


@view
def curves(length: int, d_model: int, base: float, pairs: tuple[int, int]) -> View:
    """Two pairs of dimensions of sinusoidal positions as waves. See sinusoidal."""
    table = table_of(length, d_model, base)
    periods = say.pair_periods(table, pairs)
    dimensions = [d for pair in pairs for d in (2 * pair, 2 * pair + 1)]
    return View(
        key="curves",
        title="Two pairs of dimensions",
        result=table,
        chart=charts.pair_curves_figure(table, pairs, height=280),
        findings=(periods,),
        described=state("curves", "Sine and cosine. {periods}", periods=periods),
        table=lambda: pd.DataFrame({f"dimension {d}": table.table[:, d] for d in dimensions}),
    )


@view
def wavelengths(d: int, base: float, marked: tuple[int, ...] = ()) -> View:
    """The wavelengths of sinusoidal positions, which RoPE shares: positions per full turn of every pair of dimensions.

    Args:
        d: dimensions, two a pair.
        base: of the wavelengths.
        marked: pairs to mark, two at most.
    """
    waves = wavelengths_of(d, base)
    finding = say.wavelength_range(waves)
    return View(
        key="wavelengths",
        title="Wavelengths",
        result=waves,
        chart=charts.wavelengths_figure(waves, base, marked, height=280),
        findings=(finding,),
        described=state("line", "A straight line on a logarithmic axis: {finding}", finding=finding),
        table=lambda: pd.DataFrame({"pair": range(len(waves)), "wavelength": waves}),
    )


@view
def products(length: int, d_model: int, base: float, k: int, start: int) -> View:
    """Products of sinusoidal position vectors: they depend on the distance alone, wherever one starts.

    Args:
        length, d_model, base: see sinusoidal.
        k: the distance that is marked.
        start: position to start from, beside 0.
    """
    products_ = products_of(length, d_model, base, start)
    return View(
        key="products",
        title="Products by distance",
        result=products_,
        chart=charts.products_figure(products_, k, start, height=340),
        findings=(say.shift_products(products_, k, start),),
        table=lambda: pd.DataFrame(products_.products.T, columns=["from 0", "from p"]),
    )


@view
def shift(length: int, d_model: int, base: float, k: int) -> View:
    """The matrix that moves every sinusoidal position vector on by k: rotations of 2 by 2 along the diagonal.

    Args:
        length, d_model, base: see sinusoidal.
        k: positions to move on.
    """
    shifted = shift_of(length, d_model, base, k)
    part = f"; the first {charts.BLOCKS} rows and columns." if d_model > charts.BLOCKS else "."
    return View(
        key="shift",
        title="The matrix that moves on",
        result=shifted,
        chart=charts.shift_figure(shifted, height=340),
        described=say.shift_error(shifted, k, length),
        note=f"M_k, shape ({d_model}, {d_model}){part}",
        table=lambda: pd.DataFrame(shifted.matrix),
    )


# ---- learned ----


@view
def learned(task: Task, step: int) -> View:
    """Learned positions: the table starts as noise, and what becomes of it depends on the task.

    Args:
        task: what a one-layer model is trained for.
        step: training steps done, a multiple of EVERY.
    """
    run, look = learn(task), step // EVERY
    finding = say.learning(run, look)
    return View(
        key="learned",
        title="Learned position vectors",
        result=run,
        chart=learned_charts.learned_figure(run, look, height=360),
        min_width=720,
        findings=(finding,),
        described=state("learned", "Position vectors, their cosines and attention. {finding}", finding=finding),
        table=lambda: pd.DataFrame(run.tables[look]),
        formula=FORMULA,
        papers=PAPERS,
        code=(learn_positions, draw_batch),
    )


@view
def position_vectors(model: Source, n: int, head: int) -> View:
    """Learned positions: the table of a trained model, and where it makes a head of the first layer look.

    Args:
        model: with learned positions, and with one stack.
        n: positions.
        head: of the first layer.
    """
    table = vectors_of(model, n)
    finding = state("model", "{model}. {attention}", model=name_of(model), attention=say.table_attention(table, head))
    return View(
        key="position_table",
        title="The position vectors of a model",
        result=table,
        chart=learned_charts.position_table_figure(table, head, height=360),
        min_width=720,
        findings=(finding, say.vector_scale(table)),
        table=lambda: pd.DataFrame(table.table),
        formula=FORMULA,
        papers=PAPERS,
        code=(position_table,),
    )


@view
def components(model: Source, n: int) -> View:
    """All position vectors of a model, along the directions in which they vary most. See position_vectors."""
    table = vectors_of(model, n)
    return View(
        key="waves",
        title="Principal components",
        result=table,
        chart=learned_charts.waves_figure(table, height=280),
        findings=(say.component_share(table),),
        table=lambda: pd.DataFrame(table.waves),
    )
