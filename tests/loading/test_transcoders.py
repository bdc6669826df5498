"""Transcoders in a folder: written and read again, and damage refused in one sentence."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.small import difference
from tfcore.files import CheckpointError
from tfcore.inspection.transcoders import SparseAutoencoder, Transcoder, TranscoderConfig
from tfcore.loading.transcoders import load_transcoders, save_transcoders

SHAPE = {"d_model": 12, "n_features": 40, "top_k": 3}


@pytest.fixture
def folder(tmp_path):
    """Two transcoders and an autoencoder."""
    given = [Transcoder(TranscoderConfig.of_mlp(layer, **SHAPE), layer) for layer in (0, 1)]
    given.append(SparseAutoencoder(TranscoderConfig.of_stream(1, **SHAPE), 2))
    save_transcoders(tmp_path, given, card="A card.\n")
    return tmp_path


def test_they_come_back_as_they_went(folder):
    found = load_transcoders(folder)
    assert [one.config.writes for one in found.each] == ["blocks.0.mlp_out", "blocks.1.mlp_out", "blocks.1.resid_post"]
    assert isinstance(found.of_stream, SparseAutoencoder)
    for seed, one in enumerate(found.each):
        assert difference(one.W_enc, Transcoder(one.config, seed).W_enc) < 1e-3  # half precision
        assert one.W_enc.dtype == torch.float32
        assert not any(parameter.requires_grad for parameter in one.parameters())
    assert (folder / "CARD.md").read_text("utf-8") == "A card.\n"


def test_in_full_precision_nothing_is_lost(tmp_path):
    one = Transcoder(TranscoderConfig.of_mlp(0, **SHAPE))
    save_transcoders(tmp_path, [one], torch.float32)
    found = load_transcoders(tmp_path).of_mlps[0]
    x = torch.randn(4, 12)
    assert difference(found.encode(x), one.encode(x)) == 0
    assert load_transcoders(tmp_path).of_stream is None


def test_in_whole_numbers_rows_keep_their_lengths(tmp_path):
    one = Transcoder(TranscoderConfig.of_mlp(0, **SHAPE, first=1))
    with torch.no_grad():
        one.W_enc[3] = 0
    save_transcoders(tmp_path, [one], torch.int8)
    found = load_transcoders(tmp_path).of_mlps[0]
    assert found.config == one.config
    assert difference(found.W_dec.norm(dim=1), torch.ones(40)) < 1e-6
    for name in ("W_enc", "W_dec"):
        rounded, exact = getattr(found, name), getattr(one, name).detach()
        assert 0 < difference(rounded, exact) < 0.01 * float(exact.abs().max())
    assert difference(found.W_enc[3], torch.zeros(12)) == 0
    stored = load_file(tmp_path / "blocks.0.mlp_out.safetensors")
    assert {str(value.dtype) for name, value in stored.items() if name in ("W_enc", "W_dec")} == {"torch.int8"}


def test_scales_of_another_shape_are_refused(tmp_path):
    save_transcoders(tmp_path, [Transcoder(TranscoderConfig.of_mlp(0, **SHAPE))], torch.int8)
    path = tmp_path / "blocks.0.mlp_out.safetensors"
    weights = load_file(path)
    save_file(weights | {"W_enc.scale": torch.ones(7)}, path)
    with pytest.raises(CheckpointError, match="scale"):
        load_transcoders(tmp_path)


def changed(folder, **values):
    said = json.loads((folder / "config.json").read_text("utf-8"))
    said["transcoders"][0] |= values
    (folder / "config.json").write_text(json.dumps(said), "utf-8")


DAMAGE = {
    "no list": (lambda folder: (folder / "config.json").write_text("{}"), "has no list of transcoders"),
    "other shapes": (lambda folder: changed(folder, n_features=41), "its config asks for"),
    "more than all": (lambda folder: changed(folder, top_k=41), "top_k=41 is more than"),
    "an unknown setting": (lambda folder: changed(folder, colour="red"), "colour"),
    "a way out": (lambda folder: changed(folder, writes="../../x"), "which is no activation"),
    "no weights": (lambda folder: (folder / "blocks.1.mlp_out.safetensors").unlink(), "is missing"),
    "no safetensors": (
        lambda folder: (folder / "blocks.1.mlp_out.safetensors").write_bytes(b"x" * 99),
        "cannot be read",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_refused(folder, name):
    damage, message = DAMAGE[name]
    damage(folder)
    with pytest.raises(CheckpointError) as refused:
        load_transcoders(folder)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_model_without_them_is_refused():
    with pytest.raises(CheckpointError, match="translate has no transcoders"):
        load_transcoders("translate")
