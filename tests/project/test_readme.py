"""What the README counts is so many."""

from pathlib import Path

import pytest

from tfcore import shipped
from tfcore.analysis.reference.folklore_table import CLAIMS
from tfcore.analysis.reference.history import milestones
from tfcore.analysis.training.known_models import MODELS

README = (Path(__file__).resolve().parents[2] / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    "said", [f"{len(MODELS)} real models", f"{len(milestones())} entries", f"{len(CLAIMS)} figures and rules"]
)
def test_numbers(said):
    assert said in README


def test_the_models_that_ship_are_counted_and_named():
    words = ("six", "seven", "eight", "nine")
    assert f"{words[len(shipped()) - 6]} trained here" in README
    assert all(f"`{name}`" in README for name in shipped())
