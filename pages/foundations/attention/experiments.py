"""The experiments of the page on attention."""

from tfcore import load
from tfcore.analysis.foundations.attention_steps import attention_steps, temperature_sweep, token_similarity
from tfcore.analysis.foundations.score_scale import gradient_theory, product_spread, saturation
from tfcore.figures.foundations.attention_steps import steps_figure, temperature_figure
from tfcore.figures.foundations.score_scale import gradient_figure, variance_figure
from tfcore.figures.theme import Figure
from tfcore.figures.tokens import token_heatmap

Points = tuple[tuple[float, float], ...]


def steps(
    queries: Points, keys: Points, values: Points, temperature: float, words: tuple[str, ...], chosen: int
) -> Figure:
    """Attention in four steps: products, scores, weights, outputs (arXiv:1706.03762, equation 1)."""
    result = attention_steps(queries, keys, values, temperature)
    for i, word in enumerate(words):
        weights = ", ".join(f"{other} {weight:.2f}" for other, weight in zip(words, result.weights[i], strict=True))
        x, y = result.outputs[i]
        print(f"{word}: {weights}; output ({x:.2f}, {y:.2f})")

    return steps_figure(result, words, chosen, 2.0, temperature)


def similar(model_name: str, text: str, tokens: int, first: int, second: int, layer: int, head: int) -> Figure:
    """Two words of a text, compared by their embeddings and by one head's queries and keys."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    result, names = token_similarity(model, ids), tokenizer.tokens(ids)
    print(f"{names[first]!r} and {names[second]!r}: dot product {result.products[first, second]:.2f}", end=", ")
    print(f"cosine {result.cosines[first, second]:.2f}")
    # A score has a direction: what a word looks for is not what it offers.
    scores = result.scores[layer, head]
    print(f"layer {layer}, head {head}: {scores[first, second]:.2f} one way, {scores[second, first]:.2f} the other")

    return token_heatmap(scores, names, scale="@signed", zmin=-10.0, zmax=10.0)


def products(samples: int, seed: int, at: int) -> Figure:
    """Why scores are divided by sqrt(d_k): the variance of q · k grows like d_k (arXiv:1706.03762, footnote 4)."""
    result = product_spread(samples, seed)
    for width, variance in zip(result.widths, result.variance, strict=True):
        print(f"d_k {width:4}: variance {variance:8.4g}, divided by sqrt(d_k) {variance / width:.3f}")

    return variance_figure(result, at)


def gradient(n_keys: int, seed: int, at: int) -> Figure:
    """Large scores freeze the softmax: without the division its gradient falls towards 0."""
    result = saturation(n_keys, seed)
    for width, (plain, divided) in zip(result.widths, result.gradient.mean(-1).T, strict=True):
        print(f"d_k {width:4}: norm of the Jacobian {plain:.4f}, with the division {divided:.4f}")

    return gradient_figure(result, gradient_theory(n_keys), at)


def temperature(scores: tuple[float, ...], temperature: float) -> Figure:
    """A temperature is a volume knob on scores: low lets the largest win, high treats all alike."""
    result = temperature_sweep(scores, temperature)
    for score, weight in zip(scores, result.weights, strict=True):
        print(f"softmax of {score:g} at T = {temperature:g}: {weight:.4f}")
    print(f"entropy {result.entropy:.2f} bits")

    return temperature_figure(result, scores, temperature)
