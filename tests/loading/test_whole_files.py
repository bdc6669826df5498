"""Files that a stopped run goes on from: whole, or as they were before."""

import numpy as np
import pytest

from tfcore.files import as_a_whole, write_array


def stopped(path):
    """A run that ends in the middle of writing."""
    with as_a_whole(path) as beside:
        beside.write_bytes(path.read_bytes()[:20])
        raise KeyboardInterrupt


def test_who_stops_while_writing_leaves_what_was_there_before(tmp_path):
    path = tmp_path / "kept" / "sums.npy"
    write_array(path, np.arange(5))
    with pytest.raises(KeyboardInterrupt):
        stopped(path)
    assert np.load(path, allow_pickle=False).tolist() == [0, 1, 2, 3, 4]
    write_array(path, np.arange(3))  # what was left is no hindrance
    assert np.load(path, allow_pickle=False).tolist() == [0, 1, 2]
    assert [one.name for one in path.parent.iterdir()] == ["sums.npy"]


def test_nothing_is_there_until_all_is_written(tmp_path):
    path = tmp_path / "00000.safetensors"
    with as_a_whole(path) as beside:
        beside.write_text("all")
        assert not path.exists()
        assert not list(tmp_path.glob("*.safetensors"))  # who reads all files of a folder finds none that is not done
    assert path.read_text() == "all"
