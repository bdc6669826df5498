"""What the README and the texts beside it say of the app is so: counts, names, pages."""

import re
from pathlib import Path

import pytest

from tfcore import shipped
from tfcore.loading import real_models
from tfcore.loading.checkpoints import reading
from tfcore.views.reference.folklore.measure import CLAIMS
from tfcore.views.reference.history.measure import milestones
from tfcore.views.training.scaling.measure.known_models import MODELS

ROOT = Path(__file__).resolve().parents[2]
PAGES, MODELS_THAT_SHIP, COMPARISON = (
    (ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in ("pages", "models", "comparison")
)


@pytest.mark.parametrize(
    "said", [f"{len(MODELS)} real models", f"{len(milestones())} entries", f"{len(CLAIMS)} figures and rules"]
)
def test_numbers(said):
    assert said in PAGES


def test_the_models_that_ship_are_counted_and_named():
    words = ("six", "seven", "eight", "nine")
    assert f"{words[len(shipped()) - 6]} trained here" in COMPARISON
    assert set(re.findall(r"^\| \[`([\w-]+)`\]", MODELS_THAT_SHIP, re.MULTILINE)) == {
        *shipped(),
        *reading("pictures"),
        *reading("sound"),
        *(model.name for model in real_models.MODELS),
    }


def test_the_readme_is_short_and_shows_one_picture_and_six():
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= 150
    assert len(re.findall(r"!\[[^]]+\]\(assets/previews/", text)) == 6
    assert len(re.findall(r"!\[", text)) == 7
