"""What every sentence with a number is built from: a value that a test can compare, and that says itself."""

from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding(ABC):
    """What a result shows: a field for each number and name that is stated, and the sentence that states them.

    Captions, alternative texts and exported programs all print the same finding, so a test of its fields, against a
    computation written apart, and one of its sentence cover every place where it stands.
    """

    @property
    @abstractmethod
    def sentence(self) -> str:
        """One sentence or a few, ending with a full stop."""

    def __str__(self) -> str:
        return self.sentence
