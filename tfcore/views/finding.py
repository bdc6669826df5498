"""Findings, of which every sentence with a number is built: a value that a test can compare, and that says itself."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any

from tfcore.measures.quantities import amount, both, counted, percent, power, short, whole

# How a template of `state` writes a number, besides the forms of format(): "{n:whole}", "{n:counted layer}".
FORMS: dict[str, Callable[[Any], str]] = {
    "bytes": both,  # 10.7 GB (10.0 GiB)
    "size": amount,  # 10.7 GB
    "whole": whole,  # 124,439,808
    "percent": percent,  # 12 %, 0.12 %
    "short": short,  # 124.4 M
    "power": power,  # 5.8 × 10²³
}
COUNTED = "counted "  # 1 layer, 2 layers
EACH = "each "  # of a mapping, each of its values in the form that follows: int8 1.93; int4 1.99


@dataclass(frozen=True, slots=True)
class Finding(ABC):
    """A statement about a result: a field for each number and name that is stated, and the sentence that states them.

    Captions, alternative texts and exported programs all print the same finding, so a test of its fields, against a
    computation written apart, and one of its sentence cover every place where it stands.
    """

    @property
    @abstractmethod
    def sentence(self) -> str:
        """One sentence or a few, ending with a full stop."""

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, slots=True)
class Statement(Finding):
    """A finding whose sentence has no branch: a template, and a value for each of its names.

    Args:
        name: of what is stated.
        template: as for str.format, with the forms of FORMS.
        values: by name.
    """

    name: str
    template: str
    values: Mapping[str, Any]

    @property
    def sentence(self) -> str:
        return _WORDS.vformat(self.template, (), self.values)


def state(name: str, template: str, /, **values: Any) -> Statement:
    """`state("cache", "It holds {held:size}.", held=n)`.

    Raises:
        KeyError: a name of the template without a value.
    """
    return Statement(name, template, values)


class _Words(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec.startswith(COUNTED):
            return counted(value, format_spec.removeprefix(COUNTED))
        if format_spec.startswith(EACH):
            form = format_spec.removeprefix(EACH)
            return "; ".join(f"{name} {self.format_field(one, form)}" for name, one in value.items())
        return FORMS[format_spec](value) if format_spec in FORMS else format(value, format_spec)


_WORDS = _Words()
