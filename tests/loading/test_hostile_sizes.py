"""Files whose work grows faster than they do: each takes hardly more memory than an ordinary one beside it, and holds
other threads up hardly longer, because lengths are checked before the work that they bound."""

import json
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tests.bounded import Taken, taken
from tests.hostile_tokenizers import added, content
from tests.nightly import often
from tests.small import model
from tfcore import CheckpointError, load, save
from tfcore.loading.gguf_file import GGUFMetadata
from tfcore.loading.gguf_tokenizer import tokenizer_json
from tfcore.tokenizers.chat import Message, conversation
from tfcore.tokenizers.isolated import TokenizerError, isolated

MEGABYTES = 60  # more than the control
TIMES, SECONDS = 3, 0.5  # as long as the control, and this besides, on a machine that is busy
PATH = Path("model.gguf")


def sentence_piece(tokens: list[str], kind: int = 1) -> GGUFMetadata:
    kinds = np.array([2, *[kind] * len(tokens)])
    scores = np.zeros(len(kinds), np.float32)
    stated = {"model": "llama", "tokens": ["<unk>", *tokens], "scores": scores, "token_type": kinds, "bos_token_id": 0}
    return GGUFMetadata(str(PATH), {f"tokenizer.ggml.{key}": value for key, value in stated.items()})


def byte_level(merges: list[str]) -> GGUFMetadata:
    stated = {"model": "gpt2", "tokens": ["a", "aa"], "merges": merges}
    return GGUFMetadata(str(PATH), {f"tokenizer.ggml.{key}": value for key, value in stated.items()})


GGUF: dict[str, Callable[[], GGUFMetadata]] = {
    "one long token": lambda: sentence_piece(["a", "b" * 75_000]),
    "many long tokens": lambda: sentence_piece([f"{i:05d}" + "x" * 1_000 for i in range(20_000)]),
    "tokens of each other": lambda: sentence_piece(["a" * k for k in range(1, 1_025)]),
    "tokens of each other, again": lambda: sentence_piece([c + "a" * k for c in "abcdef" for k in range(1, 1_000)]),
    "special tokens": lambda: sentence_piece([f"{i:x}" for i in range(900_000)], kind=3),
    "too many tokens": lambda: sentence_piece([f"{i:x}" for i in range(1_100_000)]),
    "merges of spaces": lambda: byte_level([" " * 1_000_000] * 10),
    "many merges": lambda: byte_level(["a a"] * 1_900_000),
    "one long merge": lambda: byte_level([f"a {'a' * 1_000_000}"]),
}


@pytest.fixture(scope="module")
def plain() -> Taken:
    """What an ordinary vocabulary takes, of the size of LLaMA's."""
    settings = sentence_piece([f"{i:x}" for i in range(32_000)])
    return taken(lambda: tokenizer_json(settings, PATH))


@pytest.mark.parametrize("name", GGUF)
def test_a_vocabulary_takes_what_its_size_allows(name, plain):
    settings, refused = GGUF[name](), []

    def read() -> None:
        with pytest.raises(CheckpointError) as error:
            tokenizer_json(settings, PATH)
        refused.append(str(error.value))

    check(taken(read), plain)
    assert refused[0].startswith("model.gguf has ")
    assert len(refused[0]) < 200


def check(found: Taken, control: Taken) -> None:
    assert found.megabytes < control.megabytes + MEGABYTES
    assert found.held < TIMES * control.held + SECONDS


def settings_of(folder: Path, said: str) -> None:
    (folder / "config.json").write_text(said)


def index_of(folder: Path, said: str) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(said)


def header_of(folder: Path, said: str) -> None:
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(said)) + said.encode())


ENTRY = '{"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}'
JSON: dict[str, tuple[Callable[[Path, str], None], str]] = {
    "settings of lists": (settings_of, '{"a": [' + "[]," * 330_000 + "1]}"),
    "an index of objects": (index_of, '{"weight_map": [' + "{}," * 3_300_000 + "1]}"),
    "an index of nested lists": (index_of, '{"weight_map": [' + "[[1]]," * 1_600_000 + "1]}"),
    "an index of numbers": (index_of, '{"weight_map": [' + "1.5," * 2_400_000 + "1]}"),
    "a header of tensors": (header_of, "{" + ", ".join(f'"{i}": {ENTRY}' for i in range(140_000)) + "}"),
    "a header of words": (header_of, '{"__metadata__": {' + ", ".join(f'"{i}": "a"' for i in range(600_000)) + "}}"),
}


@pytest.mark.parametrize("name", JSON)
def test_json_takes_what_its_size_allows(name, tmp_path):
    save(model(), tmp_path)
    control = taken(lambda: load(tmp_path, device="cpu"))
    write, said = JSON[name]
    write(tmp_path, said)

    def read() -> None:
        with pytest.raises(CheckpointError):
            load(tmp_path, device="cpu")

    check(taken(read), control)


NAMES = {
    "special tokens": lambda n: content(
        added_tokens=[one | {"special": True} for one in added(*(f"{i:08d}" + "x" * 80 for i in range(n)))]
    ),
    "names of ours": lambda n: {"kind": "names", "names": [f"{i:04d}" + "x" * 200 for i in range(n)]},
}


@pytest.mark.parametrize("name", often(NAMES, ["names of ours"]))
def test_special_tokens_and_names_hold_nobody_up(name):
    """A pattern of all of them was compiled in this process, which took seconds in which no other thread ran."""
    most = {"special tokens": 9_990, "names of ours": 4_090}[name]

    def talk(n: int) -> Taken:
        file = json.dumps(NAMES[name](n)).encode()

        def read() -> None:
            with suppress(TokenizerError, ValueError):
                conversation(isolated(file), "{{ messages[0]['content'] }}", [Message("user", "a dog")])

        return taken(read)

    check(talk(most), talk(10))
