"""How many floating-point operations a model needs: arithmetic from its config, nothing is run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.config import ModelConfig
from tfcore.measures.parameter_count import (
    EMBEDDINGS,
    Layer,
    attention_weights,
    convolution_weights,
    feed_forward_weights,
    layers,
    mixer_weights,
    parameters,
    place_products,
)
from tfcore.measures.precision import stored_bytes
from tfcore.part_configs import Mixer, MixerConfig
from tfcore.presets import gpt2_small

Pairs = Literal["all", "visible"]
# Products whose number grows with the square of the length; the others are products with weights.
PAIRWISE = ("attention scores", "attention values", "cross-attention scores", "cross-attention values")
ONCE = ("pooler", "position matrices")  # as many, however long the text is


@dataclass(frozen=True, slots=True)
class FlopCount:
    """The floating-point operations of matrix products: 2 for each multiplication and its addition.

    Args:
        by_component: component -> operations of the forward pass over one sequence.
        tokens: of that sequence; of an encoder-decoder those of both sides.
        n: active parameters without the embedding and unembedding tables, the N of arXiv:2001.08361.
    """

    by_component: dict[str, int]
    tokens: int
    n: int

    @property
    def sequence(self) -> int:
        """Forward pass over one whole sequence."""
        return sum(self.by_component.values())

    @property
    def forward(self) -> float:
        """Forward pass, per token."""
        return self.sequence / self.tokens

    @property
    def backward(self) -> float:
        """Backward pass, per token: of each product y = W x the gradients of W and of x, so twice the forward."""
        return 2 * self.forward

    @property
    def training(self) -> float:
        """Forward and backward pass, per token."""
        return self.forward + self.backward

    @property
    def six_n(self) -> int:
        """The rule of thumb for training, per token: 6 N (arXiv:2001.08361, section 2.1).

        It leaves out the products of queries with keys and of weights with values, and the unembedding. It takes
        every token to go through all blocks, which in an encoder-decoder none does.
        """
        return 6 * self.n


@dataclass(frozen=True, slots=True)
class RuleError:
    """One model at one length of text.

    Args:
        exact: operations of training for a token, all matrix products of forward and backward pass.
        of_all: exact over 6 N with every active parameter in N, embeddings included (as arXiv:2203.15556 counts).
        without_embeddings: exact over 6 N without the embedding tables (as arXiv:2001.08361 counts).
    """

    exact: float
    of_all: float
    without_embeddings: float


@dataclass(frozen=True, slots=True)
class LengthCost:
    """The forward pass over sequences of n tokens.

    Args:
        n: tokens.
        cells: n * n, the score matrix of one head.
        linear: FLOPs of the products with weights, which grow with n.
        squared: FLOPs of queries with keys and of weights with values, 4 n^2 d a layer.
        matrices: bytes of the score matrices of all heads of one layer, if they are written out.
        vectors: bytes of queries, keys, values and outputs of one layer.
        crossing: the length at which both kinds of FLOPs are equal.
    """

    n: Int[ndarray, " length"]
    cells: Int[ndarray, " length"]
    linear: Float[ndarray, " length"]
    squared: Float[ndarray, " length"]
    matrices: Int[ndarray, " length"]
    vectors: Int[ndarray, " length"]
    crossing: float

    @property
    def total(self) -> Float[ndarray, " length"]:
        """FLOPs in all."""
        return self.linear + self.squared

    @property
    def share(self) -> Float[ndarray, " length"]:
        """The share of FLOPs that grow with n squared; 0 for an empty sequence."""
        return self.squared / np.maximum(self.total, 1)


def flops(config: ModelConfig, seq: int, *, decoder_seq: int | None = None, pairs: Pairs = "all") -> FlopCount:
    """Count the operations of one sequence without a cache.

    Counted are matrix products: every weight of a linear layer costs 2 a token, every (query, key) pair
    2 d_head in each head for its score and 2 d_head for its value. Of latent attention keys and values are counted as
    made from the latents once for each token, as without a cache; of disentangled positions every query (and key) is
    multiplied with all keys (and queries) of relative positions, which are made once a sequence. Looking up embeddings
    costs 0. Norms, softmax, activations and biases are left out, as in arXiv:2001.08361, table 1.

    Args:
        config: any valid config.
        seq: tokens; of an encoder-decoder those the encoder reads.
        decoder_seq: tokens of an encoder-decoder's decoder; None means as many as seq.
        pairs: "all" counts every (query, key) pair, as code does that fills the whole matrix; "visible" only those
            the causal mask and the window let through, about half under a causal mask.

    Raises:
        ValueError: lengths that do not fit the config, or an unknown choice of pairs.
    """
    if pairs not in get_args(Pairs):
        raise ValueError(f"pairs={pairs!r} is not one of {', '.join(get_args(Pairs))}")
    n_encoder, n_decoder = lengths(config, seq, decoder_seq)
    total = Counter(_ends(config, n_encoder, n_decoder))
    for layer in layers(config):
        total.update(_block(config, layer, n_encoder, n_decoder, pairs))
    count = parameters(config)
    n = count.active - sum(count.by_component.get(name, 0) for name in EMBEDDINGS)
    return FlopCount(dict(total), n_encoder + n_decoder, n)


def rule_errors(configs: Mapping[str, ModelConfig], seq: int) -> dict[str, RuleError]:
    """Count each model on texts of `seq` tokens, longer than it may ever have been trained for, every pair counted."""
    errors = {}
    for name, config in configs.items():
        count = flops(replace(config, max_seq_len=max(config.max_seq_len, seq)), seq)
        exact, n = count.training, parameters(config).active
        errors[name] = RuleError(exact, exact / (6 * n), exact / count.six_n)
    return errors


def length_cost(config: ModelConfig, lengths: Sequence[int]) -> LengthCost:
    """Count a model of this shape at lengths it may never have been trained for; every pair counts, also masked ones.

    Matrix products only, as in arXiv:2001.08361, table 1; memory in half precision. In an encoder-decoder both sides
    read n tokens.
    """
    n = np.array(lengths, dtype=np.int64)
    one = flops(config, 1).by_component
    pairwise = sum(one.get(name, 0) for name in PAIRWISE)
    once = sum(one.get(name, 0) for name in ONCE)
    each = sum(one.values()) - pairwise - once
    # Q and K, V and O
    width = (config.attention.n_heads + config.attention.kv_heads) * (config.head_size + config.value_size)
    return LengthCost(
        n=n,
        cells=n * n,
        linear=float(each) * n + once,
        squared=float(pairwise) * n.astype(np.float64) ** 2,
        matrices=stored_bytes(config.attention.n_heads, "float16") * n * n,
        vectors=stored_bytes(width, "float16") * n,
        crossing=each / pairwise,
    )


def sequence_cost(lengths: Sequence[int]) -> LengthCost:
    """The cost of sequences of any kind in a Transformer of 12 layers, width 768 and 12 heads, the size of GPT-2 small,
    BERT base and ViT-Base, without embeddings: 24 n d^2 + 4 n^2 d floating-point operations a layer.

    24 n d^2: queries, keys, values and output (4 d^2 weights) and a feed-forward layer of 4 d (8 d^2), two operations
    a weight and token. 4 n^2 d: two for each score and two for each value, over n * n pairs and d numbers.

    Source: arXiv:2001.08361, table 1.
    """
    return length_cost(replace(gpt2_small(), head="none"), lengths)


def lengths(config: ModelConfig, seq: int, decoder_seq: int | None = None) -> tuple[int, int]:
    """Tokens that the encoder and the decoder read; 0 for one that is not there.

    Raises:
        ValueError: no token, more than max_seq_len, or a second length where there is one stack.
    """
    both = config.architecture == "encoder-decoder"
    if decoder_seq is not None and not both:
        raise ValueError(
            f"decoder_seq={decoder_seq} goes with architecture='encoder-decoder', not {config.architecture!r}; "
            "leave it None"
        )
    for name, value in (("seq", seq), ("decoder_seq", seq if decoder_seq is None else decoder_seq)):
        if not 1 <= value <= config.max_seq_len:
            raise ValueError(f"{name}={value} must be between 1 and max_seq_len={config.max_seq_len}")
    if both:
        return seq, seq if decoder_seq is None else decoder_seq
    return (seq, 0) if config.architecture == "encoder" else (0, seq)


def visible_pairs(config: ModelConfig, layer: Layer, seq: int) -> int:
    """How many (query, key) pairs the self-attention of a layer lets through in a sequence."""
    reach = min(config.window_of(layer.index) or seq, seq)  # itself included
    before = reach * (reach + 1) // 2 + (seq - reach) * reach  # sum over queries of min(place + 1, reach)
    return 2 * before - seq if layer.encoder else before


def _block(config: ModelConfig, layer: Layer, n_encoder: int, n_decoder: int, pairs: Pairs) -> dict[str, int]:
    """The operations of one block over its whole sequence."""
    tokens = n_encoder if layer.encoder else n_decoder
    d, heads = config.d_model, config.attention.n_heads
    d_q, d_kv = heads * config.head_size, config.attention.kv_heads * config.head_size
    seen = tokens * tokens if pairs == "all" else visible_pairs(config, layer, tokens)
    counts = {}
    if config.attends(layer.index):
        counts = {
            "attention": 2 * tokens * attention_weights(config),
            "attention scores": 2 * d_q * seen,
            "attention values": 2 * heads * config.value_size * seen,
        }
    if (kind := config.carried_by(layer.index)) is not None:
        counts |= {"mixer": 2 * tokens * mixer_weights(config, kind), "state": tokens * _state(config, kind)}
    if products := place_products(config):
        counts["position matrices"] = 2 * products * config.positions.buckets * d * d_q
        counts["position scores"] = 2 * products * config.positions.buckets * d_q * tokens
    if layer.cross:
        counts["cross-attention"] = 4 * d * (d_q * tokens + d_kv * n_encoder)
        counts["cross-attention scores"] = counts["cross-attention values"] = 2 * d_q * tokens * n_encoder
    if layer.plain:
        counts["feed-forward"] = 2 * tokens * feed_forward_weights(config, config.ff_size)
    if layer.mixture and (experts := config.experts) is not None:
        size = config.expert_size
        counts["router"] = 2 * tokens * d * experts.n_experts
        counts["experts"] = 2 * tokens * experts.top_k * feed_forward_weights(config, size)
        if experts.n_shared:
            counts["shared experts"] = 2 * tokens * feed_forward_weights(config, experts.n_shared * size)
    if config.convolves_input(layer.index):
        counts["input convolution"] = 2 * tokens * convolution_weights(config)
    return counts


def _state(config: ModelConfig, kind: Mixer) -> int:
    """Operations of a token on what a mixer carries, going from token to token: 2 for each number of the state that is
    written and 2 for each that is read, with the delta rule once more; and those of its convolution."""
    own, (d_key, d_value) = config.mixer or MixerConfig(), config.mixer_sizes
    if kind == "conv":
        return 2 * own.width * config.d_model
    channels = 2 * own.key_heads * d_key + own.n_heads * d_value
    products = 3 if kind == "delta" else 2
    return 2 * products * own.n_heads * d_key * d_value + (2 * own.width * channels if own.width > 1 else 0)


def _ends(config: ModelConfig, n_encoder: int, n_decoder: int) -> dict[str, int]:
    """The operations before and after the blocks."""
    d, embedded, last = config.d_model, config.embed_size, n_decoder or n_encoder
    counts = {
        "embedding projection": 2 * last * d * embedded if config.d_embed is not None else 0,
        "mlm head": 2 * last * d * embedded if config.head == "mlm" else 0,
        "pooler": 2 * d * d if config.pooler else 0,
        "class head": _class_head(config, last),
        "unembedding": 2 * last * embedded * config.vocab_size if config.scores_tokens else 0,
    }
    return {component: count for component, count in counts.items() if count}


def _class_head(config: ModelConfig, last: int) -> int:
    """The classes' scores, at every token of the last stack, as `Transformer.forward` computes them."""
    if (classes := config.classes) is None:
        return 0
    return 2 * last * config.d_model * (len(classes.labels) + (config.d_model if classes.dense is not None else 0))
