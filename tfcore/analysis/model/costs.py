"""What a model costs, in one view: parameters by the formula and exactly, operations, memory; and which models fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tfcore.analysis.finding import Finding
from tfcore.config import ModelConfig
from tfcore.device import device
from tfcore.loading.weights import free_memory
from tfcore.measures.flop_count import FlopCount, flops
from tfcore.measures.kv_bytes import cache_bytes, cache_shape
from tfcore.measures.memory_use import MemoryUse, Optimizer, memory
from tfcore.measures.parameter_count import ParameterCount, parameters, rule_of_thumb
from tfcore.measures.precision import Dtype, Precision, stored_bytes
from tfcore.measures.quantities import amount, gigabytes


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
class ParametersFound(Finding):
    """How many parameters a model has, and where most of them are.

    Args:
        total, active: see ParameterCount.
        largest: the component with the most parameters, `largest_count` of them.
        blocks: of all stacks.
        formula: what 12 N d^2 + V d says.
    """

    name: str
    total: int
    active: int
    largest: str
    largest_count: int
    blocks: int
    formula: int

    @property
    def active_share(self) -> str:
        return f"{self.active / self.total:.0%} of all"

    @property
    def formula_error(self) -> str:
        off = self.formula / self.total - 1
        return "within 0.05%" if abs(off) < 5e-4 else f"{off:+.1%} off"

    @property
    def sentence(self) -> str:
        return (
            f"{self.name} has {self.total:,} parameters; the largest part, {self.largest_count / self.total:.0%}, is "
            f"{self.largest}. {self.blocks} blocks."
        )


@dataclass(frozen=True, slots=True)
class MemoryFound(Finding):
    """The memory of a model in training and in generating.

    Args:
        dtype: of weights, activations and cache.
        batch, seq: sequences at once, and the tokens of each.
        training, generation: bytes; see MemoryUse.
        int8, int4: bytes of the weights alone in these data types.
        cut: the models that read fewer tokens than were asked for, and how many they read.
    """

    name: str
    dtype: Dtype
    batch: int
    seq: int
    training: int
    generation: int
    int8: int
    int4: int
    cut: tuple[tuple[str, int], ...]

    @property
    def sentence(self) -> str:
        cut = "".join(f" {name} reads {seq:,} at most." for name, seq in self.cut)
        return (
            f"{self.name} in {self.dtype}, batch of {self.batch} x {self.seq:,} tokens: {self.training / 1e9:,.2f} GB "
            f"to train with AdamW, {self.generation / 1e9:,.2f} GB to generate.{cut} Weights alone, quantised: "
            f"{amount(self.int8)} in int8, {amount(self.int4)} in int4, without the scales these need besides."
        )


@dataclass(frozen=True, slots=True)
class BuiltAgain(Finding):
    """Whether the model itself has as many parameters as were counted.

    Args:
        built: parameters of the model, in Markdown's bold in the sentence.
        counted: from its config.
    """

    built: int
    counted: int

    @property
    def sentence(self) -> str:
        same = "the same" if self.built == self.counted else "not the same: please report this"
        return f"Built on torch's *meta* device, the model has **{self.built:,}** parameters: {same}."


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


@dataclass(frozen=True, slots=True)
class ModelsThatFit(Finding):
    """How many models fit into memory, and whether one of them does.

    Args:
        name, need, fits: of that one; "" and None where none is asked about.
        fitting, models: how many fit, of how many.
        room: bytes that are free; None where the system does not tell.
    """

    name: str
    need: Need | None
    fits: bool
    fitting: int
    models: int
    room: int | None

    @property
    def sentence(self) -> str:
        one = ""
        if self.need is not None:
            one = (
                f"{self.name} needs {gigabytes(self.need.weights)} for {self.need.parameters:,} parameters and "
                f"{gigabytes(self.need.cache)} for the KV cache of {self.need.tokens:,} tokens, and "
                f"{'fits' if self.fits else 'does not fit'}; "
            )
        free = "How much is free the system does not tell" if self.room is None else f"{gigabytes(self.room)} are free"
        return f"{one}{self.fitting} of these {self.models} models fit. {free}."


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


def compared(configs: Mapping[str, ModelConfig], batch: int, seq: int, dtype: Dtype) -> dict[str, ModelCosts]:
    """The costs of several models, by name."""
    return {name: model_costs(config, batch=batch, seq=seq, dtype=dtype) for name, config in configs.items()}


def parameters_found(name: str, costs: ModelCosts) -> ParametersFound:
    """The count of a model and its largest component."""
    parts = costs.count.by_component
    largest = max(parts, key=lambda part: parts[part])
    return ParametersFound(
        name, costs.count.total, costs.count.active, largest, parts[largest], len(costs.count.by_layer), costs.formula
    )


def memory_found(costs: Mapping[str, ModelCosts], batch: int, seq: int, dtype: Dtype) -> MemoryFound:
    """The memory of the first model, and which of all read fewer than `seq` tokens.

    Args:
        costs: by name, as `compared` counts them for this batch, seq and dtype.
    """
    name, first = next(iter(costs.items()))
    return MemoryFound(
        name=name,
        dtype=dtype,
        batch=batch,
        seq=first.seq,
        training=first.memory.training,
        generation=first.memory.generation,
        int8=first.weights("int8"),
        int4=first.weights("int4"),
        cut=tuple((name, one.seq) for name, one in costs.items() if one.seq < seq),
    )


def cost_row(costs: ModelCosts) -> dict[str, str]:
    """What a table says of a model beside another."""
    return {
        "parameters": f"{costs.count.total:,}",
        "active": f"{costs.count.active:,}",
        "sequence length": f"{costs.seq:,}",
        "GFLOPs per token": f"{costs.flops.forward / 1e9:,.2f}",
        "KV cache (bytes per token)": f"{costs.cached:,}",
    }


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


def models_that_fit(rows: Sequence[Need], name: str, room: int | None, limit: int | None) -> ModelsThatFit:
    """Compare what models need with what there is.

    Args:
        rows: the first of them is that of `name`, unless that is "".
        room, limit: bytes that are free, and that may be used; None where there is no bound.
    """
    end = min((bound for bound in (room, limit) if bound is not None), default=None)
    fitting = [end is None or row.fits(end) for row in rows]
    return ModelsThatFit(name, rows[0] if name else None, fitting[0], sum(fitting), len(rows), room)


def free_now() -> int | None:
    """Bytes that are free where models go now; None where the system does not tell."""
    return free_memory(device())
