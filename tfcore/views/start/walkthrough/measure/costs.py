"""The cost of each stage of a walk: parameters and operations, from the config."""

from dataclasses import dataclass, replace

from tfcore.config import ModelConfig
from tfcore.measures.parameter_count import (
    activation_weights,
    convolution_weights,
    expert_parameters,
    feed_forward_weights,
    parameters,
    place_products,
    qk_norm_weights,
)

_FEED_FORWARD = ("feed-forward", "router", "experts", "shared experts")  # what parameters() calls its parts


@dataclass(frozen=True, slots=True)
class StageCost:
    """The cost of one stage.

    Args:
        parameters: that the stage uses, all heads and experts included.
        flops: floating-point operations on the whole text, all heads together.
        product: they are those of matrix products, counted exactly (2 for a multiplication and its addition);
            otherwise additions, divisions, exponentials and so on, which are left out in arXiv:2001.08361.
    """

    parameters: int = 0
    flops: int = 0
    product: bool = False


def stage_cost(config: ModelConfig, stage: str, n: int) -> StageCost:
    """The cost of one stage on a text of n tokens; nothing for a stage that only moves or names numbers."""
    parts = {**_read(config, n), **_attention(config, n), **_feed_forward(config, n), **_predict(config, n)}
    return parts.get(stage, StageCost())


def feed_forward_share(config: ModelConfig, layer: int) -> float:
    """The parameters of a block's feed-forward layer, or of its router and experts, over those of the block."""
    counts = list(parameters(config).by_layer.values())[layer]
    return sum(counts.get(part, 0) for part in _FEED_FORWARD) / sum(counts.values())


def _matrix(n: int, rows: int, columns: int, bias: bool) -> StageCost:
    return StageCost(rows * columns + columns * bias, 2 * n * rows * columns, True)


def _norm(config: ModelConfig, n: int, width: int | None = None) -> StageCost:
    """RMSNorm: square, sum, divide, scale. LayerNorm: sum and subtract besides, and the shift where there is one."""
    layer = config.norm.kind == "layernorm"
    shift = layer and config.has_norm_bias
    width = width or config.d_model
    return StageCost(width * (1 + shift), n * width * (4 + 2 * layer + shift))


def _read(config: ModelConfig, n: int) -> dict[str, StageCost]:
    d = config.embed_size
    table = config.max_seq_len * d if config.positions.learned else 0
    return {
        "embedding": StageCost(config.vocab_size * d),
        "scaling": StageCost(0, n * d),
        "segments": StageCost(config.n_segments * d, n * d),
        "positions": StageCost(table, n * d),
        "embedding-norm": _norm(config, n, d),
        "embedding-projection": _matrix(n, d, config.d_model, config.bias),
    }


def _attention(config: ModelConfig, n: int) -> dict[str, StageCost]:
    d, heads, kv_heads, d_head = config.d_model, config.attention.n_heads, config.attention.kv_heads, config.head_size
    turned, pairs = n * (heads + kv_heads) * d_head, n * n * heads
    buckets = config.positions.buckets * heads if config.positions.kind == "relative" else 0
    bias = _place_products(config, n) if config.positions.kind == "disentangled" else StageCost(buckets, pairs)
    norms, sinks = _norm(config, n), heads if config.attention.sinks else 0
    return {
        "norm-1": norms,
        "qkv": _matrix(n, d, (heads + 2 * kv_heads) * d_head, config.has_qkv_bias),
        "clip": StageCost(0, n * (heads + 2 * kv_heads) * d_head),
        "qk-norm": StageCost(qk_norm_weights(config), 4 * turned),
        # two products and a sum for each number that is turned
        "rotation": StageCost(0, 3 * n * (heads + kv_heads) * (config.positions.rotated or d_head)),
        "scores": StageCost(0, 2 * pairs * d_head, True),
        "scaled": StageCost(0, pairs),
        "softcap": StageCost(0, 3 * pairs),  # divide, tanh, multiply
        "bias": bias,
        "softmax": StageCost(sinks, 4 * (pairs + n * sinks)),  # subtract the largest, exponential, sum, divide
        "values": StageCost(0, 2 * pairs * d_head, True),
        "output": _matrix(n, heads * d_head, d, config.has_out_bias),
        "norm-1-after": norms,
        "add-1": StageCost(0, n * d),
    }


def _place_products(config: ModelConfig, n: int) -> StageCost:
    """Queries and keys of relative positions, made from their vectors, and their products with those of the tokens."""
    positions, width = config.positions, config.attention.n_heads * config.head_size
    vectors = positions.buckets * config.d_model + positions.normed * _norm(config, n).parameters
    made = _matrix(positions.buckets, config.d_model, width, config.has_qkv_bias)
    products = place_products(config)
    own = 0 if positions.shared else products * made.parameters
    return StageCost(vectors + own, products * (made.flops + 2 * n * positions.buckets * width), True)


def _feed_forward(config: ModelConfig, n: int) -> dict[str, StageCost]:
    d, width, gates = config.d_model, config.ff_size, 1 + (config.feed_forward.is_gated)
    parts = {
        "norm-2": _norm(config, n),
        "up": _matrix(n, d, width * gates, config.bias),
        # the function, and the product with the other half
        "activation": StageCost(activation_weights(config), n * width * gates),
        "down": _matrix(n, width, d, config.bias),
        "norm-2-after": _norm(config, n),
        "add-2": StageCost(0, n * d),
        "convolution": _matrix(n, convolution_weights(config) // d, d, True),
        "add-3": StageCost(0, n * d),
        "norm-3": _norm(config, n),
    }
    if config.experts is not None:
        one = feed_forward_weights(config, config.expert_size)
        shared = feed_forward_weights(config, config.experts.n_shared * config.expert_size)
        parts["router"] = _matrix(n, d, config.experts.n_experts, config.experts.bias)
        parts["experts"] = StageCost(
            config.experts.n_experts * expert_parameters(config) + shared,
            2 * n * (config.experts.top_k * one + shared),
            True,
        )
    return parts


def _predict(config: ModelConfig, n: int) -> dict[str, StageCost]:
    d, vocab, biases = config.embed_size, config.vocab_size, config.vocab_size * config.has_logit_bias
    dense, norm = _matrix(n, config.d_model, d, config.mlm_bias), _norm(config, n, d)
    masked = config.head == "mlm"  # whose biases stand with its dense layer
    return {
        "final-norm": _norm(config, n),
        "mlm-head": replace(dense, parameters=dense.parameters + norm.parameters + biases * masked),
        "logits": StageCost(vocab * d + biases * (not masked), 2 * n * vocab * d, True),
        "probabilities": StageCost(0, 4 * n * vocab),
    }
