"""Claims about what a block is made of and how it starts, recomputed; and two on what is inside a trained model."""

from typing import Any

import torch

from tfcore import presets
from tfcore.config import Init, ModelConfig
from tfcore.feedforward import ACTIVATIONS
from tfcore.measures.block_parameters import block_share, layer_cost
from tfcore.measures.deep_networks import Deep, stream_sizes
from tfcore.measures.logit_attribution import contributions, stream_parts
from tfcore.measures.one_text import next_logits
from tfcore.measures.parameter_count import parameters
from tfcore.model import Transformer
from tfcore.part_configs import AttentionConfig, FeedForwardConfig, NormConfig, PositionsConfig
from tfcore.views.block.residuals.measure.dropout import dropout
from tfcore.views.reference.folklore.measure.claim import Checked, Claim, compare

TEXT = "Once upon a time there was a little dog. The little dog"
DRAWN = 200_000


def two_thirds() -> Checked:
    """Feed-forward share of a block's parameters."""
    shapes = {
        "GPT-2 small": presets.gpt2_small,
        "LLaMA 2 7B": presets.llama2_7b,
        "LLaMA 3 8B": presets.llama3_8b,
        "Mixtral": presets.mixtral_8x7b,
        "T5 base, decoder": presets.t5_base,
    }
    cases = {name: block_share(build()).share for name, build in shapes.items()}
    return compare(2 / 3, cases, ", ".join(f"{share:.1%} ({name})" for name, share in cases.items()))


def norms_cost_nothing() -> Checked:
    """The parameters of a model that are not those of its norms, over all."""
    shapes = {"GPT-2 small": presets.gpt2_small, "LLaMA 3 8B": presets.llama3_8b, "base": presets.transformer_base}
    shares = {}
    for name, build in shapes.items():
        count = parameters(build())
        shares[name] = count.by_component["norms"] / count.total
    words = ", ".join(f"{share:.4%} ({name})" for name, share in shares.items())
    return compare(1, {name: 1 - share for name, share in shares.items()}, words)


def gated_width() -> Checked:
    """Parameters of a SwiGLU layer of width 8/3 d over those of a plain one of width 4 d."""
    cases = {f"d = {d:,}": layer_cost("swiglu", d).count / layer_cost("relu", d).count for d in (512, 768, 4096)}
    return compare(1, cases, ", ".join(f"{ratio:.4f} ({d})" for d, ratio in cases.items()))


def variance_by_depth() -> Checked:
    """Growth of the stream's variance from the embedding to the last block, at N layers over that at 6 layers.

    With 1 / sqrt(2N) on the matrices that write to the stream, and with no such factor.
    """

    def growth(n_layers: int, init: Init) -> float:
        size = stream_sizes(Deep(n_layers=n_layers, init=init)) ** 2
        return float(size[-1] - size[0])

    cases = {f"with it, N = {n}": growth(n, "gpt2") / growth(6, "gpt2") for n in (12, 24)}
    without = growth(24, "normal") / growth(6, "normal")
    words = ", ".join(f"{value:.2f} ({name})" for name, value in cases.items())
    return compare(1, cases, f"{words}; {without:.1f} (without it, N = 24)", exact=0.1, rough=0.3)


@torch.no_grad()
def stream_stays() -> Checked:
    """Variance of the stream after 12 blocks over that of the embeddings, with GPT-2's initial weights, by width."""
    cases = {}
    for d in (32, 256):
        config = ModelConfig(
            vocab_size=64,
            d_model=d,
            n_layers=12,
            attention=AttentionConfig(n_heads=4),
            max_seq_len=16,
            positions=PositionsConfig(kind="learned"),
            norm=NormConfig(kind="layernorm"),
            feed_forward=FeedForwardConfig(activation="gelu"),
            bias=True,
            init="gpt2",
        )
        names = ("blocks.0.resid_pre", "blocks.11.resid_post")
        streams = Transformer(config, seed=0).eval()(torch.arange(16)[None], capture=names).activations
        before, after = (float(streams[name].var()) for name in names)
        cases[f"width {d}"] = after / before
    words = ", ".join(f"{value:,.1f} times ({name})" for name, value in cases.items())
    return compare(1, cases, words)


def tanh_is_gelu() -> Checked:
    """GELU by its tanh formula over GELU by the normal distribution."""
    x = torch.tensor([-3.0, -2.0, -1.0, 1.0, 2.0], dtype=torch.float64)
    exact, by_tanh = ACTIVATIONS["gelu"](x), ACTIVATIONS["gelu_tanh"](x)
    line = torch.linspace(-6, 6, 12_001, dtype=torch.float64)
    largest = float((ACTIVATIONS["gelu"](line) - ACTIVATIONS["gelu_tanh"](line)).abs().max())
    cases = {f"x = {float(at):g}": float(b / a) for at, a, b in zip(x, exact, by_tanh, strict=True)}
    return compare(1, cases, f"never more than {largest:.5f} apart; at x = −3 off by {abs(cases['x = -3'] - 1):.0%}")


def dropout_keeps_means() -> Checked:
    """Mean of many dropped-out ones, p = 0.1 and 0.5; their variance, which was 0, becomes p / (1 - p)."""
    ones, generator = torch.ones(DRAWN), torch.Generator().manual_seed(0)
    drawn = {f"p = {p:g}": dropout(ones, p, True, generator) for p in (0.1, 0.5)}
    means = {name: float(values.mean()) for name, values in drawn.items()}
    words = [f"mean {means[name]:.3f}, variance {float(values.var()):.2f} ({name})" for name, values in drawn.items()]
    return compare(1, means, ", ".join(words))


def heads_are_free() -> Checked:
    """Parameters of GPT-2 small cut into other numbers of heads, over those with 12."""
    config = presets.gpt2_small()
    base = parameters(config).total
    cases = {f"{n} heads": parameters(config.changed(n_heads=n)).total / base for n in (1, 4, 24)}
    grouped = parameters(config.changed(n_kv_heads=1)).total / base
    return compare(1, cases, f"the same with 1, 4 and 24 heads; with shared keys and values {grouped:.3f}")


@torch.no_grad()
def parts_add_up(model: Transformer, tokenizer: Any) -> Checked:
    """The contributions of all heads and layers to the logit of the likeliest next token, summed, over that logit."""
    ids = tokenizer.encode(TEXT)
    logits = next_logits(model, ids)
    token = int(logits.argmax())
    total, said = contributions(model, stream_parts(model, ids, len(ids) - 1), token).total, float(logits[token])
    return compare(said, {"sum of parts": total}, f"{total:.4f}, where the model says {said:.4f}")


CLAIMS = (
    Claim(
        key="two_thirds",
        name="two thirds are feed-forward",
        compute=two_thirds,
        chapter="Block",
        said="Two thirds of a block's parameters are feed-forward",
        where="arXiv:2012.14913, section 1",
        why="8 d² of 12 d² where d_ff = 4 d. Shared keys and values, wider layers and experts raise it, "
        "cross-attention lowers it.",
        see="feedforward?panel=share",
    ),
    Claim(
        key="norms",
        name="norms cost nothing",
        compute=norms_cost_nothing,
        chapter="Block",
        said="Normalisation costs next to no parameters",
        where="left out of every count, as in arXiv:2001.08361",
        why="One or two parameters per feature, where a matrix has d of them.",
        see="parameters?model=gpt2_small",
    ),
    Claim(
        key="gated",
        name="8/3 d keeps a gate's cost",
        compute=gated_width,
        chapter="Block",
        said="With width 8/3 d, a gated layer costs what a plain one of 4 d does",
        where="arXiv:2002.05202, section 2",
        why="Three matrices of 8/3 are two of 4; only rounding to a multiple of 8 is left.",
        see="feedforward?panel=gates",
    ),
    Claim(
        key="root",
        name="1/√(2N) at any depth",
        compute=variance_by_depth,
        chapter="Block",
        said="1/√(2N) makes what the blocks add the same at any depth",
        where="GPT-2 report (2019), section 2.3",
        why="2N writes with 1/2N of the variance each. Without the factor the variance grows with N.",
        see="residuals?part=Initial+weights",
    ),
    Claim(
        key="constant",
        name="1/√(2N) keeps the variance",
        compute=stream_stays,
        chapter="Block",
        said="1/√(2N) keeps the variance of the stream constant",
        where="said of GPT-2's initial weights",
        why="It keeps what is added from growing with depth. In a wide model that sum dwarfs the embedding.",
        see="residuals?part=Initial+weights",
    ),
    Claim(
        key="gelu",
        name="the tanh formula is GELU",
        compute=tanh_is_gelu,
        chapter="Block",
        said="GELU is 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))",
        where="an approximation in arXiv:1606.08415, section 2",
        why="Close everywhere in absolute terms; far below 0, where both are tiny, the share is large.",
        see="feedforward?panel=activations&act=gelu_tanh",
    ),
    Claim(
        key="dropout",
        name="dropout keeps the mean",
        compute=dropout_keeps_means,
        chapter="Block",
        said="Dropout leaves the mean as it was",
        where="arXiv:1207.0580, with the division at training time",
        why="What stays is divided by 1 − p. The variance is another matter: it is what makes training noisy.",
        see="residuals?part=Dropout",
    ),
    Claim(
        key="heads",
        name="more heads, more parameters?",
        compute=heads_are_free,
        chapter="Block",
        said="The number of heads changes no parameter count",
        where="arXiv:1706.03762, section 3.2.2",
        why="Heads cut the same matrices. It ends where heads share keys and values.",
        see="heads?show=cuts",
    ),
    Claim(
        key="sum",
        name="a logit is a sum of parts",
        compute=parts_add_up,
        chapter="Inside",
        said="A logit is the sum of the contributions of all parts",
        where="transformer-circuits.pub/2021/framework",
        why="The stream is a sum and the unembedding linear, once the final norm's divisor is held fixed.",
        see="stream?show=who",
    ),
)
