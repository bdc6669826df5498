"""The experiments of the page on interventions."""

import numpy as np

from tfcore import load
from tfcore.analysis.inside.edit_effects import effect
from tfcore.analysis.inside.interventions import Action, edits_for, goes_on, knock_out, parts_of, read_parts
from tfcore.analysis.inside.patching import Kind, giver_values, pair, patch, patch_row, patched_names
from tfcore.figures.inside.boards import board
from tfcore.figures.inside.edit_effects import part_by_token
from tfcore.figures.theme import Figure


def switched(
    model_name: str, text: str, tokens: int, parts: str, action: Action, factor: float, where: list[int] | None
) -> Figure:
    """Parts of a model switched off, held at their mean, or scaled, and what it says then."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    edits = edits_for(model, ids, read_parts(parts, model.config), action, factor, where)
    found = effect(model, ids, edits, len(ids) - 1)
    for token in dict.fromkeys((int(found.before.argmax()), int(found.after.argmax()))):
        print(f"{tokenizer.tokens([token])[0]!r}: {found.before[token]:.1%} before, {found.after[token]:.1%} after")
    print(f"it goes on: {tokenizer.decode(goes_on(model, ids, edits, 12))}")
    # Every part alone: how much less likely the whole model's guess becomes.
    alone = "mean" if action == "mean" else "zero"
    harm = np.stack([knock_out(model, ids, layer, alone).guess for layer in range(len(parts_of(model.config)))])
    names = ["FF" if part.head is None else str(part.head) for part in parts_of(model.config)[0]]

    return board(harm, names, "%{z:+.2f} nats", limit=float(abs(harm).max()), height=240)


def patched(model_name: str, text: str, other: str, tokens: int, kind: Kind, row: int, position: int) -> Figure:
    """Activations of another text put into the run of this one: which of them carry the difference?"""
    model, tokenizer = load(model_name)
    taker, giver = (tokenizer.encode(one)[: min(tokens, model.config.max_seq_len)] for one in (text, other))
    both = pair(model, giver, taker)
    theirs, mine = tokenizer.tokens(both.answers)
    names = patched_names(model.config, kind)
    shares = np.stack([patch_row(model, both, name) for name in names])
    for name, share in zip(names, shares, strict=True):
        print(f"{name}: {share.max():.2f} of the way from {mine!r} to {theirs!r} at position {share.argmax()}")
    edit = patch(giver_values(model, both, names[row]), names[row], position)
    print(f"with {names[row]} patched at {position}: {tokenizer.decode(goes_on(model, taker, [edit], 12))}")

    return part_by_token(
        shares, names, tokenizer.tokens(taker), 1.0, (row, position), "%{z:.2f} of the way", "position", height=400
    )
