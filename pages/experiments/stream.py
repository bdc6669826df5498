"""The experiments of the page on the residual stream."""

import numpy as np

from tfcore import load
from tfcore.analysis.contributions import Against, contributions, promoted_by, stream_parts
from tfcore.analysis.edit_effects import effect
from tfcore.analysis.lens import climb, logit_lens
from tfcore.analysis.skipping import left_out, skip_each
from tfcore.analysis.stream_shape import stream_shape
from tfcore.figures.boards import board
from tfcore.figures.edit_effects import part_by_token
from tfcore.figures.lens import climb_figure
from tfcore.figures.neurons import promoted_figure
from tfcore.figures.stream_shape import curves
from tfcore.figures.theme import Figure


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


def skipped(model_name: str, text: str, tokens: int, names: tuple[str, ...], position: int, token: int) -> Figure:
    """Leave one part out: what the model then says, and what every token of the text loses."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    found = effect(model, ids, left_out(names), position)
    print(f"without {', '.join(names)}:")
    print(f"{tokenizer.tokens([token])[0]!r} goes from {found.before[token]:.1%} to {found.after[token]:.1%}")
    print(f"the prediction moves by {found.bits:.2f} bits")
    skips = skip_each(model, ids)
    rows, labels = [str(i) for i in range(len(skips.harm))], tokenizer.tokens(ids[1:])

    return part_by_token(skips.harm, rows, labels, 5.0, (0, 0), "%{z:+.2f} nats", "token", height=400)
