"""Claims about tokens, attention, positions and masks, recomputed."""

import math
from dataclasses import replace
from typing import Any

import torch

from tfcore.attention import attention_weights
from tfcore.measures.head_vectors import head_vectors
from tfcore.measures.mask_cost import mask_cost
from tfcore.measures.mask_patterns import MaskConfig
from tfcore.measures.product_spread import product_spread
from tfcore.model import Transformer
from tfcore.positions import sinusoidal
from tfcore.views.foundations.positions.measure.effects import shuffle_experiment
from tfcore.views.foundations.positions.measure.scores import rotary_scores
from tfcore.views.foundations.positions.measure.sinusoidal import sinusoidal_shift, wavelengths
from tfcore.views.foundations.tokens.measure.text_pieces import densities
from tfcore.views.reference.folklore.measure.claim import Checked, Claim, compare

STORY = (
    "Once upon a time there was a little girl named Lily. She had a red ball and played with it in the park every "
    "day. One day the ball rolled into the water, and a big dog brought it back to her."
)
TEXTS = {
    "a children's story": STORY,
    "a report": "The committee unanimously approved preliminary infrastructure expenditures, citing macroeconomic "
    "considerations and unprecedented demographic developments.",
    "German": "Die Großmutter erzählte den Kindern am Abend eine Geschichte von einem kleinen Hund, der seinen Ball "
    "verlor.",
    "code": "def softmax(x):\n    e = [exp(v - max(x)) for v in x]\n    return [v / sum(e) for v in e]\n",
}
SAMPLES = 1_024
WORDS = ("the", "little", "dog", "lost", "the", "red", "ball", "in", "the", "park")


def softmax_wide() -> Checked:
    """softmax(8, 0.1, -0.3), of which 0.9997, 0.0002, 0.0001 is printed: the two small weights against these."""
    weights = attention_weights(torch.tensor([[8.0, 0.1, -0.3]], dtype=torch.float64)).flatten().tolist()
    off = {"second weight": weights[1] / 0.0002, "third weight": weights[2] / 0.0001}
    return compare(1, off, ", ".join(f"{w:.4f}" for w in weights))


def softmax_small() -> Checked:
    """softmax(1, 0.0125, -0.0375), the same scores divided by 8."""
    weights = attention_weights(torch.tensor([[1.0, 0.0125, -0.0375]], dtype=torch.float64)).flatten().tolist()
    off = {f"weight {i + 1}": w / said for i, (w, said) in enumerate(zip(weights, (0.579, 0.216, 0.205), strict=True))}
    return compare(1, off, ", ".join(f"{w:.4f}" for w in weights))


def variance_of_products() -> Checked:
    """Variance of q . k over d_k, for random queries and keys; true within three standard errors of the draw."""
    spread = product_spread(SAMPLES, seed=0)
    cases = {
        f"d_k = {width}": float(variance) / width
        for width, variance in zip(spread.widths.tolist(), spread.variance, strict=True)
        if width >= 16
    }
    words = f"{min(cases.values()):.2f} to {max(cases.values()):.2f} times d_k, for d_k from 16 to 1,024"
    return compare(1, cases, words, exact=3 * math.sqrt(2 / SAMPLES))


def variance_when_trained(model: Transformer, tokenizer: Any) -> Checked:
    """Variance of the scores q . k / sqrt(d_k) over all pairs of a text, in every head of the first layer."""
    ids = tokenizer.encode(STORY)
    variances = {}
    for head in range(model.config.attention.n_heads):
        vectors = head_vectors(model, ids, 0, head)  # its queries are divided by the root already
        variances[f"head {head}"] = float((vectors.q @ vectors.k.T).var())
    words = f"{min(variances.values()):.2f} to {max(variances.values()):.1f}, by head of the first layer"
    return compare(1, variances, words)


def shortest_and_longest_wave() -> Checked:
    """Wavelengths of sinusoidal positions: the last pair has exponent (d - 2) / d, not 1."""
    waves = wavelengths(512, 10_000.0)
    cases = {"shortest": float(waves[0]) / (2 * math.pi), "longest": float(waves[-1]) / (10_000 * 2 * math.pi)}
    words = f"2π to {waves[-1] / (2 * math.pi):,.0f} · 2π at d = 512"
    return compare(1, cases, words)


def shift_is_linear() -> Checked:
    """Largest error of PE(p + k) = M_k PE(p) over 512 positions, with one matrix for all of them."""
    result = sinusoidal_shift(512, 128, 10_000.0, k=5)
    return compare(1, {"largest error": 1 + float(result.error)}, f"largest error {float(result.error):.0e}")


def rope_knows_distances() -> Checked:
    """RoPE's score of one query and key at every distance, at the start of a text and 1,000 tokens on."""
    result = rotary_scores(64, 10_000.0, 0.8, moved=1_000, distance=6)
    off = result.difference / float(abs(result.scores).max())
    return compare(1, {"moved by 1,000": 1 + off}, f"scores differ by {off:.0e} of the largest")


def order_is_invisible() -> Checked:
    """Share of tokens whose output is the same after a shuffle, without positions: bidirectional, and causal."""
    cases = {}
    for name, is_causal in (("bidirectional", False), ("causal", True)):
        result = shuffle_experiment(WORDS, 1, is_causal)
        cases[name] = float((result.differences[-1] < 1e-4).mean())  # the last scheme is "none"
    return compare(
        1, cases, f"{cases['bidirectional']:.0%} of tokens unchanged without a mask, {cases['causal']:.0%} causally"
    )


def scaled_embeddings(model: Transformer, tokenizer: Any) -> Checked:
    """Length of sqrt(d) E over the length of a position vector, sqrt(d / 2), for three kinds of embeddings E."""
    del tokenizer
    cases = {}
    for name, d, std in (("N(0, 1/d)", 512, 512**-0.5), ("N(0, 0.02²), d = 768", 768, 0.02)):
        position = float(sinusoidal(torch.tensor([50]), d).norm())
        cases[name] = std * math.sqrt(d) * math.sqrt(d) / position
    table = model.embed.weight.detach().float()
    d = table.shape[1]
    mean = float(table.norm(dim=1).mean())
    cases[f"trained, d = {d}"] = math.sqrt(d) * mean / float(sinusoidal(torch.tensor([50]), d).norm())
    words = ", ".join(f"{value:.2f} ({name})" for name, value in cases.items())
    return compare(1, cases, words, exact=0.1, rough=1.0)


def causal_is_half() -> Checked:
    """Pairs that a causal mask lets through, of all n^2: (n + 1) / 2n."""
    cases = {f"n = {n}": mask_cost(MaskConfig(kind="causal"), n).share for n in (16, 128, 1024)}
    return compare(0.5, cases, ", ".join(f"{share:.2%} ({n})" for n, share in cases.items()))


def characters_in_a_token(model: Transformer, tokenizer: Any) -> Checked:
    """Characters per token of four kinds of text, cut by the shipped tokenizer."""
    del model
    cases = {density.name: density.per_token for density in densities(tokenizer, TEXTS)}
    return _by_another(
        compare(4, cases, ", ".join(f"{value:.1f} ({name})" for name, value in cases.items())), tokenizer
    )


def _by_another(checked: Checked, tokenizer: Any) -> Checked:
    """The claim is about other tokenizers than the one it is computed with: whether it holds depends on that."""
    words = f"{checked.computed}, by a tokenizer of {tokenizer.vocab_size:,} tokens"
    return replace(checked, computed=words, verdict="depends")


def words_in_a_token(model: Transformer, tokenizer: Any) -> Checked:
    """Words per token of the same texts."""
    del model
    cases = {d.name: len(TEXTS[d.name].split()) / d.tokens for d in densities(tokenizer, TEXTS)}
    words = ", ".join(f"{value:.2f} ({name})" for name, value in cases.items())
    return _by_another(compare(0.75, cases, words, rough=0.25), tokenizer)


CLAIMS = (
    Claim(
        key="softmax",
        name="softmax(8, 0.1, −0.3)",
        compute=softmax_wide,
        chapter="Foundations",
        said="softmax(8, 0.1, −0.3) = 0.9997, 0.0002, 0.0001",
        where="printed in one course on why scores are scaled",
        why="e⁻⁷·⁹ is 0.00037 and e⁻⁸·³ is 0.00025: about twice what is printed.",
        see="attention?look=temperature",
    ),
    Claim(
        key="softmax_small",
        name="softmax(1, 0.0125, −0.0375)",
        compute=softmax_small,
        chapter="Foundations",
        said="softmax(1, 0.0125, −0.0375) = 0.579, 0.216, 0.205",
        where="the same course's example, scores divided by √64",
        why="The same scores at temperature 8: the largest weight is no longer nearly 1.",
        see="attention?look=temperature&temperature=8",
    ),
    Claim(
        key="variance",
        name="variance of q · k",
        compute=variance_of_products,
        chapter="Foundations",
        said="Dot products of queries and keys have variance d_k",
        where="arXiv:1706.03762, footnote 4",
        why="A sum of d_k independent products, each of variance 1. It holds for independent entries of variance 1.",
        see="attention?look=scale",
    ),
    Claim(
        key="variance_trained",
        name="variance 1 after 1/√d_k",
        compute=variance_when_trained,
        chapter="Foundations",
        said="Divided by √d_k, scores have variance 1",
        where="after arXiv:1706.03762, section 3.2.1",
        why="At the start of training. Trained queries and keys are neither independent nor of variance 1.",
        see="heads",
    ),
    Claim(
        key="wavelengths",
        name="wavelengths to 10000 · 2π",
        compute=shortest_and_longest_wave,
        chapter="Foundations",
        said="Positional wavelengths run from 2π to 10000 · 2π",
        where="arXiv:1706.03762, section 3.5",
        why="The last pair has the exponent (d − 2) / d, so the longest stays a little under.",
        see="positions?scheme=sinusoidal&d_model=512",
    ),
    Claim(
        key="shift",
        name="shifts are linear",
        compute=shift_is_linear,
        chapter="Foundations",
        said="PE(pos + k) is a linear function of PE(pos)",
        where="arXiv:1706.03762, section 3.5",
        why="Each pair is a point on a circle, and a shift turns it by an angle that only depends on k.",
        see="positions?scheme=sinusoidal&k=5",
    ),
    Claim(
        key="rope",
        name="RoPE: only distances",
        compute=rope_knows_distances,
        chapter="Foundations",
        said="With RoPE a score depends on positions only through their distance",
        where="arXiv:2104.09864, equation 16",
        why="It depends on the content of both tokens too. Of the two rotations only the difference of the angles is "
        "left.",
        see="positions?scheme=rope&moved=1000",
    ),
    Claim(
        key="equivariant",
        name="order without positions",
        compute=order_is_invisible,
        chapter="Foundations",
        said="Without positions, attention does not depend on the order of its tokens",
        where="arXiv:1706.03762, section 3.5",
        why="True for bidirectional attention. Under a causal mask each token attends to another number of tokens.",
        see="positions?scheme=none",
    ),
    Claim(
        key="scale",
        name="√d makes up for positions",
        compute=scaled_embeddings,
        chapter="Foundations",
        said="Times √d, embeddings are as long as position vectors",
        where="read into arXiv:1706.03762, section 3.4",
        why="The right size within a factor of two, if the rows began with variance 1/d; the paper gives no reason.",
        see="tokens?part=embeddings",
    ),
    Claim(
        key="half",
        name="a causal mask halves",
        compute=causal_is_half,
        chapter="Foundations",
        said="A causal mask leaves half of the pairs",
        where="said of flash attention and FLOP counts",
        why="(n + 1) / 2n: the diagonal makes it a little more, less and less as texts grow.",
        see="masks?kind=causal",
    ),
    Claim(
        key="characters",
        name="4 characters per token",
        compute=characters_in_a_token,
        chapter="Foundations",
        said="A token is about four characters",
        where="documentation of OpenAI's models, for English and their tokenizers",
        why="Said of tokenizers of 50,000 tokens and more; here by that of stories, 2,048 tokens made from stories.",
        see="tokens?part=text",
    ),
    Claim(
        key="words",
        name="0.75 words per token",
        compute=words_in_a_token,
        chapter="Foundations",
        said="A token is about three quarters of a word",
        where="documentation of OpenAI's models, for English and their tokenizers",
        why="Frequent words are whole tokens, others several. The small tokenizer of stories has fewer whole words.",
        see="tokens?part=text",
    ),
)
