"""Views of one attention score: why a head looks at a token."""

from tfcore.measures.token_text import label
from tfcore.views.foundations.heads import say
from tfcore.views.foundations.heads.draw.score_parts import PAIRS_WIDTH, WIDTH, pairs_figure, score_matrix
from tfcore.views.foundations.heads.measure.score_parts import parts_of_score, score_parts
from tfcore.views.foundations.heads.measure.score_table import largest_pairs, parts_table, score_table
from tfcore.views.foundations.heads.measure.score_writers import written
from tfcore.views.sources import Reading
from tfcore.views.view import View, view


@view
def why(reading: Reading, layer: int, head: int, query: int, key: int, against: int | None = None) -> View:
    """Why a head attends to a key: its score as a matrix of writers, norms held fixed (arXiv:2211.00593, 3.1).

    Args:
        query, key: positions.
        against: another key, whose score is taken away.
    """
    parts = parts_of_score(reading, layer, head, query, key, against)
    names = label(parts.queries[query], 14), label(parts.keys[key], 14)
    return View(
        key="why",
        title="What wrote at the query by what wrote at the key",
        result=parts,
        chart=score_matrix(score_table(parts), *names),
        min_width=WIDTH,
        cursor=True,
        findings=(say.score_sum(parts), say.strongest_writers(parts)),
        table=lambda: parts_table(parts),
        formula=(
            r"s_{qk} = \sum_{i,j} \frac{\langle R_q W_Q a_i,\; R_k W_K b_j \rangle}{\sqrt{d_{head}}} + b_{qk}, \qquad "
            r"\mathrm{norm}(x_q) = \sum_i a_i, \quad \mathrm{norm}(x_k) = \sum_j b_j"
        ),
        papers="QK circuit and composition: Elhage et al. 2021, transformer-circuits.pub/2021/framework; the norm held "
        "fixed: arXiv:2211.00593, section 3.1; rotation: arXiv:2104.09864, equation 34.",
        terms=("attention head", "induction head"),
        code=(score_parts, written),
    )


@view
def pairs(reading: Reading, layer: int, head: int, query: int, key: int, against: int | None = None) -> View:
    """The ten pairs of writers with the largest parts of a score, and the sum of all others. See why."""
    parts = parts_of_score(reading, layer, head, query, key, against)
    largest = largest_pairs(parts)
    return View(
        key="pairs",
        title="The largest pairs",
        result=largest,
        chart=pairs_figure(largest, parts.bias),
        min_width=PAIRS_WIDTH,
        described=say.pairs(largest),
        note="The ten largest pairs, query × key, and all others together.",
        table=lambda: parts_table(parts),
    )
