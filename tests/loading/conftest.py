"""A hub with two models, for the tests of what is fetched from it."""

import shutil

import pytest
from huggingface_hub import constants

from tests import fake_hub, own_folders
from tests.loading import gguf_files

GGUF = "tiny/files/llama-Q8_0.gguf"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    root = tmp_path_factory.mktemp("hub")
    own_folders.write(root / "tiny", "gpt2")
    (root / "tiny" / "files").mkdir()
    model = gguf_files.random_model("llama")
    more = gguf_files.byte_level("gpt-2") | {"tokenizer.chat_template": "{{ messages }}"}
    gguf_files.write(root / GGUF, "llama", model, "Q8_0", **more)
    return root


@pytest.fixture
def served(models, tmp_path, monkeypatch):
    """A hub with tiny/gpt2 and a GGUF file, an empty cache, and a library that takes it for the real one."""
    shutil.copytree(models, tmp_path / "served")
    with fake_hub.serving(tmp_path / "served") as server:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 1 << 14)
        point_to(server.address, monkeypatch)
        yield server


def point_to(address, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}")
