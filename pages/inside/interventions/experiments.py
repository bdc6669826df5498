"""The experiments of the page on interventions."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.inside.activation_patching import (
    Kind,
    Pair,
    pair,
    patch,
    patch_row,
    patched_names,
    patched_shares,
    patched_title,
)
from tfcore.analysis.inside.interventions import (
    ABLATIONS,
    Action,
    Effect,
    LossOf,
    PartLossIncreases,
    ablate_each_part,
    continue_text,
    described,
    edits_for,
    effect,
    largest_increase,
    parts_of,
    prediction_change,
    read_parts,
)
from tfcore.analysis.one_text import FirstTokens, first_tokens
from tfcore.analysis.token_text import tick_labels, visible
from tfcore.figures.inside.boards import board
from tfcore.figures.inside.interventions import part_by_token
from tfcore.figures.shown import Shown
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def every_part(
    model: Transformer, tokenizer: Tokenizer, text: str, limit: int, alone: Action
) -> list[PartLossIncreases]:
    """The loss increase when each part of a model alone is ablated, by layer."""
    ids = first_tokens(model, tokenizer, text, limit).ids
    return [ablate_each_part(model, ids, layer, alone) for layer in range(len(parts_of(model.config)))]


def edited(
    model: Transformer,
    tokenizer: Tokenizer,
    text: str,
    limit: int,
    parts: str,
    action: Action,
    factor: float,
    position: int | None,
) -> Effect:
    """What an intervention does to the prediction at the end of a text, and to its loss."""
    ids = first_tokens(model, tokenizer, text, limit).ids
    where = None if position is None else [position]
    edits = edits_for(model, ids, read_parts(parts, model.config), action, factor, where)
    return effect(model, ids, edits, len(ids) - 1)


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
) -> list[int]:
    """How the model continues a text under an intervention."""
    ids = first_tokens(model, tokenizer, text, limit).ids
    where = None if position is None else [position]
    edits = edits_for(model, ids, read_parts(parts, model.config), action, factor, where)
    return continue_text(model, ids, edits, new_tokens)


def switched(
    model: Transformer,
    tokenizer: Tokenizer,
    increases: list[PartLossIncreases],
    read: FirstTokens,
    found: Effect,
    parts: str,
    action: Action,
    factor: float,
    of: LossOf,
) -> Shown:
    """Parts of a model ablated or scaled: the loss increase of each alone, and the prediction with those chosen."""
    every, chosen = parts_of(model.config), read_parts(parts, model.config)
    values = np.stack([getattr(one, of) for one in increases])
    best = int(found.before.argmax())
    name = ABLATIONS["mean" if action == "mean" else "zero"]
    loss = "the text, per token"
    if of == "prediction":
        loss = f"“{visible(tokenizer.tokens([best])[0])}”, the prediction at the end"
    figure = board(
        values,
        ["FF" if part.head is None else str(part.head) for part in every[0]],
        f"{name} of layer %{{y}}, part %{{text}}: %{{z:+.2f}} nats",
        limit=max(0.5, float(abs(values).max())),
        selected=[(part.layer, every[part.layer].index(part)) for part in chosen],
        height=60 + 40 * len(every),
    )
    change = prediction_change(
        found, read.tokens[-1], len(read.ids) - 1, described(chosen, action, factor), best, tokenizer
    )
    return Shown(figure, (largest_increase(values, every, name, loss), change))


def compared(model: Transformer, tokenizer: Tokenizer, source: str, text: str, limit: int) -> Pair:
    """Two texts with equally many tokens; activations of `source` are patched into the run on `text`."""
    source_ids, ids = (first_tokens(model, tokenizer, one, limit).ids for one in (source, text))
    return pair(model, source_ids, ids)


def every_row(model: Transformer, both: Pair, kind: Kind) -> list[Float[ndarray, " seq"]]:
    """The share of the logit difference that each patch restores, by activation and position."""
    return [patch_row(model, both, name) for name in patched_names(model.config, kind)]


def patched_effect(
    model: Transformer, both: Pair, values: Float[Tensor, "1 seq d_model"], name: str, position: int
) -> Effect:
    """What one patch does to the prediction at the end; `values` is the activation in the source's run."""
    return effect(model, both.target, [patch(values, name, position)], len(both.target) - 1)


def patched_words(name: str, kind: Kind, token: str, position: int) -> str:
    """A patch in words."""
    title = patched_title(name, kind)
    what = f"the residual stream {title}" if kind == "residual" else title
    return f"{what} patched at '{visible(token)}' ({position})"


def patched(
    model: Transformer,
    tokenizer: Tokenizer,
    both: Pair,
    rows: list[Float[ndarray, " seq"]],
    found: Effect,
    kind: Kind,
    row: int,
    position: int,
) -> Shown:
    """Activations of another text put into the run of this one: which of them carry the difference?"""
    shares, names = np.stack(rows), patched_names(model.config, kind)
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
        hover="%{y}, %{x}: %{z:.2f} of the logit difference",
        axis="patched position",
        height=120 + 34 * len(names),
    )
    what = patched_words(names[row], kind, tokens[position], position)
    change = prediction_change(found, tokens[-1], len(tokens) - 1, what, both.answers[0], tokenizer)
    return Shown(figure, (patched_shares(both, shares, titles, tokenizer), change))
