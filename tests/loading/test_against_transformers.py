"""A person's own checkpoint is compared with `transformers`, and a difference is named by its part."""

from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.families import NONE, PAGE, table_in
from tests.nightly import nightly
from tests.own_folders import write
from tests.parity.checkpoints import BOTH, COMPOSITES, DECODERS, ENCODERS, PICTURES, SOUNDS, written
from tfcore.__main__ import main
from tfcore.loading import against_transformers
from tfcore.loading.against_transformers import TOLERANCE, compared
from tfcore.loading.checkpoints import load
from tfcore.loading.families import FAMILIES as SUPPORTED
from tfcore.loading.families.text_parts import COMPOSITES as OF_TEXTS

EVERY: dict[str, tuple[Any, Any]] = DECODERS | COMPOSITES | ENCODERS | BOTH | PICTURES | SOUNDS


def parts(found):
    return {one.what.split(",")[0]: one for one in found}


@pytest.mark.parametrize("name", ["gemma2", "bert", "t5 1.1", "vit, classes, grey", "whisper"])
def test_all_parts_are_equal(tmp_path, name):
    written(*EVERY[name], tmp_path)
    found = compared(tmp_path)
    assert max(one.difference for one in found) < TOLERANCE
    assert {"logits"} < parts(found).keys()


@nightly
@pytest.mark.parametrize("name", EVERY)
def test_all_parts_of_every_family_are_equal(tmp_path, name):
    written(*EVERY[name], tmp_path)
    assert max(one.difference for one in compared(tmp_path)) < TOLERANCE


def test_a_token_that_fills_up_rows_is_not_drawn(tmp_path):
    """It gets no position in some families of transformers, and no text has it."""
    kind, settings = BOTH["m2m100"]
    written(kind, settings | {"vocab_size": 11}, tmp_path)  # of which one in 24 is nearly always the sixth
    for seed in range(3):  # what it writes itself may have it
        assert all(one.is_equal for one in compared(tmp_path, seed) if not one.what.startswith("tokens written"))


@pytest.mark.parametrize("name", ["llama", "bert"])
def test_tokens_are_compared_where_there_is_a_tokenizer(tmp_path, name):
    write(tmp_path, name)
    assert parts(compared(tmp_path / name))["tokens of 3 texts"].is_equal


def test_a_difference_is_named_by_part_and_layer(tmp_path, monkeypatch, capsys):
    written(*DECODERS["llama"], tmp_path)
    read = load

    def changed(*given, **settings):
        model, tokenizer = read(*given, **settings)
        with torch.no_grad():
            names = (name for name, _ in model.named_parameters() if "blocks.1.attn" in name)
            model.get_parameter(next(names)).mul_(1.01)
        return model, tokenizer

    monkeypatch.setattr(against_transformers, "load", changed)
    monkeypatch.setattr("sys.argv", ["tfcore", "check", str(tmp_path)])
    assert main() == 1
    said = capsys.readouterr().out
    assert "NOT EQUAL  attention maps" in said
    assert "at layer 1" in said
    assert "equal      hidden states" in said  # before layer 1


def test_what_cannot_be_read_is_one_sentence(tmp_path, monkeypatch, capsys):
    written(*DECODERS["llama"], tmp_path)
    file = tmp_path / "model.safetensors"
    weights = load_file(file)
    del weights["model.norm.weight"]
    save_file(weights, file, metadata={"format": "pt"})
    monkeypatch.setattr("sys.argv", ["tfcore", "check", str(tmp_path)])
    assert main() == 2
    assert "lacks norm.weight" in capsys.readouterr().err


def test_every_family_stands_in_the_table_of_differences():
    rows = table_in(PAGE.read_text("utf-8"))
    assert rows.keys() == SUPPORTED.keys() | OF_TEXTS.keys()
    # Mamba-2 has no attention maps, DINOv2 no head
    without = ["mamba2", "dinov2", "dinov2_with_registers"]
    assert [family for family, row in rows.items() if NONE in row] == without
    assert all(float(one) < TOLERANCE for row in rows.values() for one in row if one != NONE)
