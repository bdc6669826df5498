"""Findings on what a model costs."""

from collections.abc import Mapping
from dataclasses import dataclass

from tfcore.measures.parameter_count import ParameterCount
from tfcore.measures.precision import Dtype
from tfcore.measures.quantities import amount
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.model.parameters.measure import ModelCosts


@dataclass(frozen=True, slots=True)
class MemoryFound(Finding):
    """The memory of a model in training and in generating.

    Args:
        dtype: of weights, activations and cache.
        batch, seq: sequences at once, and the tokens of each.
        training, generation: bytes; see MemoryUse.
        int8, int4: bytes of the weights alone in these data types.
        cut: the models that read fewer tokens than were asked for, and how many they read.
        counted: whether activations are among the bytes in training.
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
    counted: bool = True

    @property
    def sentence(self) -> str:
        cut = "".join(f" {name} reads {seq:,} at most." for name, seq in self.cut)
        without = "" if self.counted else ", without what layers with a state keep for the backward pass"
        return (
            f"{self.name} in {self.dtype}, batch of {self.batch} x {self.seq:,} tokens: {amount(self.training)} "
            f"to train with AdamW{without}, {amount(self.generation)} to generate.{cut} Weights alone, "
            f"quantised: {amount(self.int8)} in int8, {amount(self.int4)} in int4, without the scales these need "
            "besides."
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


def parameters_found(name: str, count: ParameterCount) -> Statement:
    """The count of a model, and its largest component."""
    parts = count.by_component
    largest = max(parts, key=lambda part: parts[part])
    return state(
        "parameters",
        "{name} has {total:,} parameters; the largest part, {share:.0%}, is {largest}. {blocks} blocks.",
        name=name,
        total=count.total,
        share=parts[largest] / count.total,
        largest=largest,
        blocks=len(count.by_layer),
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
        counted=first.memory.activations is not None,
    )
