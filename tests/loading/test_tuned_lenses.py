"""A tuned lens in a folder: written and read again, and damage refused in one sentence."""

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.small import difference
from tfcore.files import CheckpointError
from tfcore.inspection.tuned_lens import TunedLens
from tfcore.loading.checkpoints import PRETRAINED, described
from tfcore.loading.tuned_lenses import FILE, FOLDER, load_tuned_lens, save_tuned_lens, with_tuned_lens
from tfcore.measures.lenses import stages

STAGES = ("blocks.0.resid_pre", "blocks.0.resid_mid", "blocks.0.resid_post")


@pytest.fixture
def lens():
    made = TunedLens(STAGES, 6)
    with torch.no_grad():
        for part in made.parameters():
            part.copy_(torch.randn(part.shape, generator=torch.Generator().manual_seed(0)))
    return made.requires_grad_(False)


def test_it_comes_back_as_it_went(tmp_path, lens):
    save_tuned_lens(tmp_path, lens)
    found, x = load_tuned_lens(tmp_path), torch.randn(4, 6)
    assert set(found.stages) == set(STAGES)
    assert found.weight.dtype == torch.float32
    assert not any(parameter.requires_grad for parameter in found.parameters())
    for stage in STAGES:
        assert difference(found(stage, x), lens(stage, x)) < 1e-2  # half precision
    assert difference(found("blocks.1.resid_post", x), x) == 0


def test_in_full_precision_nothing_is_lost(tmp_path, lens):
    save_tuned_lens(tmp_path, lens, torch.float32)
    x = torch.randn(4, 6)
    assert difference(load_tuned_lens(tmp_path)(STAGES[1], x), lens(STAGES[1], x)) == 0


def without(weights, name):
    return {key: value for key, value in weights.items() if key != name}


DAMAGE = {
    "no bias": (lambda weights: without(weights, f"{STAGES[0]}.bias"), "must hold a weight and a bias"),
    "nothing": (lambda _: {}, "must hold a weight and a bias"),
    "another width": (lambda weights: weights | {f"{STAGES[1]}.weight": torch.zeros(6, 5)}, "no map of width 6"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_refused(tmp_path, lens, name):
    change, message = DAMAGE[name]
    save_tuned_lens(tmp_path, lens)
    save_file(change(load_file(tmp_path / FILE)), tmp_path / FILE)
    with pytest.raises(CheckpointError) as refused:
        load_tuned_lens(tmp_path)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_is_no_file_of_weights_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="is missing"):
        load_tuned_lens(tmp_path)
    (tmp_path / FILE).write_bytes(b"x" * 99)
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_tuned_lens(tmp_path)
    with pytest.raises(CheckpointError, match="translate has no tuned lens"):
        load_tuned_lens("translate")


@pytest.mark.parametrize("name", with_tuned_lens())
def test_a_shipped_lens_has_a_translator_for_every_state_but_the_last(name):
    config, _ = described(name)
    found = load_tuned_lens(name)
    assert set(found.stages) == set(stages(config)[:-1])
    assert found.weight.shape[1:] == (config.d_model, config.d_model)
    card = (PRETRAINED / name / FOLDER / "CARD.md").read_text("utf-8")
    assert "python -m tfcore.training tuned-lens --corpus PATH --measure" in card
