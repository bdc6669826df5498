"""The experiments of the page on interventions."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.attribution_patching import EstimatedShares, estimate_against_exact, estimated_shares
from tfcore.analysis.inside.input_attribution import (
    Constant,
    InputAttribution,
    Occlusion,
    attribute_inputs,
    completeness,
    known_so_far,
    method_agreement,
    removed,
)
from tfcore.analysis.inside.interventions import prediction_change
from tfcore.analysis.inside.knock_outs import filled_in, largest_effect
from tfcore.analysis.inside.patching import (
    Kind,
    Pair,
    PatchedColumns,
    all_shares,
    known_shares,
    pair,
    patch,
    patch_each,
    patched_names,
    patched_shares,
    patched_title,
    patched_words,
)
from tfcore.analysis.inside.prompt_means import board_means, board_names, largest_means, part_values, set_metric
from tfcore.analysis.inside.prompt_sets import (
    ExactEffects,
    Paired,
    PromptEffects,
    exact_patches,
    measure_set,
    pair_prompts,
)
from tfcore.analysis.inside.prompt_tables import read_prompts
from tfcore.analysis.scale_end import scale_end
from tfcore.charts.boards import board, board_height
from tfcore.charts.part_by_token import part_by_token
from tfcore.figures.inside.input_attribution import attribution_bars
from tfcore.figures.inside.interventions import estimate_scatter, rows_height
from tfcore.figures.inside.prompt_sets import dots_height, interval_dots
from tfcore.figures.shown import Shown
from tfcore.measures.attribution_patching import estimate_effects
from tfcore.measures.effect_metric import Quantity, quantity_name
from tfcore.measures.interventions import (
    ABLATIONS,
    Action,
    Effect,
    continue_text,
    edits_for,
    effect,
    part_title,
    parts_of,
    read_parts,
)
from tfcore.measures.knock_outs import LayerEffects, all_effects, knock_out_each, merged
from tfcore.measures.one_text import FirstTokens, first_tokens
from tfcore.measures.token_text import label, tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def estimated(
    model: Transformer,
    tokenizer: Tokenizer,
    text: str,
    limit: int,
    quantity: Quantity,
    action: Action,
    bos: bool | None = None,
) -> Float[ndarray, "layer part"]:
    """An estimate of the fall of a quantity when each part of a model alone is ablated, of all at once."""
    return estimate_effects(model, first_tokens(model, tokenizer, text, limit, bos).ids, quantity, action)


def by_layer(
    model: Transformer,
    tokenizer: Tokenizer,
    text: str,
    limit: int,
    quantity: Quantity,
    action: Action,
    bos: bool | None = None,
) -> Iterator[LayerEffects]:
    """The exact fall when each part alone is ablated, layer by layer."""
    return knock_out_each(model, first_tokens(model, tokenizer, text, limit, bos).ids, quantity, action)


def every_part(
    model: Transformer,
    tokenizer: Tokenizer,
    text: str,
    limit: int,
    quantity: Quantity,
    action: Action,
    bos: bool | None = None,
) -> list[LayerEffects]:
    """The same, of all layers."""
    return list(by_layer(model, tokenizer, text, limit, quantity, action, bos))


def continued(
    model: Transformer,
    tokenizer: Tokenizer,
    text: str,
    limit: int,
    parts: str,
    action: Action,
    factor: float,
    position: int | None,
    new_tokens: int,
    bos: bool | None = None,
) -> list[int]:
    """How the model continues a text under an intervention."""
    ids = first_tokens(model, tokenizer, text, limit, bos).ids
    where = None if position is None else [position]
    edits = edits_for(model, ids, read_parts(parts, model.config), action, factor, where)
    return continue_text(model, ids, edits, new_tokens)


def switched(
    model: Transformer,
    tokenizer: Tokenizer,
    estimate: Float[ndarray, "layer part"],
    found: Sequence[LayerEffects],
    quantity: Quantity,
    alone: Action,
    parts: str,
) -> Shown:
    """What ablating each part of a model alone does: exact effects, and estimates where those are not known yet."""
    every, chosen = parts_of(model.config), read_parts(parts, model.config)
    values, missing = merged(estimate, all_effects(found, len(every)) if found else np.full_like(estimate, np.nan))
    of = quantity_name(quantity, tokenizer)
    end = scale_end(values, [[part_title(part) for part in layer] for layer in every], least=0.5)
    figure = board(
        values,
        ["FF" if part.head is None else str(part.head) for part in every[0]],
        f"{ABLATIONS[alone]} of layer %{{y}}, part %{{text}}: %{{z:+.2f}} {quantity.unit}",
        limit=end.end,
        estimated=missing,
        selected=[(part.layer, every[part.layer].index(part)) for part in chosen],
        height=board_height(len(every)),
    )
    start = f"{ABLATIONS[alone].capitalize()} of each part alone"
    return Shown(figure, (largest_effect(values, every, start, of, quantity.unit), end, filled_in(missing)))


def agreement(
    model: Transformer, estimate: Float[ndarray, "layer part"], found: Sequence[LayerEffects], unit: str
) -> Shown:
    """Estimated against exact effects of all parts."""
    every = parts_of(model.config)
    exact = all_effects(found, len(every))
    names = [[part_title(part) for part in layer] for layer in every]
    both = scale_end(np.concatenate([estimate, exact]), [*names, *names], least=1e-3)
    flat = [part for layer in every for part in layer]
    figure = estimate_scatter(
        estimate.ravel(),
        exact.ravel(),
        [part_title(part) for part in flat],
        [part.head is not None for part in flat],
        both.end,
        unit,
        height=360,
    )
    return Shown(figure, (estimate_against_exact(estimate, exact, every, unit),))


def compared(
    model: Transformer,
    tokenizer: Tokenizer,
    source: str,
    text: str,
    limit: int,
    answers: tuple[int, int] | None = None,
    bos: bool | None = None,
) -> Pair:
    """Two texts with equally many tokens; activations of `source` are patched into the run on `text`."""
    source_ids, ids = (first_tokens(model, tokenizer, one, limit, bos).ids for one in (source, text))
    return pair(model, source_ids, ids, answers)


def every_patch(model: Transformer, both: Pair, kind: Kind) -> list[PatchedColumns]:
    """The share of the logit difference that each patch restores, by activation and position."""
    return list(patch_each(model, both, kind))


def patched_effect(
    model: Transformer, both: Pair, values: Float[Tensor, "1 seq d_model"], name: str, position: int
) -> Effect:
    """What one patch does to the prediction at the end; `values` is the activation in the source's run."""
    return effect(model, both.target, [patch(values, name, position)], len(both.target) - 1)


def patched(
    model: Transformer,
    tokenizer: Tokenizer,
    both: Pair,
    found: list[PatchedColumns],
    estimate: Float[ndarray, "row seq"],
    change: Effect,
    kind: Kind,
    row: int,
    position: int,
) -> Shown:
    """Activations of another text put into the run of this one: which of them carry the difference? `found` are the
    exact shares that are there, from the end; the others are estimates until then."""
    shares, names = known_shares(found, estimate), patched_names(model.config, kind)
    titles = [patched_title(name, kind) for name in names]
    tokens = tokenizer.tokens(both.target)
    pairs = zip(tick_labels(tokenizer.tokens(both.source), 10), tick_labels(tokens, 10), strict=True)
    labels = [f"{source}→{own}" if i in both.differing else own for i, (source, own) in enumerate(pairs)]
    figure = part_by_token(
        shares,
        titles,
        labels,
        limit=1.0,
        chosen=(row, position),
        hover="%{y}, %{x}: %{z:.2f} of the difference",
        axis="patched position",
        height=rows_height(len(names)),
    )
    what = patched_words(names[row], kind, tokens[position], position)
    changed = prediction_change(change, tokens[-1], len(tokens) - 1, what, both.answers[0], tokenizer)
    return Shown(figure, (patched_shares(both, shares, titles, tokenizer), changed))


def patches_agree(
    model: Transformer,
    tokenizer: Tokenizer,
    both: Pair,
    found: list[PatchedColumns],
    estimate: Float[ndarray, "row seq"],
    kind: Kind,
) -> EstimatedShares:
    """How near the estimates come to the exact shares."""
    titles = [patched_title(name, kind) for name in patched_names(model.config, kind)]
    exact = all_shares(found, len(both.target))
    return estimated_shares(both, estimate, exact, titles, tokenizer.tokens(both.target))


def attributed(
    model: Transformer,
    tokenizer: Tokenizer,
    text: str,
    limit: int,
    quantity: Quantity,
    other: str | None,
    bos: bool | None = None,
    constant: Constant = "mean",
) -> InputAttribution:
    """What each token of a text adds to a quantity, against another text of equally many tokens, or (None) the same
    vector everywhere."""
    ids = first_tokens(model, tokenizer, text, limit, bos).ids
    baseline = constant if other is None else first_tokens(model, tokenizer, other, limit, bos).ids
    return attribute_inputs(model, ids, quantity, baseline)


def coloured_text(
    found: InputAttribution, read: FirstTokens, occlusion: Occlusion, unit: str, against: str, position: int
) -> Shown:
    """The text as coloured tokens, a row for each method: red adds to the quantity, blue takes away."""
    methods, labels = found.methods(occlusion), tick_labels(read.tokens, 10)
    values = np.stack(list(methods.values()))
    end = scale_end(values, [[f"{label} by {name}" for label in labels] for name in methods], least=0.1)
    figure = part_by_token(
        values,
        list(methods),
        labels,
        limit=end.end,
        chosen=(-2, position),  # no row is framed
        hover="%{x} by %{y}: %{z:+.2f} " + unit,
        axis="token of the text",
        height=230,
    )
    said: tuple[Finding, ...] = (known_so_far(found),)
    if found.complete:
        said = removed(found, position, read.tokens, unit), completeness(found, against, unit)
        said += (end,) if end.beyond else ()
    return Shown(figure, said)


def compared_methods(
    found: InputAttribution, read: FirstTokens, occlusion: Occlusion, unit: str, position: int
) -> Shown:
    """Occlusion, integrated gradients (arXiv:1703.01365) and gradient times input beside each other."""
    methods = found.methods(occlusion)
    figure = attribution_bars(methods, tick_labels(read.tokens, 10), unit, position, height=320)
    return Shown(figure, (method_agreement(methods, read.tokens) if found.complete else known_so_far(found),))


# ---- sets of prompts ----


def paired(model: Transformer, tokenizer: Tokenizer, table: str, bos: bool | None = None) -> Paired:
    """The prompts of a CSV table that a model can pair."""
    return pair_prompts(model, tokenizer, read_prompts(table), bos)


def by_prompt(
    model: Transformer, tokenizer: Tokenizer, table: str, patched: bool, bos: bool | None = None
) -> Iterator[PromptEffects | ExactEffects | None]:
    """Metric and estimates of every prompt, then the exact effects of the largest parts and, if asked for, patches."""
    prompts = paired(model, tokenizer, table, bos).encoded
    return measure_set(model, prompts, patches=exact_patches(model, prompts) if patched else 0)


def every_prompt(
    model: Transformer, tokenizer: Tokenizer, table: str, patched: bool, bos: bool | None = None
) -> list[PromptEffects | ExactEffects]:
    """The same, of all prompts."""
    return [one for one in by_prompt(model, tokenizer, table, patched, bos) if one is not None]


def prompt_effects(
    model: Transformer,
    tokenizer: Tokenizer,
    found: Sequence[PromptEffects | ExactEffects],
    table: str,
    bos: bool | None = None,
) -> Shown:
    """The largest parts over a set of prompts: mean effects with intervals, exact ones as soon as two prompts have
    theirs."""
    prompts = paired(model, tokenizer, table, bos).prompts
    first = [one for one in found if isinstance(one, PromptEffects)]
    largest = part_values(model, found)
    parts, values, exact = largest
    how = f"Zero ablation, {'exact' if exact else 'estimated'}"
    how += "" if len(values) == len(prompts) else f", {len(values)} of {len(prompts)} prompts"
    means, names = largest.means, [part_title(part) for part in parts]
    figure = interval_dots(
        means,
        values,
        names,
        ["@feedforward" if part.head is None else "@attention" for part in parts],
        [f"{label(one.clean, 60)} → {label(one.answer)}" for one in prompts[: len(values)]],
        "mean fall of the metric, 95% interval (logits)",
        height=dots_height(len(parts)),
    )
    return Shown(figure, (largest_means(means, names, how), set_metric(first)))


def prompt_board(model: Transformer, found: Sequence[PromptEffects | ExactEffects], patched: bool) -> Shown:
    """Mean effects over a set of prompts, of every part: zero ablation, estimated, or the output of each layer's
    attention and feed-forward layer replaced by that of the corrupted text, exact as soon as that is known."""
    columns, axis = ["FF" if part.head is None else str(part.head) for part in parts_of(model.config)[0]], ""
    both, rows = board_means(found, patched), board_names(model, patched)
    means, exact = both
    how = f"Zero ablation of each part, {both.how}"
    if patched:
        columns, axis = ["attention", "feed-forward"], "output patched from the corrupted text"
        how = f"Patching from the corrupted text, {both.how}"
    end = scale_end(means.mean, rows, least=0.5)
    figure = board(
        means.mean,
        columns,
        "%{text}",
        limit=end.end,
        crossed=means.unsure,
        estimated=~exact if exact.any() else None,
        words=[
            [f"{name}: {mean:+.2f} ({low:+.2f} to {high:+.2f})" for name, mean, low, high in zip(*row, strict=True)]
            for row in zip(rows, means.mean, means.low, means.high, strict=True)
        ],
        across=axis,
        height=board_height(len(rows), 18 if len(rows) > 12 else 40),
    )
    names = [name for row in rows for name in row]
    return Shown(figure, (largest_means(means, names, how), *([end] if end.beyond else [])))
