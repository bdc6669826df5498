"""The experiments of the page on induction heads."""

import math
from collections.abc import Sequence

from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.inside.circuits import (
    PatchedRun,
    drawn_pairs,
    highest_composition,
    patch_paths,
    patched_losses,
    places_of_drawn,
)
from tfcore.analysis.inside.induction_findings import (
    best_induction_head,
    copy_losses,
    highest_scores,
    induction_stripe,
    rank_of_head,
)
from tfcore.analysis.inside.phase_change import best_heads, in_context, loss_fall, moment_losses
from tfcore.figures.inside.circuits import head_tests_figure, path_patching_figure, strips_figure
from tfcore.figures.inside.induction_heads import head_grid, losses_figure, scale_end
from tfcore.figures.inside.phase_change import course_figure, loss_by_position_figure, maps_figure
from tfcore.figures.shown import Shown
from tfcore.figures.tokens import token_heatmap
from tfcore.measures.heads.compositions import Composition
from tfcore.measures.heads.induction_heads import (
    Copying,
    HeadTests,
    Place,
    copying,
    evaluated_tokens,
    random_rows,
    rows_for,
    twice,
)
from tfcore.measures.heads.induction_moments import Moment, places
from tfcore.measures.one_text import first_tokens, one_text
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.training.growing import GrowConfig, grow


def on_random_tokens(model: Transformer, length: int, rows: int, seed: int, off: tuple[Place, ...]) -> Copying:
    """A model on repeated random tokens (arXiv:2209.11895), with the heads in `off` ablated."""
    return copying(model, twice(random_rows(model.config.vocab_size, length, rows, seed)), length, off)


def on_text(
    model: Transformer, tokenizer: Tokenizer, text: str, limit: int, length: int, off: tuple[Place, ...]
) -> Copying:
    """A model on a text, with the heads in `off` ablated: its first `length` tokens twice, or (0) the text as it is."""
    ids = one_text(model, first_tokens(model, tokenizer, text, limit).ids)
    return copying(model, twice(ids[:, :length]) if length else ids, length or None, off)


def losses(
    tokenizer: Tokenizer, whole: Copying, cut: Copying | None, off: tuple[Place, ...], copies: bool, vocab_size: int
) -> Shown:
    """The loss of every token of a text that repeats, by the whole model and without some heads."""
    labels = tick_labels(tokenizer.tokens(whole.ids.tolist()))
    figure = losses_figure(whole, cut, labels, math.log(vocab_size), height=300)
    return Shown(figure, (copy_losses(whole, cut, off, copies),))


def stripe(tokenizer: Tokenizer, now: Copying, head: Place, off: Sequence[Place]) -> Shown:
    """The attention pattern of one head on a text that repeats."""
    labels = tick_labels(tokenizer.tokens(now.ids.tolist()))
    figure = token_heatmap(now.patterns[head], labels, height=520, bar=False)
    return Shown(figure, (induction_stripe(now, head, off),))


def scores(values: Float[ndarray, "layer head"], kind: str, name: str, head: Place, off: Sequence[Place]) -> Shown:
    """A number for every head; the one that is looked at is framed, those ablated are crossed out."""
    height = min(420, max(170, 46 * len(values) + 60))
    figure = head_grid(values, head, off, name, scale_end(values, kind != "alone"), height)
    return Shown(figure, (highest_scores(values, kind),))


def circuit(model: Transformer, result: Composition, layer: int, senders: list[Place], receivers: list[Place]) -> Shown:
    """Which heads read what earlier heads wrote: composition scores of their matrices (after arXiv:2209.11895)."""
    figure = strips_figure(result, layer, senders, receivers, places_of_drawn(result), height=420)
    found = highest_composition(result, layer, model.config.d_model), drawn_pairs(result.scores["key"].size)
    return Shown(figure, tuple(one for one in found if one is not None))


def patched_runs(
    model: Transformer, length: int, seed: int, senders: tuple[Place, ...], receivers: tuple[Place, ...]
) -> list[PatchedRun]:
    """Path patching on repeated random tokens."""
    ids = twice(random_rows(model.config.vocab_size, length, rows_for(model.config), seed))
    return patch_paths(model, ids, length, senders, receivers)


def path_patching(
    model: Transformer, runs: list[PatchedRun], senders: tuple[Place, ...], receivers: tuple[Place, ...]
) -> Shown:
    """Path patching: do queries, keys or values need what previous-token heads wrote? (arXiv:2304.05969)"""
    figure = path_patching_figure(runs, math.log(model.config.vocab_size), height=320)
    return Shown(figure, (patched_losses(runs, senders, receivers),))


def head_tests(model: Transformer, result: HeadTests, induction: list[Place], by_rank: bool) -> Shown:
    """Prefix matching against copying, for every head (arXiv:2209.11895), by their scores or by rank."""
    tokens = evaluated_tokens(model.config)
    figure = head_tests_figure(result, induction, tokens, height=320, by_rank=by_rank)
    found = best_induction_head(result, induction, tokens), rank_of_head(result, induction, tokens)
    return Shown(figure, tuple(one for one in found if one is not None))


def maps(now: Moment) -> Shown:
    """Attention of every head at one step of the training in which induction heads form."""
    return Shown(maps_figure(now, height=210 * len(now.induction)), (best_heads(now),))


def by_position(now: Moment, start: Moment, vocab_size: int) -> Shown:
    """The loss of each token of a text at one step of a training, and at its start."""
    early, late = places(len(now.by_place) + 1)
    figure = loss_by_position_figure(now, start, early, late, math.log(vocab_size), height=340)
    return Shown(figure, (in_context(now),))


def trained(config: GrowConfig) -> list[Moment]:
    """A small model in training, measured every few steps."""
    return [moment for moment in grow(config) if moment is not None]


def course(moments: list[Moment], at: int, steps: int, vocab_size: int, log: bool) -> Shown:
    """A small model in training: with two layers induction heads form, with one they cannot."""
    figure = course_figure(moments, at, steps, loss_fall(moments), math.log(vocab_size), height=430, log=log)
    return Shown(figure, (moment_losses(moments, at, vocab_size),))
