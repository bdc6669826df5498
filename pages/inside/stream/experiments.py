"""The experiments of the page on the residual stream."""

from collections.abc import Sequence

import numpy as np

from tfcore import load
from tfcore.analysis.inside.contributions import Against, contributions, promoted_by, stream_parts
from tfcore.analysis.inside.lens import climb, logit_lens
from tfcore.analysis.inside.skipping import Skips, loss_increases, skip_each, skip_name
from tfcore.analysis.inside.stream_shape import stream_shape
from tfcore.analysis.token_text import tick_labels
from tfcore.figures.block.neurons import promoted_figure
from tfcore.figures.inside.boards import board
from tfcore.figures.inside.edit_effects import part_by_token
from tfcore.figures.inside.lens import climb_figure
from tfcore.figures.inside.stream_shape import curves
from tfcore.figures.shown import Shown
from tfcore.figures.theme import Figure
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def parts(model_name: str, text: str, tokens: int, position: int, token: int, against: Against) -> Figure:
    """Who wrote it: each part's share in the logit of one token, exactly (the final norm held fixed)."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    found = contributions(model, stream_parts(model, ids, position), token, against)
    print(f"logit of {tokenizer.tokens([token])[0]!r}: {found.logit:.4f}; sum of all parts: {found.total:.4f}")
    for layer, (heads, forward) in enumerate(zip(found.heads, found.feedforward, strict=True)):
        print(f"layer {layer}: heads {heads.round(2)}, feed-forward {forward:+.2f}")
    values, names = found.heads, [str(head) for head in range(found.heads.shape[1])]
    if found.feedforward.any():  # not every model has such layers
        values, names = np.column_stack([values, found.feedforward]), [*names, "FF"]

    return board(values, names, "%{z:.3f} logits", limit=float(abs(values).max()), height=240)


def promoted(
    model_name: str, text: str, tokens: int, position: int, layer: int, head: int | None, up: int, down: int
) -> Figure:
    """What one head or feed-forward layer writes at a position, read as the tokens it lifts and lowers."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    lift = promoted_by(model, stream_parts(model, ids, position), layer, head)
    order = (-lift).argsort(kind="stable")
    chosen = [*order[:up].tolist(), *order[-down:].tolist()]
    names = tokenizer.tokens(chosen)
    for name, value in zip(names, lift[chosen], strict=True):
        print(f"{name!r}: {value:+.2f}")

    return promoted_figure(names, lift[chosen].tolist(), None, height=300)


def lens(model_name: str, text: str, tokens: int, position: int, explained: list[int]) -> Figure:
    """The logit lens: what the stream would say, read out half-way, stage by stage."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    found = logit_lens(model, ids)
    for stage, best in zip(found.stages, found.best[:, position], strict=True):
        print(f"{stage}: {tokenizer.tokens([int(best[0])])[0]!r}")
    path, names = climb(model, ids, position, explained), tokenizer.tokens(explained)
    print(f"{names[0]!r}:", ", ".join(f"{chance:.0%}" for chance in path.chance[:, 0]))

    return climb_figure(path, names, found.stages, height=320)


def shape(model_name: str, text: str, tokens: int, position: int) -> Figure:
    """The stream's length and direction at each stage."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    found = stream_shape(model, ids)
    for stage, norm, cosine in zip(found.stages, found.norm[:, position], found.cosine[:, position], strict=True):
        print(f"{stage}: length {norm:.1f}, cosine to the final state {cosine:.2f}")

    return curves(found.norm, found.stages, tokenizer.tokens(ids), position, "length of the stream", height=400)


def every_skip(model: Transformer, tokenizer: Tokenizer, text: str, limit: int) -> Skips:
    """The first tokens of a text, with each sublayer and each block left out in turn."""
    return skip_each(model, tokenizer.encode(text)[: min(limit, model.config.max_seq_len)])


def skipped(skips: Skips, tokens: Sequence[str], row: int, column: int) -> Shown:
    """The loss increase of every token when a part is left out, which the residual stream runs past."""
    names = [skip_name(one) for one in skips.skipped]
    figure = part_by_token(
        skips.harm,
        names,
        tick_labels(tokens[1:], 10),
        5.0,  # nats, from which on all colours are the same
        (row, column),
        "without %{y}: loss of %{x} %{z:+.2f} nats",
        "token to predict",
        90 + 26 * len(names),
    )
    return Shown(figure, (loss_increases(skips, row),))
