"""A full disk is called one wherever tfcore writes, with what is needed and what is free."""

import errno
import shutil

import pytest
from huggingface_hub import constants
from safetensors import SafetensorError

from tests.fake_hub import COMMIT
from tests.small import model
from tfcore.loading import checkpoints, disk, hub
from tfcore.loading.disk import FullDiskError
from tfcore.training.loop import TrainingState
from tfcore.training.optim import adamw

FULL = {
    "of the system": OSError(errno.ENOSPC, "No space left on device"),
    "a quota": OSError(errno.EDQUOT, "Disk quota exceeded"),
    "of safetensors": SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"),
}
SAID = r"the disk is full: .* needs [\d,]+ MB, and [\d,.]+ [MG]B are free; make room and try again"


@pytest.fixture(params=FULL)
def full(request, monkeypatch):
    def refuse(*_, **__):
        raise FULL[request.param]

    monkeypatch.setattr(checkpoints, "save_file", refuse)
    monkeypatch.setattr("tfcore.training.loop.save_file", refuse)

    def fail(*_, **__):
        raise FULL["of the system"]

    monkeypatch.setattr("huggingface_hub.hf_hub_download", fail)


@pytest.mark.usefixtures("full")
def test_a_model_a_training_and_a_download_that_find_no_room(tmp_path, monkeypatch):
    network = model()
    with pytest.raises(FullDiskError, match=SAID):
        checkpoints.save(network, tmp_path)
    with pytest.raises(FullDiskError, match=SAID):
        TrainingState(tmp_path, network, adamw(network, 1.0, (0.9, 0.9), 0.0)).save(1)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    remote = hub.Remote("tiny/gpt2", tmp_path / COMMIT, ("model.safetensors",), {"model.safetensors": 5_000_000}, 0)
    monkeypatch.setattr(hub, "_check_room", lambda *_: None)
    with pytest.raises(ValueError, match=r"the disk is full: it needs 5 MB, and .* are free"):
        hub.fetch(remote)


def test_other_problems_stay_what_they_are(tmp_path):
    with pytest.raises(FileNotFoundError), disk.writing("a file", 1, tmp_path):
        (tmp_path / "none").read_bytes()
    with pytest.raises(KeyError), disk.writing("a file", 1, tmp_path):
        raise KeyError("No room")


def test_what_is_free_is_that_of_the_nearest_folder_there_is(tmp_path):
    assert disk.free(tmp_path / "not" / "yet") == pytest.approx(shutil.disk_usage(tmp_path).free, rel=0.5)
    assert "3.2 GB" in disk.sentence("it", 3_200_000_000, tmp_path)
