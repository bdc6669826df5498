"""Which files of a model's folder are opened: those of one list, by which links that lead out are refused."""

import json
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

import tfcore
from pages.ui.loading import own_models
from tests.loading.gguf_files import byte_level, random_model, write
from tests.small import model
from tfcore.loading.checkpoints import estimate
from tfcore.loading.hub import FILES, SMALL
from tfcore.loading.special_tokens import special_tokens
from tfcore.tokenizers.tokenizer import ByteTokenizer

OPENED: list[str] = []
TEMPLATE = "{{ messages[0]['content'] }}"


def _noted(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str | Path):
        OPENED.append(str(arguments[0]))


sys.addaudithook(_noted)  # there is no way to remove one


def ours(folder: Path) -> Path:
    tfcore.save(model(vocab_size=256), folder, ByteTokenizer(), card="# A card")
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    for name in ("generation_config.json", "special_tokens_map.json"):
        (folder / name).write_text("{}")
    return folder


def with_index(folder: Path) -> Path:
    ours(folder)
    names = list(model(vocab_size=256).state_dict())
    (folder / "model.safetensors").rename(folder / "all.safetensors")
    index = {"weight_map": dict.fromkeys(names, "all.safetensors")}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "chat_template.jinja").unlink()
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE}))
    return folder


def in_gguf(folder: Path) -> Path:
    write(folder / "a.gguf", "llama", random_model("llama"), **byte_level("gpt-2"))
    return folder


@pytest.mark.parametrize("made", [ours, with_index, in_gguf])
def test_no_file_is_opened_that_is_not_on_the_list(made, tmp_path):
    folder = made(tmp_path)
    OPENED.clear()
    estimate(folder)
    special_tokens(folder, tfcore.load(folder, device="cpu")[1])
    own_models._state(folder)
    opened = {Path(path).name for path in OPENED if Path(path).parent == folder}
    assert len(opened) >= (1 if made is in_gguf else 5)
    assert {name for name in opened if not any(fnmatch(name, pattern) for pattern in FILES)} == set()


def test_what_is_fetched_is_on_the_list():
    assert set(SMALL) <= set(FILES)
