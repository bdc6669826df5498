"""The experiments of the page on attention."""

from collections.abc import Sequence

from tfcore.analysis.foundations.attention_steps import (
    AttentionSteps,
    Measure,
    TemperatureSweep,
    TokenSimilarity,
    attended,
    embedding_pair,
    score_pair,
    softmax_weights,
    token_similarity,
)
from tfcore.analysis.foundations.score_scale import (
    GradientTheory,
    ProductSpread,
    Quantity,
    Saturation,
    product_variance,
    saturation_means,
    theory_at,
    variance_by_width,
)
from tfcore.figures.foundations.attention_steps import attention_steps_figure, temperature_figure
from tfcore.figures.foundations.score_scale import (
    curve_figure,
    entropy_figure,
    gradient_figure,
    largest_figure,
    products_figure,
    variance_figure,
)
from tfcore.figures.shown import Shown
from tfcore.figures.tokens import token_heatmap
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def steps(result: AttentionSteps, words: Sequence[str], chosen: int, limit: float) -> Shown:
    """Attention in four steps: products, scores, weights, outputs (arXiv:1706.03762, equation 1)."""
    return Shown(attention_steps_figure(result, words, chosen, limit), (attended(result, words, chosen),))


def similarity(model: Transformer, tokenizer: Tokenizer, text: str, most: int) -> TokenSimilarity:
    """Every pair of the first tokens of a text, by their embeddings and by every head's queries and keys."""
    return token_similarity(model, tokenizer.encode(text)[: min(most, model.config.max_seq_len)])


def embeddings(
    result: TokenSimilarity, tokens: Sequence[str], first: int, second: int, measure: Measure, limit: float
) -> Shown:
    """Two words of a text, compared by their embeddings."""
    figure = token_heatmap(
        result.products if measure == "dot product" else result.cosines,
        tick_labels(tokens),
        scale="@signed",
        zmin=-limit,
        zmax=limit,
        height=460,
        hover=f"{measure} of %{{y}} and %{{x}}: %{{z:.2f}}",
    )
    return Shown(figure, (embedding_pair(result, tokens, first, second, measure),))


def similar(
    result: TokenSimilarity, tokens: Sequence[str], first: int, second: int, layer: int, head: int, limit: float
) -> Shown:
    """Two words of a text, compared by one head: what a query looks for is not what its own key offers."""
    figure = token_heatmap(
        result.scores[layer, head],
        tick_labels(tokens),
        scale="@signed",
        zmin=-limit,
        zmax=limit,
        height=460,
        hover="query %{y}, key %{x}: %{z:.2f}",
    )
    return Shown(figure, (score_pair(result, tokens, first, second, layer, head),))


def histogram(result: ProductSpread, at: int, divided: bool) -> Shown:
    """The distribution of q · k at one width, beside the normal distribution of the same variance."""
    return Shown(products_figure(result, at, scaled=divided), (product_variance(result, at, divided=divided),))


def products(result: ProductSpread, at: int) -> Shown:
    """Why scores are divided by sqrt(d_k): the variance of q · k grows like d_k (arXiv:1706.03762, footnote 4)."""
    return Shown(variance_figure(result, at), (variance_by_width(result),))


def weights(result: Saturation, quantity: Quantity, at: int) -> Shown:
    """What becomes of the softmax with the width: its entropy, largest weight or steepest slope."""
    draw = {"entropy": entropy_figure, "largest": largest_figure, "steepest": curve_figure}[quantity]
    return Shown(draw(result, at), (saturation_means(result, quantity, at),))


def gradient(result: Saturation, theory: GradientTheory, at: int) -> Shown:
    """Large scores saturate the softmax: without the division its gradient falls towards 0."""
    findings = (saturation_means(result, "gradient", at), theory_at(theory, int(result.widths[at])))
    return Shown(gradient_figure(result, theory, at), findings)


def temperature(result: TemperatureSweep) -> Shown:
    """A low temperature gives the largest score nearly all the weight, a high one makes the weights even."""
    return Shown(temperature_figure(result), (softmax_weights(result),))
