"""What models need of memory to write a text."""

from collections.abc import Mapping
from dataclasses import dataclass

from tfcore.config import ModelConfig
from tfcore.device import device
from tfcore.loading.weights import free_memory
from tfcore.measures.memory_use import memory
from tfcore.measures.parameter_count import parameters
from tfcore.measures.precision import Dtype


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
