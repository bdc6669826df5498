"""The film of the induction model: whole, small, and what its card and its frames say is true of the weights."""

import json
import math
import re
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from tfcore.files import CheckpointError
from tfcore.loading.checkpoint_history import load_history
from tfcore.loading.checkpoints import PRETRAINED, load
from tfcore.training.measures import copying, of_induction

FOLDER = PRETRAINED / "induction"


@pytest.fixture(scope="module")
def film():
    return load_history("induction")


def test_it_is_as_long_and_as_small_as_promised(film):
    assert len(film.steps) >= 24
    assert list(film.steps) == sorted(set(film.steps))
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) <= 6_000_000


def test_every_frame_does_what_was_measured(film):
    for frame in range(0, len(film.steps), 5):
        found, kept = copying(film.model(frame)), film.measures[frame]
        for name in ("first_loss", "second_loss", "previous_token_head", "induction_head"):
            assert found[name] == pytest.approx(kept[name], abs=0.01), (frame, name)
        assert found["induction"] == pytest.approx(torch.tensor(kept["induction"]).numpy(), abs=0.01)


def test_it_ends_in_the_shipped_model_and_begins_at_chance(film):
    last = film.model(len(film.steps) - 1).state_dict()
    shipped = load("induction", device="cpu")[0].state_dict()
    assert all(torch.equal(last[name], shipped[name]) for name in shipped)
    assert film.steps[0] == 0
    assert film.measures[0]["second_loss"] == pytest.approx(math.log(256), abs=0.05)


def test_the_card_says_what_is_measured():
    text = (FOLDER / "CARD.md").read_text("utf-8")
    card = json.loads(re.search(r"```json\n(.*?)```", text, re.DOTALL)[1])
    assert of_induction("induction") == pytest.approx(card, abs=0.01)
    assert card["second_loss"] < 0.3
    assert abs(card["first_loss"] - card["chance_loss"]) < 0.2


def test_the_first_frame_with_a_head_is_found(film):
    frame = film.first("induction_head", 0.4)
    assert film.measures[frame]["induction_head"] >= 0.4 > film.measures[frame - 1]["induction_head"]
    assert film.first("induction_head", 2.0) is None


@pytest.mark.parametrize("frame", [-1, 1000])
def test_a_frame_that_is_not_there_is_refused(film, frame):
    with pytest.raises(ValueError, match=rf"frame={frame} must be between 0 and {len(film.steps) - 1}"):
        film.model(frame)


def test_a_damaged_film_is_refused_in_one_sentence(tmp_path):
    for file in FOLDER.iterdir():
        shutil.copy(file, tmp_path)
    weights = load_file(tmp_path / "film.safetensors")
    save_file({name: values[1:].contiguous() for name, values in weights.items()}, tmp_path / "film.safetensors")
    with pytest.raises(CheckpointError, match=r"has shape \(26, .*\), the config and 27 frames ask for \(27, "):
        load_history(tmp_path)
    (tmp_path / "film.safetensors").write_bytes(b"no film")
    with pytest.raises(CheckpointError, match=r"film\.safetensors cannot be read"):
        load_history(tmp_path)
    (tmp_path / "film.json").write_text("{}")
    with pytest.raises(CheckpointError, match="must list frames"):
        load_history(tmp_path)
