"""The experiments of the walkthrough."""

from tfcore import load
from tfcore.analysis.model.masked_tokens import mask_of
from tfcore.analysis.start.walk_steps import step
from tfcore.analysis.start.walkthrough import walk
from tfcore.figures.guesses import guesses_figure
from tfcore.figures.start.walkthrough import limit_of, pieces_figure
from tfcore.figures.theme import Figure


def stage(model_name: str, text: str, tokens: int, hidden: int | None, layer: int, head: int, stage: str) -> Figure:
    """One stop on the way of a text through a model: the tensors after it."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    names = tokenizer.tokens(ids)
    if hidden is not None:  # an encoder guesses a token it does not see
        ids[hidden], names[hidden] = mask_of(tokenizer, model.config.vocab_size), "[hidden]"
    way = walk(model, ids, layer, hidden)
    made = step(way, stage, head)
    for when, pieces in (("before", made.before), ("after", made.after)):
        for piece in pieces:
            shape = f"({', '.join(piece.axes)}) = {piece.shape}"
            print(f"{when} {stage}: {piece.title}, {shape}, {piece.values.min():.3f} to {piece.values.max():.3f}")

    guesses = tokenizer.tokens(way.candidates.tolist())
    return pieces_figure(made.after, names, limit=limit_of(made.after), height=400, sign=made.sign, candidates=guesses)


def answer(model_name: str, text: str, tokens: int, hidden: int | None, layer: int, top: int) -> Figure:
    """What a model says at the end of the walk: the likeliest tokens."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    print(f"{len(text)} characters, {len(ids)} tokens: {ids}")
    if hidden is not None:
        ids[hidden] = mask_of(tokenizer, model.config.vocab_size)
    way = walk(model, ids, layer, hidden)
    chances = way.probabilities[way.position, :top]
    names = tokenizer.tokens(way.candidates[:top].tolist())
    for name, chance in zip(names, chances, strict=True):
        print(f"{name!r}: {chance:.1%}")

    return guesses_figure(chances, names, height=400)
