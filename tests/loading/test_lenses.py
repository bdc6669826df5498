"""A lens in a folder: written and read again, and damage refused in one sentence."""

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.small import difference
from tfcore.files import CheckpointError
from tfcore.inspection.affine_lens import AffineLens
from tfcore.loading.checkpoints import PRETRAINED, described, shipped
from tfcore.loading.lenses import FILE, KINDS, folder_of, load_lens, save_lens, with_lens
from tfcore.measures.lenses import stages
from tfcore.training.recipes.lenses import LENSES

STAGES = ("blocks.0.resid_pre", "blocks.0.resid_mid", "blocks.0.resid_post")


@pytest.fixture
def lens():
    made = AffineLens(STAGES, 6)
    with torch.no_grad():
        for part in made.parameters():
            part.copy_(torch.randn(part.shape, generator=torch.Generator().manual_seed(0)))
    return made.requires_grad_(False)


def test_it_comes_back_as_it_went(tmp_path, lens):
    save_lens(tmp_path, lens)
    found, x = load_lens(tmp_path, "tuned"), torch.randn(4, 6)
    assert set(found.stages) == set(STAGES)
    assert found.weight.dtype == torch.float32
    assert not any(parameter.requires_grad for parameter in found.parameters())
    for stage in STAGES:
        assert difference(found(stage, x), lens(stage, x)) < 1e-2  # half precision
    assert difference(found("blocks.1.resid_post", x), x) == 0


def test_in_full_precision_nothing_is_lost(tmp_path, lens):
    save_lens(tmp_path, lens, torch.float32)
    x = torch.randn(4, 6)
    assert difference(load_lens(tmp_path, "tuned")(STAGES[1], x), lens(STAGES[1], x)) == 0


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
    save_lens(tmp_path, lens)
    save_file(change(load_file(tmp_path / FILE)), tmp_path / FILE)
    with pytest.raises(CheckpointError) as refused:
        load_lens(tmp_path, "tuned")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_is_no_file_of_weights_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="is missing"):
        load_lens(tmp_path, "tuned")
    (tmp_path / FILE).write_bytes(b"x" * 99)
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_lens(tmp_path, "tuned")
    with pytest.raises(CheckpointError, match="translate has no tuned lens"):
        load_lens("translate", "tuned")


def test_whole_numbers_come_near_and_take_a_quarter(tmp_path, lens):
    save_lens(tmp_path, lens, torch.int8)
    found, x = load_lens(tmp_path, "jacobian"), torch.randn(4, 6)
    assert load_file(tmp_path / FILE)[f"{STAGES[0]}.weight"].dtype == torch.int8
    assert 0 < difference(found(STAGES[0], x), lens(STAGES[0], x)) < 0.1


def test_scales_that_do_not_fit_are_refused(tmp_path, lens):
    save_lens(tmp_path, lens, torch.int8)
    save_file(load_file(tmp_path / FILE) | {f"{STAGES[0]}.weight.scale": torch.ones(5)}, tmp_path / FILE)
    with pytest.raises(CheckpointError, match="has 5 scales for 6 rows"):
        load_lens(tmp_path, "jacobian")


RECIPES = {"stories": "tuned-lens", "stories-learned": "tuned-lens", "smollm2": "smollm2-lenses"}


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for kind in KINDS for name in with_lens(kind)])
def test_a_shipped_lens_fits_its_model_and_names_its_recipe(name, kind):
    found = load_lens(name, kind)
    card = (PRETRAINED / name / folder_of(kind) / "CARD.md").read_text("utf-8")
    assert f"python -m tfcore.training {RECIPES[name]}" in card
    assert "--measure" in card
    if name not in shipped():
        assert set(found.stages) == set(LENSES.stages)
        return
    config, _ = described(name)
    assert set(found.stages) == set(stages(config)[:-1])
    assert found.weight.shape[1:] == (config.d_model, config.d_model)
