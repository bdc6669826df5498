"""Every shipped model has a card that says how large it is and how it was measured."""

import pytest

from tfcore.loading.checkpoints import PRETRAINED, load, reading, shipped
from tfcore.measures.parameter_count import parameters


@pytest.mark.parametrize("name", [*shipped(), *reading("pictures"), *reading("sound")])
def test_the_card_counts_the_parameters_and_names_its_command(name):
    card = (PRETRAINED / name / "CARD.md").read_text("utf-8")
    config = load(name, device="cpu")[0].config
    assert f"| parameters | {parameters(config).total:,} (" in card
    assert f"python -m tfcore.training {name} " in card
    assert " --measure`" in card


def test_all_that_is_shipped_together_is_small():
    """Models and what was measured and made for them; seven transcoders of smollm2 are 42 MB of it, its lenses 6.7."""
    assert sum(path.stat().st_size for path in PRETRAINED.rglob("*") if path.is_file()) <= 98_000_000
