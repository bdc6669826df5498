"""Views of parts that are ablated or scaled: each alone, and some together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts.boards import board, board_height
from tfcore.inspection.edits import Edit
from tfcore.measures import attribution_patching, knock_outs
from tfcore.measures.answers import answers_of
from tfcore.measures.effect_metric import Quantity, quantity_name
from tfcore.measures.interventions import (
    ABLATIONS,
    Action,
    EditedRun,
    Part,
    columns_of,
    continue_text,
    edits_for,
    effect_between,
    flat_parts,
    part_title,
    parts_of,
    read_parts,
    rows_named,
    run_edited,
    titles_of,
)
from tfcore.measures.knock_outs import LayerEffects
from tfcore.measures.one_text import last_tokens
from tfcore.measures.shared_layers import PlainRun, plain_run
from tfcore.model import Transformer
from tfcore.views.inside import effects
from tfcore.views.inside.changes import described
from tfcore.views.inside.interventions import say
from tfcore.views.inside.interventions.draw import estimate_scatter
from tfcore.views.inside.scale_end import scale_end
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, opened
from tfcore.views.view import View, view

TOKENS = 128  # of a text


@dataclass(frozen=True, slots=True)
class Changes:
    """An edit of some parts of a model.

    Args:
        parts: which ones, as in "2.5 3.ff".
        action: what is done to them.
        factor: of what they write, where they are scaled.
        position: of the one token at which they are edited; None is every token.
    """

    parts: str
    action: Action
    factor: float = 0.0
    position: int | None = None

    def edits(self, model: Transformer, ids: Sequence[int]) -> list[Edit]:
        """The edits of a run on a text."""
        where = None if self.position is None else [self.position]
        return edits_for(model, ids, read_parts(self.parts, model.config), self.action, self.factor, where)

    def words(self, model: Transformer) -> str:
        """The changes in words, as in "head 2.5 zero-ablated"."""
        return described(read_parts(self.parts, model.config), self.action, self.factor)


def _ids(reading: Reading) -> list[int]:
    model, tokenizer = opened(reading.model)
    return last_tokens(model, tokenizer, reading.text, TOKENS, reading.bos).ids


def _plain(reading: Reading) -> PlainRun:
    """A text run without edits, from which edited runs begin: 9 MB of 128 tokens of smollm2."""
    return plain_run(opened(reading.model)[0], _ids(reading))


def _run(reading: Reading, changes: Changes | None) -> EditedRun:
    """A text run under an edit (None: the whole model), for every position: 0.3 MB of 128 tokens of smollm2."""
    model, plain = opened(reading.model)[0], plain_of(reading)
    return run_edited(model, plain, () if changes is None else changes.edits(model, plain.ids))


def _continued(reading: Reading, changes: Changes | None) -> list[int]:
    """The greedy continuation of a text under an edit."""
    model, ids = opened(reading.model)[0], _ids(reading)
    return continue_text(model, ids, [] if changes is None else changes.edits(model, ids), effects.NEW_TOKENS)


def _estimated(reading: Reading, quantity: Quantity, action: Action) -> Float[ndarray, "layer part"]:
    """An estimate of the fall of a quantity when each part alone is ablated, of all at once."""
    return attribution_patching.estimate_effects(opened(reading.model)[0], _ids(reading), quantity, action)


def _exact(reading: Reading, quantity: Quantity, action: Action) -> list[LayerEffects]:
    """The exact fall when each part alone is ablated."""
    return list(knock_outs.knock_out_each(opened(reading.model)[0], _ids(reading), quantity, action))


plain_of = kept(_plain, entries=6)
run_of = kept(_run, entries=32)
continued = kept(_continued, entries=256)
estimated_of = kept(_estimated, entries=128)
exact_of = kept(_exact, entries=64)


@view
def switched(
    reading: Reading,
    quantity: Quantity,
    action: Action,
    parts: str = "",
    *,
    so_far: Sequence[LayerEffects] | None = None,
) -> View:
    """The fall of a quantity when each part of a model alone is ablated: exact effects, and estimates where those are
    not known yet.

    Args:
        reading: the last TOKENS tokens of a text.
        quantity: that is measured.
        action: zero or mean ablation.
        parts: that are marked, as in "2.5 3.ff".
        so_far: exact effects until now; None ablates every part.
    """
    model, tokenizer = opened(reading.model)
    every, chosen = parts_of(model.config), read_parts(parts, model.config)
    by_layer = exact_of(reading, quantity, action) if so_far is None else so_far
    estimate = estimated_of(reading, quantity, action)
    exact = knock_outs.all_effects(by_layer, len(every)) if by_layer else np.full_like(estimate, np.nan)
    values, missing = knock_outs.merged(estimate, exact)
    end = scale_end(values, titles_of(every), least=0.5)
    start = f"{ABLATIONS[action].capitalize()} of each part alone"
    of = quantity_name(quantity, answers_of(model, tokenizer))
    return View(
        key="board",
        title="The board",
        result=(estimate, exact),
        chart=board(
            values,
            columns_of(every),
            f"{ABLATIONS[action]} of %{{text}}: %{{z:+.2f}} {quantity.unit}",
            limit=end.end,
            estimated=missing,
            selected=[(row, layer.index(part)) for row, layer in enumerate(every) for part in chosen if part in layer],
            words=titles_of(every),
            rows=rows_named(model.config),
            height=board_height(len(every)),
        ),
        min_width=350,
        findings=(say.largest_effect(values, every, start, of, quantity.unit), end, say.filled_in(missing)),
        table=lambda: _table(every, estimate, exact),
        formula=(
            r"\begin{gathered}\text{zero: }\;\mathrm{head}_{\ell,h} \to 0 \\ \text{scaling: }\;\mathrm{head}_{\ell,h} "
            r"\to a \cdot \mathrm{head}_{\ell,h} \\ \text{mean: }\; \mathrm{head}_{\ell,h}(i) \to \frac{1}{n} "
            r"\sum_{j} \mathrm{head}_{\ell,h}(j) \\ \text{estimate} = \sum_i \big(x_i - x_i^{ablated}\big) \cdot "
            r"\frac{\partial\, \text{quantity}}{\partial x_i}\end{gathered}"
        ),
        papers=(
            "Zero ablation of single heads: arXiv:1905.10650, section 3.2; mean ablation: arXiv:2211.00593; "
            "attribution patching: arXiv:2310.10348, section 2. The edits belong to one pass of one visitor; the "
            "shared model is never written to."
        ),
        code=(edits_for, knock_outs.knock_out_each, attribution_patching.estimate_effects),
    )


@view
def agreement(
    reading: Reading, quantity: Quantity, action: Action, *, so_far: Sequence[LayerEffects] | None = None
) -> View:
    """Estimated against exact effects of all parts. See switched; so_far must be those of all layers."""
    model = opened(reading.model)[0]
    every = parts_of(model.config)
    estimate = estimated_of(reading, quantity, action)
    by_layer = exact_of(reading, quantity, action) if so_far is None else so_far
    exact = knock_outs.all_effects(by_layer, len(every))
    names = titles_of(every)
    end = scale_end(np.concatenate([estimate, exact]), [*names, *names], least=1e-3).end
    flat, there = flat_parts(every), ~np.isnan(exact)
    near = say.estimate_against_exact(estimate, exact, every, quantity.unit)
    return View(
        key="agreement",
        title="Estimate and exact",
        result=(estimate, exact),
        chart=estimate_scatter(
            estimate[there],
            exact[there],
            [part_title(part) for part in flat],
            [part.kind for part in flat],
            end,
            quantity.unit,
            height=360,
        ),
        min_width=320,
        findings=(say.one_point_a_part(), near),
        described=near,
        note="An estimate follows the slope where the model is; it misses parts that the rest depends on far beyond a "
        "small change.",
        table=lambda: _table(every, estimate, exact),
    )


def _table(
    parts: Sequence[Sequence[Part | None]], estimate: Float[ndarray, "layer part"], exact: Float[ndarray, "layer part"]
) -> pd.DataFrame:
    """Every part with its estimated and its exact effect."""
    there = np.array([[part is not None for part in layer] for layer in parts])
    names = [str(part) for part in flat_parts(parts)]
    return pd.DataFrame({"part": names, "estimate": estimate[there], "exact": exact[there]})


@view
def edited(reading: Reading, changes: Changes, token: int | None = None, against: int | None = None) -> View:
    """The prediction after a text, in the whole model and under an edit.

    Args:
        reading: the last TOKENS tokens of a text.
        changes: the edit.
        token: the one the numbers are about, or the class, by its id; None for the most probable in the whole model.
        against: one whose logit is compared with its.
    """
    model, tokenizer = opened(reading.model)
    ids = _ids(reading)
    effect = effect_between(model, run_of(reading, None), run_of(reading, changes))
    return effects.next_token(
        effect,
        answers_of(model, tokenizer),
        tokenizer.tokens(ids[-1:])[0],
        len(ids) - 1,
        ("whole model", changes.words(model)),
        int(effect.before.argmax()) if token is None else token,
        against,
    )
