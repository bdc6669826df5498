"""The experiments of the page on architectures."""

from tfcore import load
from tfcore.analysis.model.architectures import seen
from tfcore.analysis.model.masked_tokens import guesses, with_blanks
from tfcore.analysis.model.translation import source_ids, writing, written
from tfcore.analysis.one_text import one_text
from tfcore.config import Architecture
from tfcore.figures.guesses import guesses_figure
from tfcore.figures.model.architectures import seen_figure
from tfcore.figures.theme import Figure
from tfcore.figures.tokens import token_heatmap
from tfcore.generation.generate import generate


def kinds(read: list[str], wrote: list[str], shown: Architecture) -> Figure:
    """Three kinds of Transformer: who may look at whom while a text is read and another one written."""
    kinds: tuple[Architecture, ...] = ("encoder", "decoder", "encoder-decoder")
    for kind in kinds:
        allowed = seen(kind, len(read), len(wrote))
        print(f"{kind}: {allowed.sum()} of {allowed.size} pairs")

    return seen_figure(seen(shown, len(read), len(wrote)), read + wrote, len(read), height=360)


def translation(sentence: str, most: int, layer: int, head: int | None) -> Figure:
    """An encoder-decoder translates; its cross-attention says where each word came from."""
    model, tokenizer = load("translate")
    ids = source_ids(tokenizer, sentence)
    ids = [*ids[:-1][:most], ids[-1]]  # the last one says that the sentence ends
    found = writing(model, ids, written(model, tokenizer, ids))
    print(tokenizer.decode(found.written[:-1]))
    patterns = found.patterns[layer]  # (head, written, read)
    weights = patterns.mean(0) if head is None else patterns[head]
    read, wrote = tokenizer.tokens(ids), tokenizer.tokens(found.written)
    for token, row in zip(wrote, weights, strict=True):
        print(f"{token!r} looks most at {read[row.argmax()]!r}, {row.max():.2f}")

    return token_heatmap(weights, wrote, read)


def blank(text: str, sign: str, chosen: int, top: int) -> Figure:
    """An encoder fills a blank: it knows what comes before and what comes after."""
    model, tokenizer = load("fill")
    ids = with_blanks(tokenizer, text, sign)[: model.config.max_seq_len]
    chances = guesses(model, tokenizer, ids)[chosen]
    best = chances.argsort()[::-1][:top]
    tokens = ["<end>" if i == tokenizer.separator_id else tokenizer.tokens([i])[0] for i in best.tolist()]
    for token, chance in zip(tokens, chances[best], strict=True):
        print(f"{token!r}: {chance:.1%}")

    return guesses_figure(chances[best], tokens, height=280)


def continuation(text: str, new_tokens: int, room: int, top: int) -> Figure:
    """A decoder writes on: it answers one question only, what comes next, again and again."""
    model, tokenizer = load("stories")
    ids = tokenizer.encode(text)[-(model.config.max_seq_len - room) :]
    if new_tokens:
        print(text + tokenizer.decode(generate(model, ids, max_new_tokens=new_tokens, temperature=0)))
    chances = model(one_text(model, ids)).logits[0, -1].softmax(-1).numpy()
    best = chances.argsort()[::-1][:top]
    tokens = ["<end>" if i == tokenizer.separator_id else tokenizer.tokens([i])[0] for i in best.tolist()]
    for token, chance in zip(tokens, chances[best], strict=True):
        print(f"{token!r}: {chance:.1%}")

    return guesses_figure(chances[best], tokens, height=280)
