"""Runs that ship: what is written is read again as it was, to DIGITS digits."""

from dataclasses import dataclass, field

import numpy as np

from tfcore.measures.stored import read, tuples, written


@dataclass(frozen=True)
class Settings:
    kind: str = "a"
    steps: int = 3


@dataclass(frozen=True)
class Look:
    step: int
    loss: tuple[float, float]
    said: tuple[str, str] | None = None


@dataclass(frozen=True)
class Load:
    load: np.ndarray = field(default_factory=lambda: np.array([0.25, 0.75]))


def test_what_is_written_is_read_again(tmp_path):
    runs = {
        Settings(): (Look(0, (1.25, 2.5)), Look(1, (1 / 3, 1e-9), ("<b>“é”", "\n"))),
        Settings("b", 1): (Look(0, (0.0, 1.0)),),
    }
    (tmp_path / "runs.json").write_text(written(runs), "utf-8")
    found = read(tmp_path / "runs.json", Settings, Look, tuples)
    assert found == runs | {Settings(): (runs[Settings()][0], Look(1, (0.3333333, 1e-9), ("<b>“é”", "\n")))}


def test_arrays_are_what_lists_are_made_into(tmp_path):
    (tmp_path / "runs.json").write_text(written({Settings(): [Load()]}), "utf-8")
    ((look,),) = read(tmp_path / "runs.json", Settings, Load, np.array).values()
    np.testing.assert_array_equal(look.load, [0.25, 0.75])


def test_without_a_file_there_are_none(tmp_path):
    assert read(tmp_path / "none.json", Settings, Look, tuples) == {}
