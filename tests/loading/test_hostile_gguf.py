"""GGUF files that are cut short, lie or are unknown: one sentence, and nothing that a stated length asks for."""

import random
import struct
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest

import tfcore
from tests.loading.gguf_files import byte_level, random_model, sentence_piece, write
from tfcore import CheckpointError
from tfcore.loading import checkpoints, gguf_file
from tfcore.loading.gguf_file import GgufFile, GGUFMetadata
from tfcore.loading.special_tokens import special_tokens
from tfcore.tokenizers.tokenizer import ByteTokenizer

U32, U64 = struct.Struct("<I"), struct.Struct("<Q")


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """The bytes of a good file."""
    path = tmp_path_factory.mktemp("good") / "model.gguf"
    write(path, "llama", random_model("llama"), "Q8_0", **byte_level("gpt-2"))
    return path.read_bytes()


def text(said):
    return U64.pack(len(said)) + said


def header(settings=(), tensors=(), version=3):
    """A file of nothing but a header: settings are bytes after their key, tensors (name, shape, kind, offset)."""
    out = b"GGUF" + U32.pack(version) + U64.pack(len(tensors)) + U64.pack(len(settings))
    for key, value in settings:
        out += text(key.encode()) + value
    for name, shape, kind, offset in tensors:
        out += text(name.encode()) + U32.pack(len(shape)) + b"".join(map(U64.pack, shape))
        out += U32.pack(kind) + U64.pack(offset)
    return out


def string(said):
    return U32.pack(8) + text(said.encode())


LLAMA = ("general.architecture", string("llama"))
EIGHT = ("llama.expert_count", U32.pack(4) + U32.pack(8))
SIZES = [
    (f"llama.{name}", U32.pack(4) + U32.pack(8))
    for name in ("embedding_length", "block_count", "attention.head_count", "feed_forward_length", "context_length")
] + [("llama.attention.layer_norm_rms_epsilon", U32.pack(6) + bytes(4))]
REFUSED = {
    "empty": (b"", "is empty"),
    "something else": (b"PK\x03\x04" + bytes(100), "is no GGUF file"),
    "version 1": (header(version=1), "is GGUF of version 1; versions 2 and 3 can be read"),
    "the other byte order": (b"GGUF" + struct.pack(">I", 3) + bytes(16), "is GGUF of version 50331648"),
    "more tensors than any model": (b"GGUF" + U32.pack(3) + U64.pack(2**40) + U64.pack(0), "more than any model has"),
    "more settings than any model": (b"GGUF" + U32.pack(3) + U64.pack(0) + U64.pack(2**63), "more than any model has"),
    "a key without end": (header()[:-8] + U64.pack(1) + U64.pack(2**62), "has a name or text of 4,611,"),
    "a text beyond the end": (header([("a", U32.pack(8) + U64.pack(999_999))]), "is cut short in its header"),
    "an endless list": (header([("a", U32.pack(9) + U32.pack(0) + U64.pack(2**50))]), "has lists of 1,125,"),
    "a list beyond the end": (
        header([("a", U32.pack(9) + U32.pack(10) + U64.pack(1_999_999))]),
        "is cut short in its header",
    ),
    "a list of lists": (header([("a", U32.pack(9) + U32.pack(9) + U64.pack(1))]), "a list of the unsupported type 9"),
    "an unknown type": (header([("a", U32.pack(99))]), "has a setting of the unknown type 99"),
    "no architecture": (header(), "holds a model of the architecture 'None'"),
    "an unknown architecture": (
        header([("general.architecture", string("mamba"))]),
        "of the architecture 'mamba'; llama, qwen2, .*, gpt2, .* can be read",
    ),
    "too many experts": (
        header([LLAMA, ("llama.expert_count", U32.pack(4) + U32.pack(5_000))]),
        "has 5000 experts in a layer; up to 4,096 can be read",
    ),
    "experts of another number": (
        header([LLAMA, EIGHT], [("blk.0.ffn_up_exps.weight", (4, 2, 7), 0, 0)]) + bytes(300),
        r"has blk.0.ffn_up_exps.weight of the shape \(7, 2, 4\), and 8 experts in a layer",
    ),
    "no experts": (
        header([LLAMA, EIGHT, *SIZES], [("token_embd.weight", (4, 2), 0, 0)]) + bytes(100),
        "has no experts, which models of its architecture have",
    ),
    "alignment of nothing": (header([("general.alignment", U32.pack(4) + U32.pack(0))]), "has general.alignment=0"),
    "alignment in words": (
        header([("general.alignment", string("x"))]),
        "has 'x' in general.alignment, where a number belongs",
    ),
    "five dimensions": (header(tensors=[("a", (1,) * 5, 0, 0)]), "has a of 5 dimensions"),
    "a shape that cannot be": (header(tensors=[("a", (2**40, 2**40), 0, 0)]), "which cannot be"),
    "no rows": (header(tensors=[("a", (0, 4), 0, 0)]), "which cannot be"),
    "an unknown kind of numbers": (header(tensors=[("a", (32,), 77, 0)]), "has a in 77; BF16, F16"),
    "a kind that is not read": (header(tensors=[("a", (256,), 9, 0)]), "has a in Q8_1; BF16, F16"),
    "blocks that do not fit": (header(tensors=[("a", (33,), 8, 0)]), "rows of 33, which Q8_0 cuts into blocks of 32"),
    "a tensor beyond the end": (header(tensors=[("a", (1024,), 0, 0)]), "is cut short: a would end at"),
    "an offset beyond the end": (header(tensors=[("a", (1,), 0, 2**63)]), "is cut short: a would end at"),
    "a tensor twice": (header(tensors=[("a", (1,), 0, 0)] * 2) + bytes(100), "has a twice"),
    "a tensor of nobody": (
        header([LLAMA], [("blk.0.nose.weight", (1,), 0, 0)]) + bytes(100),
        "holds the tensor 'blk.0.nose.weight', which models of its architecture do not have",
    ),
    "no table": (header([LLAMA], [("output_norm.weight", (1,), 0, 0)]) + bytes(100), "lacks the matrix token_embd"),
}


@pytest.mark.parametrize(("data", "sentence"), REFUSED.values(), ids=list(REFUSED))
def test_one_sentence(data, sentence, tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=f"^{path} .*{sentence}") as caught:
        tfcore.load(path)
    assert "\n" not in str(caught.value)


def test_a_header_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("tfcore.loading.gguf_file.MAX_HEADER_BYTES", 1_000)
    path = tmp_path / "model.gguf"
    path.write_bytes(header([(f"key {i}", string("x" * 50)) for i in range(100)]))
    with pytest.raises(CheckpointError, match="has a header of more than"):
        GgufFile(path)


@pytest.mark.parametrize("share", [0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
def test_cut_short(share, content, tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(CheckpointError, match="cut short"):
        tfcore.load(path)


@pytest.mark.parametrize("seed", range(60))
def test_changed_bytes_of_the_header(seed, content, tmp_path):
    """Whatever a header says: a model, or one sentence; and no memory for lengths that the file does not have."""
    rng = random.Random(seed)
    end = content.index(b"blk.1.attn_q.weight")
    changed = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        changed[rng.randrange(4, end)] = rng.choice((0, 1, 8, 9, 127, 255))
    path = tmp_path / "model.gguf"
    path.write_bytes(changed)
    tracemalloc.start()
    with suppress(CheckpointError):
        GgufFile(path).__exit__(None, None, None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * len(content)


BAD_SETTINGS = {
    "head counts": ({"llama.attention.head_count": 3}, "d_model|head"),
    "rotations of a part": ({"llama.rope.dimension_count": 8}, "rotates 8 of 16 numbers of a head"),
    "an unknown scaling": (
        {"llama.rope.scaling.type": "longrope", "llama.rope.scaling.factor": 2},
        "scales its rotations by 'longrope'",
    ),
    "another tokenizer": ({"tokenizer.ggml.model": "t5"}, "has a tokenizer of the kind 't5'"),
    "another cut": ({"tokenizer.ggml.pre": "viking"}, "cuts texts by 'viking'"),
    "a merge of three": ({"tokenizer.ggml.merges": ["a b c"]}, "has a merge that does not join two pieces"),
    "no merges": ({"tokenizer.ggml.merges": "none"}, "has 'none' in tokenizer.ggml.merges, where a list belongs"),
    "a token twice": ({"tokenizer.ggml.tokens": ["a"] * 320}, "has the same token twice"),
    "types of others": ({"tokenizer.ggml.token_type": [1, 2]}, "has types of 2 tokens, and 320 tokens"),
    "a first token that is none": (
        {"tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.bos_token_id": 9_999},
        "puts its bos token around texts and does not say which that is",
    ),
}


@pytest.mark.parametrize(("settings", "sentence"), BAD_SETTINGS.values(), ids=list(BAD_SETTINGS))
def test_settings_that_do_not_fit(settings, sentence, tmp_path):
    path = tmp_path / "model.gguf"
    more = byte_level("gpt-2") | settings
    heads = more.pop("llama.attention.head_count", None)
    write(path, "llama", random_model("llama"), **more)
    if heads:
        content = path.read_bytes()
        at = content.index(b"llama.attention.head_count") + len(b"llama.attention.head_count") + 4
        path.write_bytes(content[:at] + U32.pack(heads) + content[at + 4 :])
    with pytest.raises(CheckpointError, match=sentence):
        tfcore.load(path)


def test_scores_for_other_tokens(tmp_path):
    path = tmp_path / "model.gguf"
    write(path, "llama", random_model("llama"), **sentence_piece(**{"tokenizer.ggml.scores": [0.0, 1.0]}))
    with pytest.raises(CheckpointError, match="without a score for each token"):
        tfcore.load(path)


def test_numbers_that_are_none(content, tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with GgufFile(path) as file:
        start = file.tensors["blk.1.ffn_up.weight"].start
    path.write_bytes(content[:start] + b"\x00\x7e" + content[start + 2 :])  # the scale of a block is no number
    with pytest.raises(CheckpointError, match="holds numbers that are not finite"):
        tfcore.load(path)


KINDS = {"byte-level": byte_level("gpt-2"), "SentencePiece": sentence_piece()}
WRONG = (np.array([1, 2]), ["a", "b"], "x")


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_stands_where_a_value_belongs(kind, tmp_path, monkeypatch):
    """Every key that is read, by whatever reads it, is tried with a value of each type: a model, or one sentence."""
    path, asked = tmp_path / "model.gguf", {}
    write(path, "llama", random_model("llama"), **KINDS[kind])
    monkeypatch.setattr(checkpoints, "isolated", lambda *_: ByteTokenizer())
    read, of_kind, changed = gguf_file._Header.read, GGUFMetadata._of_kind, {}

    def with_changes(header):
        settings, tensors = read(header)
        settings.update(changed)
        return settings, tensors

    def spied(settings, key, default, kinds, called):
        asked[key] = called
        return of_kind(settings, key, default, kinds, called)

    monkeypatch.setattr(GGUFMetadata, "_of_kind", spied)
    monkeypatch.setattr(gguf_file._Header, "read", with_changes)
    monkeypatch.setattr(GGUFMetadata, "get", lambda *_: pytest.fail("read without a look at its type"))

    def refusal(key, value):
        changed.clear()
        changed[key] = value
        try:
            special_tokens(path, tfcore.load(path, device="cpu")[1])
        except CheckpointError as error:
            return str(error)
        return ""

    assert refusal("general.name", "a name") == ""
    assert len(asked) > 20
    for key, called in list(asked.items()):
        for value in WRONG if key != "general.alignment" else ():  # which is read before it can be changed here
            said = refusal(key, value)
            assert not said or said.startswith(str(path))
            assert "\n" not in said
            if isinstance(value, list | np.ndarray) != (called == "a list"):
                assert f"in {key}, where {called} belongs" in said
