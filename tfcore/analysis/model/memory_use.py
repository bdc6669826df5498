"""How much memory a model takes, for training and for generation: arithmetic from its config, nothing is built."""

from dataclasses import dataclass
from typing import Literal, get_args

from tfcore.analysis.model.activation_memory import Kernel, activations
from tfcore.analysis.model.flop_count import lengths
from tfcore.analysis.model.parameter_count import Layer, layers, parameters
from tfcore.config import ModelConfig

Dtype = Literal["float32", "bfloat16", "float16"]
Optimizer = Literal["adamw", "momentum", "sgd"]

SIZES: dict[Dtype, int] = {"float32": 4, "bfloat16": 2, "float16": 2}  # bytes per number
MOMENTS: dict[Optimizer, int] = {"adamw": 2, "momentum": 1, "sgd": 0}  # float32 numbers kept per parameter


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes, by what they hold.

    Args:
        weights: the parameters.
        gradients: one number for each parameter, as precise as the weights.
        optimizer: its moments in float32 and, where the weights are in 16 bits, a float32 copy of them.
        activations: what the forward pass keeps for the backward pass; component -> bytes.
        kv_cache: keys and values of the tokens so far; where there is a window, of the window - 1 tokens before the
            next one.
        cross_cache: keys and values of the encoder's output, which an encoder-decoder keeps besides.
    """

    weights: int
    gradients: int
    optimizer: int
    activations: dict[str, int]
    kv_cache: int
    cross_cache: int

    @property
    def training(self) -> int:
        """Weights, gradients, optimiser state and activations; no temporary buffers."""
        return self.weights + self.gradients + self.optimizer + sum(self.activations.values())

    @property
    def generation(self) -> int:
        """Weights and caches."""
        return self.weights + self.kv_cache + self.cross_cache


def memory(
    config: ModelConfig,
    *,
    batch: int,
    seq: int,
    decoder_seq: int | None = None,
    dtype: Dtype = "float32",
    optimizer: Optimizer = "adamw",
    kernel: Kernel = "fused",
) -> MemoryUse:
    """Count the bytes of training on a batch, and of generating with a cache of the same size.

    A parameter takes 16 bytes with AdamW, in float32 (weight 4, gradient 4, moments 8) as in 16 bits (2, 2, moments
    8, float32 copy 4; arXiv:1910.02054, section 3.1). Activations: see tfcore.analysis.model.activation_memory.

    Args:
        config: any valid config.
        batch: sequences at once.
        seq: tokens of each; of an encoder-decoder those the encoder reads.
        decoder_seq: tokens of an encoder-decoder's decoder; None means as many as seq.
        dtype: of weights, gradients, activations and caches.
        optimizer: "adamw" has two moments, SGD with "momentum" one, "sgd" none.
        kernel: of attention; "fused" keeps no (query, key) matrix, "explicit" keeps every pattern.

    Raises:
        ValueError: an unknown choice, or sizes that do not fit the config.
    """
    for name, value, kind in (("dtype", dtype, Dtype), ("optimizer", optimizer, Optimizer), ("kernel", kernel, Kernel)):
        if value not in get_args(kind):
            raise ValueError(f"{name}={value!r} is not one of {', '.join(get_args(kind))}")
    if batch < 1:
        raise ValueError(f"batch={batch} must be at least 1")
    n_encoder, n_decoder = lengths(config, seq, decoder_seq)
    size, n = SIZES[dtype], parameters(config).total
    kept = sum(_tokens_kept(config, layer, n_decoder) for layer in layers(config) if not layer.encoder)
    crossed = sum(n_encoder for layer in layers(config) if layer.cross)
    per_token = 2 * batch * config.kv_heads * config.head_size * size
    return MemoryUse(
        weights=n * size,
        gradients=n * size,
        optimizer=n * 4 * (MOMENTS[optimizer] + (size < 4)),
        activations=activations(config, batch, n_encoder, n_decoder, size, kernel),
        kv_cache=per_token * kept,
        cross_cache=per_token * crossed,
    )


def _tokens_kept(config: ModelConfig, layer: Layer, seq: int) -> int:
    """Tokens whose keys and values a decoder layer keeps: all, or a ring of those the next token can still see."""
    window = config.window_of(layer.index)
    return seq if window is None else min(seq, window - 1)
