"""The ladder of scaling as its recipe makes it, tiny: for tests of what reads its files."""

from dataclasses import replace
from pathlib import Path
from unittest import mock

from tests.training import tiny_run
from tfcore.measures import scaling_laws
from tfcore.training.recipes import RECIPES

SIZES = ((8, 1), (16, 1), (24, 1), (32, 1), (40, 1))


def write(folder: Path) -> Path:
    """scaling.csv and scaling.json of five sizes with two budgets of a few steps."""
    recipe = replace(tiny_run.in_small("ladder-scaling", 0.0), sizes=SIZES)
    with mock.patch.object(scaling_laws, "STEPS", 10):  # the fit is tested elsewhere
        RECIPES["ladder-scaling"].run(tiny_run.write_corpus(folder / "corpus"), folder, lambda _: None, recipe)
    return folder
