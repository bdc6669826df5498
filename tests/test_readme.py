"""What the README counts is so many."""

from pathlib import Path

import pytest

from tfcore.analysis.folklore_table import CLAIMS
from tfcore.analysis.history import milestones
from tfcore.analysis.known_models import MODELS

README = (Path(__file__).resolve().parents[1] / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    "said",
    [f"{len(MODELS)} real models", f"{len(milestones())} entries", f"{len(CLAIMS)} figures and rules"],
)
def test_numbers(said):
    assert said in README
