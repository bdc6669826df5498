"""The experiments of the page on induction heads."""

import math

from tfcore import load
from tfcore.analysis.inside.composition import composition, theory
from tfcore.analysis.inside.copying import Place, copying, random_rows, twice
from tfcore.analysis.inside.growth import jump
from tfcore.analysis.inside.path_patching import close_doors
from tfcore.analysis.one_text import one_text
from tfcore.figures.inside.composition import doors_figure, strips_figure
from tfcore.figures.inside.copying import losses_figure
from tfcore.figures.inside.growth import course_figure, maps_figure
from tfcore.figures.theme import Figure
from tfcore.training.growing import GrowConfig, film_moment, film_steps, grow


def random_twice(model_name: str, length: int, rows: int, seed: int, off: tuple[Place, ...]) -> Figure:
    """Random tokens said twice (arXiv:2209.11895): which heads copy, and what is lost without some of them."""
    model, tokenizer = load(model_name)
    ids = twice(random_rows(model.config.vocab_size, length, rows, seed))
    whole, cut = copying(model, ids, length), copying(model, ids, length, off)
    for layer, head in whole.strong("induction"):
        print(f"induction head {layer}.{head}: {whole.scores['induction'][layer, head]:.2f}")
    print(f"loss on the first copy {whole.first_loss:.2f} nats, on the second {whole.second_loss:.2f}")
    print(f"without {off or 'any of them'}: {cut.first_loss:.2f} and {cut.second_loss:.2f}")
    labels = tokenizer.tokens(whole.ids.tolist())

    return losses_figure(whole, cut if off else None, labels, math.log(model.config.vocab_size), height=300)


def text(model_name: str, text: str, tokens: int, length: int, off: tuple[Place, ...]) -> Figure:
    """A text, said twice or as it is: what can be copied, and what is lost without some heads."""
    model, tokenizer = load(model_name)
    ids = one_text(model, tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)])
    if length:  # of one copy; 0 reads the text as it is
        ids = twice(ids[:, :length])
    whole, cut = copying(model, ids, length or None), copying(model, ids, length or None, off)
    print(f"loss of new tokens {whole.first_loss:.2f} nats, of repeated ones {whole.second_loss:.2f}")
    print(f"without {off or 'any of them'}: {cut.first_loss:.2f} and {cut.second_loss:.2f}")
    labels = tokenizer.tokens(whole.ids.tolist())

    return losses_figure(whole, cut if off else None, labels, math.log(model.config.vocab_size), height=300)


def circuit(model_name: str, layer: int, senders: list[Place], receivers: list[Place]) -> Figure:
    """Which heads read what earlier heads wrote: composition scores of their matrices (after arXiv:2209.11895)."""
    model, _ = load(model_name)
    result = composition(model, layer)
    for kind, scores in result.scores.items():
        print(f"{kind}-composition: {scores.max():.3f} at most")
    print(f"random matrices: {result.random:.3f} ± {result.spread:.3f}, in theory {theory(model.config.d_model):.3f}")

    return strips_figure(result, layer, senders, receivers, height=420)


def one_door(model_name: str, length: int, seed: int, senders: list[Place], receivers: list[Place]) -> Figure:
    """Path patching: do queries, keys or values need what previous-token heads wrote? (arXiv:2304.05969)"""
    model, _ = load(model_name)
    rows = twice(random_rows(model.config.vocab_size, length, 8, seed))
    result = close_doors(model, rows, length, senders, receivers)
    for one in result:
        print(f"patched: {one.door}; loss on the second copy {one.second_loss:.2f} nats, induction {one.induction:.2f}")

    return doors_figure(result, math.log(model.config.vocab_size), height=320)


def film(frame: int) -> Figure:
    """One frame of the training in which induction heads appeared, measured as it is put back into the model."""
    now = film_moment(frame)
    print(f"step {now.step:,} of {film_steps()[-1]:,}")
    print(f"loss on the first copy {now.first_loss:.2f} nats, on the second {now.second_loss:.2f}")
    print(f"best induction head {now.induction.max():.2f}, best previous-token head {now.previous.max():.2f}")

    return maps_figure(now, height=210 * len(now.induction))


def grown(config: GrowConfig) -> Figure:
    """A small model in training: with two layers induction heads form, with one they cannot."""
    moments = [moment for moment in grow(config) if moment is not None]
    for now in moments:
        print(f"step {now.step:4}: loss {now.second_loss:.2f} on the second copy, induction {now.induction.max():.2f}")
    chance, last = math.log(config.vocab_size), len(moments) - 1

    return course_figure(moments, last, config.steps, jump(moments), chance, height=430, log=False)
