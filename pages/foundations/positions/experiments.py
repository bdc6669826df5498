"""The experiments of the page on positions."""

from collections.abc import Mapping

from tfcore.analysis.foundations.learned_positions import (
    EVERY,
    LearnedPositions,
    PositionTable,
    learning,
    table_attention,
)
from tfcore.analysis.foundations.position_effects import (
    LengthLosses,
    SchemeEffect,
    ShuffleResult,
    length_losses,
    mean_distances,
    position_effects,
    shuffle_changes,
    smallest_and_largest_rise,
)
from tfcore.analysis.foundations.rope_and_alibi import LinearBiases, RotaryScores, head_reach, rotary_products
from tfcore.analysis.foundations.sinusoidal_positions import SinusoidalTable, table_periods
from tfcore.config import Positions
from tfcore.figures.foundations.learned_positions import learned_figure, position_table_figure
from tfcore.figures.foundations.length_extrapolation import length_losses_figure
from tfcore.figures.foundations.position_scores import (
    differences_figure,
    reach_figure,
    rotary_scores_figure,
    scheme_weights_figure,
)
from tfcore.figures.foundations.positions import table_figure
from tfcore.figures.shown import Shown
from tfcore.measures.one_text import first_tokens
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.training import ladder


def sinusoidal(table: SinusoidalTable, pairs: tuple[int, int]) -> Shown:
    """Sinusoidal positions: every position gets its own mix of waves (arXiv:1706.03762, section 3.5)."""
    # Dimensions 2i and 2i + 1 are sine and cosine of one wave.
    return Shown(table_figure(table, pairs), (table_periods(table),))


def learned(run: LearnedPositions, step: int) -> Shown:
    """Learned positions: the table starts as noise, and what becomes of it depends on the task."""
    look = step // EVERY
    return Shown(learned_figure(run, look), (learning(run, look),))


def position_vectors(table: PositionTable, head: int) -> Shown:
    """Learned positions: the table of a trained model, and where it makes a head of the first layer look."""
    findings = (table_attention(table, head), table.scale)
    return Shown(position_table_figure(table, head, height=360), findings)


def rope(scores: RotaryScores, moved: int, distance: int) -> Shown:
    """RoPE: a rotated query and key know how far apart they are, and nothing else (arXiv:2104.09864)."""
    return Shown(rotary_scores_figure(scores, moved, distance), (rotary_products(scores, moved, distance),))


def alibi(biases: LinearBiases, head: int) -> Shown:
    """ALiBi: every head subtracts its own slope times the distance from its scores (arXiv:2108.12409, section 3)."""
    return Shown(reach_figure(biases, head), (head_reach(biases, head),))


def shuffled(result: ShuffleResult, look: Positions, names: Mapping[Positions, str]) -> Shown:
    """The shuffle test: without positions a Transformer cannot tell a text from its words in another order."""
    return Shown(differences_figure(result, look, names), (shuffle_changes(result, names),))


def effects_on(
    model: Transformer, tokenizer: Tokenizer, text: str, tokens: int, head: int
) -> dict[Positions, SchemeEffect]:
    """Every scheme on a head of the first layer, on the first tokens of a text; empty where there are none."""
    ids = first_tokens(model, tokenizer, text, tokens).ids
    return position_effects(model, ids, head) if ids else {}


def together(effects: Mapping[Positions, SchemeEffect], names: Mapping[str, str], head: int) -> Shown:
    """Every scheme in turn on one head of a trained model, made for RoPE or learned positions."""
    return Shown(scheme_weights_figure(effects, names, height=250), (mean_distances(effects, names, head),))


def measured() -> LengthLosses | None:
    """The losses of the models that `python -m tfcore.training ladder-positions` trained; None where there are none."""
    return length_losses(ladder.read_table(ladder.SHIPPED / "positions.csv"))


def beyond(losses: LengthLosses, names: Mapping[str, str], rise: bool) -> Shown:
    """Models trained on short texts read long ones: how far each position scheme carries (arXiv:2108.12409)."""
    return Shown(length_losses_figure(losses, names, rise, height=400), (smallest_and_largest_rise(losses, names),))
