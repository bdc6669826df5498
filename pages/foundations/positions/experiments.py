"""The experiments of the page on positions."""

from tfcore import load
from tfcore.analysis.foundations import beyond_length
from tfcore.analysis.foundations.learned_positions import EVERY, Task, learn_positions
from tfcore.analysis.foundations.ordering import shuffle_experiment
from tfcore.analysis.foundations.position_effects import position_effects
from tfcore.analysis.foundations.position_schemes import linear_biases, rotary_scores, sinusoidal_table
from tfcore.analysis.foundations.position_table import position_table
from tfcore.config import Positions
from tfcore.figures.foundations.beyond_length import beyond_figure
from tfcore.figures.foundations.learned_positions import learned_figure, position_table_figure
from tfcore.figures.foundations.position_effects import weights_figure
from tfcore.figures.foundations.position_scores import differences_figure, reach_figure, rotary_scores_figure
from tfcore.figures.foundations.positions import table_figure
from tfcore.figures.theme import Figure
from tfcore.training.ladder import SHIPPED, read_table


def sinusoidal(length: int, d_model: int, base: float, pair: int, other: int) -> Figure:
    """Sinusoidal positions: every position gets its own mix of waves (arXiv:1706.03762, section 3.5)."""
    result = sinusoidal_table(length, d_model, base)
    for i in (pair, other):
        # Dimensions 2i and 2i + 1 are sine and cosine of one wave.
        print(f"pair {i} repeats after {result.wavelengths[i]:,.1f} positions")

    return table_figure(result, (pair, other))


def learned(task: Task, step: int) -> Figure:
    """Learned positions: the table starts as noise, and what becomes of it depends on the task."""
    # Trains a model of one layer on random tokens, which takes seconds; the seed is always the same.
    run = learn_positions(task)
    for at, loss in zip(run.steps, run.losses, strict=True):
        print(f"step {at:3}: loss {loss:.2f} nats; the best possible is {run.floor:.2f}")

    return learned_figure(run, step // EVERY)


def position_vectors(model_name: str, positions: int, head: int) -> Figure:
    """Learned positions: the table of a trained model, and where it makes a head of the first layer look."""
    model, _ = load(model_name)
    result = position_table(model, positions)
    for k, weight in enumerate(result.back(head)[:4]):
        print(f"{k} tokens back: a weight of {weight:.2f} in the mean over random tokens")
    print("shares of the variance:", *(f"{share:.2f}" for share in result.explained))

    return position_table_figure(result, head)


def rope(d_head: int, base: float, alike: float, moved: int, distance: int) -> Figure:
    """RoPE: a rotated query and key know how far apart they are, and nothing else (arXiv:2104.09864)."""
    # Two random vectors with this cosine, the key at position 0 and again at `moved`.
    result = rotary_scores(d_head, base, alike, moved, distance)
    print(f"q · k at distance {distance}: {result.scores[1, distance]:.3f}")
    print(f"moving both changes it by {result.difference:.1e} at most, over all distances")

    return rotary_scores_figure(result, moved, distance)


def alibi(n_heads: int, head: int, seq: int) -> Figure:
    """ALiBi: every head subtracts its own slope times the distance from its scores (arXiv:2108.12409, section 3)."""
    result = linear_biases(n_heads, head, seq)
    for i, (slope, reach) in enumerate(zip(result.slopes, result.reach, strict=True)):
        print(f"head {i}: slope {slope:.4g}, looks back {reach:.1f} tokens where all q · k are equal")

    return reach_figure(result, head)


def shuffled(words: tuple[str, ...], shuffle: int, is_causal: bool, look: Positions) -> Figure:
    """The shuffle test: without positions a Transformer cannot tell a text from its words in another order."""
    result = shuffle_experiment(words, shuffle, is_causal)
    print("shuffled:", " ".join(words[i] for i in result.permutation))
    for scheme, change in result.largest.items():
        # Rounding alone gives about 1e-6.
        print(f"{scheme}: a word's output changes by up to {change:.1e}")

    return differences_figure(result, look, {scheme: scheme for scheme in result.largest})


def together(model_name: str, text: str, head: int, tokens: int) -> Figure:
    """Every scheme in turn on one head of a trained model, made for RoPE."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[:tokens]
    effects = position_effects(model, ids, head)
    for scheme, effect in effects.items():
        print(f"{scheme}: {effect.previous:.2f} on the token before, {effect.distance:.1f} tokens back on average")

    return weights_figure(effects, {scheme: scheme for scheme in effects}, height=250)


def beyond(names: dict[str, str], rise: bool) -> Figure:
    """Models trained on short texts read long ones: how far each position scheme carries (arXiv:2108.12409)."""
    # One row for each model that `python -m tfcore.training ladder-positions` trained.
    found = beyond_length.beyond(read_table(SHIPPED / "positions.csv"))
    assert found is not None
    for scheme, name in names.items():
        print(f"{name}: {found.rise(scheme):+.3f} nats per token from position {found.trained} to {found.ends[-1]}")

    return beyond_figure(found, names, rise, height=400)
