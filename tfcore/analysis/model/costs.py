"""What a model costs, in one view: parameters by the formula and exactly, operations, memory; and which models fit."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tfcore.analysis.inference.kv_cache import cache_bytes, cache_shape
from tfcore.analysis.model.flop_count import FlopCount, flops
from tfcore.analysis.model.memory_use import MemoryUse, Optimizer, memory
from tfcore.analysis.model.parameter_count import ParameterCount, parameters, rule_of_thumb
from tfcore.analysis.precision import Dtype, Precision, stored_bytes
from tfcore.config import ModelConfig
from tfcore.device import device
from tfcore.loading.weights import free_memory


@dataclass(frozen=True, slots=True)
class ModelCosts:
    """Everything that follows from a config by arithmetic.

    Args:
        count: the parameters.
        formula: what 12 N d^2 + V d says instead.
        other_tying: the total, were the unembedding tied where it is not, or not where it is.
        seq: tokens of a text: as many as were asked for, or the model's context where that is less.
        flops: of a text of seq tokens.
        memory: of training on a batch, and of generating.
        cached: bytes of one token in the decoder's own cache; keys and values of the encoder's output, which
            cross-attention keeps besides, are not in it, and an encoder keeps none.
    """

    count: ParameterCount
    formula: int
    other_tying: int
    seq: int
    flops: FlopCount
    memory: MemoryUse
    cached: int

    @property
    def formula_error(self) -> float:
        """The formula over the exact count, minus 1."""
        return self.formula / self.count.total - 1

    def weights(self, precision: Precision) -> int:
        """Bytes of the weights alone."""
        return stored_bytes(self.count.total, precision)


@dataclass(frozen=True, slots=True)
class Need:
    """The memory of one model that writes.

    Args:
        parameters: how many.
        weights: bytes of them.
        cache: bytes of the keys and values of a text.
        tokens: of that text; less than asked for where the model reads no more.
    """

    name: str
    parameters: int
    weights: int
    cache: int
    tokens: int

    @property
    def total(self) -> int:
        return self.weights + self.cache

    def fits(self, room: int) -> bool:
        """Whether it all goes into that many bytes."""
        return self.total <= room


def model_costs(
    config: ModelConfig, *, batch: int = 1, seq: int = 1024, dtype: Dtype = "bfloat16", optimizer: Optimizer = "adamw"
) -> ModelCosts:
    """Count it all; nothing is built. A seq beyond the model's context is cut to it."""
    seq = min(seq, config.max_seq_len)
    tied = replace(config, tie_embeddings=not config.tie_embeddings)
    return ModelCosts(
        parameters(config),
        rule_of_thumb(config),
        parameters(tied).total,
        seq,
        flops(config, seq),
        memory(config, batch=batch, seq=seq, dtype=dtype, optimizer=optimizer),
        cache_bytes(cache_shape(config), 1, 1, dtype) if config.decoder_layers else 0,
    )


def needs(configs: Mapping[str, ModelConfig], tokens: int, dtype: Dtype) -> list[Need]:
    """What each model needs to write a text of that many tokens: b P + 2 b L n_kv d_head n bytes, from its config
    alone.

    Args:
        configs: by name.
        tokens: of the text, n.
        dtype: b is 4 bytes in float32, 2 in 16 bits.
    """
    found = []
    for name, config in configs.items():
        n = min(tokens, config.max_seq_len)
        use = memory(config, batch=1, seq=n, dtype=dtype)
        cache = 0 if config.architecture == "encoder" else use.kv_cache + use.cross_cache
        found.append(Need(name, parameters(config).total, use.weights, cache, n))
    return found


def free_now() -> int | None:
    """Bytes that are free where models go now; None where the system does not tell."""
    return free_memory(device())
