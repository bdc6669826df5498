"""The experiments of the page on information."""

import numpy as np

from tfcore import load
from tfcore.analysis.training.bump_fit import cost, fit_bumps
from tfcore.analysis.training.entropy import compare, mixed_loss, perplexity, token_loss
from tfcore.analysis.training.likeliest import next_tokens
from tfcore.analysis.training.mutual_information import KINDS, joint_information, neighbours
from tfcore.analysis.training.text_bits import expected, peers, text_bits
from tfcore.figures.guesses import guesses_figure
from tfcore.figures.theme import Figure
from tfcore.figures.training.bump_fit import curves_figure
from tfcore.figures.training.entropy import areas_figure, loss_figure
from tfcore.figures.training.mutual_information import overlap_figure
from tfcore.figures.training.text_bits import adding_up_figure


def distributions(p: tuple[float, ...], q: tuple[float, ...], names: list[str]) -> Figure:
    """Entropy, cross-entropy and KL both ways: what it costs to expect Q where P happens."""
    result = compare(np.array(p), np.array(q))
    print(f"H(P) = {result.own:.3f} bits, H(P, Q) = {result.cross:.3f}")
    print(f"KL(P‖Q) = {result.forward:.3f}, KL(Q‖P) = {result.reverse:.3f}")
    # The cost is what P leaves open, and what Q gets wrong.
    print(f"H(P) + KL(P‖Q) - H(P, Q) = {result.gap:.1g}; perplexity {perplexity(result.own):.3f}")

    return areas_figure(result, names, height=300)


def next_token(model_name: str, text: str, tokens: int, count: int, q: tuple[float, ...]) -> Figure:
    """How well a guess Q fits what a model expects next: cross-entropy in bits."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    found = next_tokens(model, ids, count)
    p = np.array([*found.chance, max(0.0, 1 - sum(found.chance))], dtype=np.float64)
    names = [*tokenizer.tokens(found.ids.tolist()), "others"]
    result = compare(p / p.sum(), np.array(q))
    for name, chance in zip(names, p, strict=True):
        print(f"{name!r}: {chance:.3f}")
    print(f"H(P) = {result.own:.3f} bits, H(P, Q) = {result.cross:.3f}, KL(P‖Q) = {result.forward:.3f}")

    return areas_figure(result, names, height=300)


def bumps(distance: float, balance: float, width: float, mean: float, own_width: float) -> Figure:
    """One bump fitted to two: the least KL(P‖Q) covers both, the least KL(Q‖P) picks one."""
    result = fit_bumps(distance, balance, width)
    own = cost(result.p, result.x, mean, own_width)
    for name, fit in (("covers", result.covering), ("picks", result.picking[0]), ("yours", own)):
        print(f"{name}: mean {fit.mean:.3f}, width {fit.width:.3f}", end="; ")
        print(f"KL(P‖Q) {fit.forward:.3f}, KL(Q‖P) {fit.reverse:.3f} bits")

    return curves_figure(result, own, height=330)


def joint(table: list[list[float]]) -> Figure:
    """Mutual information of a table of two variables, three ways."""
    result = joint_information(np.array(table))
    print(f"H(X) = {result.h_x:.3f} bits, H(Y) = {result.h_y:.3f}, H(X, Y) = {result.h_xy:.3f}")
    print(f"I(X; Y) = {result.by_entropies:.6f} = {result.by_condition:.6f} = {result.by_divergence:.6f}")

    return overlap_figure(result, height=220)


def letters(text: str, apart: int) -> Figure:
    """What a character of a text tells about the one so many places after it."""
    counts = neighbours(text, apart)
    result = joint_information(counts / counts.sum())
    print(f"{counts.sum():,} pairs of {', '.join(KINDS)}")
    print(f"H(X) = {result.h_x:.3f} bits, H(Y) = {result.h_y:.3f}, I(X; Y) = {result.by_divergence:.3f}")

    return overlap_figure(result, height=220)


def one_token(p: float, share: float, others: float) -> Figure:
    """The loss of one token against the probability of the right one."""
    print(f"at p = {p:.3f}: {token_loss(p):.3f} bits, {token_loss(p) * np.log(2):.3f} nats")
    mean = mixed_loss(p, share, others)
    print(f"a text with {share:.0%} of them and the rest at {others}: {mean:.3f} bits per token", end=", ")
    print(f"perplexity {perplexity(mean):.2f}")

    return loss_figure(p, height=330)


def text(model_name: str, others: list[str], text: str) -> Figure:
    """What each token of a text costs a model, in bits, and what simpler coders pay."""
    every = {name: text_bits(*load(name), text) for name in others}
    found = every[model_name]
    for token, bits in zip(found.tokens, found.bits, strict=True):
        print(f"{bits:6.2f} bits  {token!r}")
    print(f"{found.total:.1f} bits in all, {found.per_token:.3f} a token, {found.per_byte:.3f} a byte")
    print(f"perplexity {perplexity(found.per_token):.2f}")
    for peer in peers(text.encode()):
        print(f"{peer.name}: {peer.per_byte:.3f} bits per byte")

    return adding_up_figure(every, {name: name for name in every}, model_name, found.tokens, height=330)


def surprise(model_name: str, text: str, at: int, count: int) -> Figure:
    """What a model expected in the place of one token of a text."""
    model, tokenizer = load(model_name)
    found, rank = expected(model, tokenizer, text, at, count)
    names = tokenizer.tokens(found.ids.tolist())
    for name, chance in zip(names, found.chance, strict=True):
        print(f"{name!r}: {chance:.1%}")
    print(f"what came was number {rank + 1}")

    return guesses_figure(found.chance, names, height=260)
