"""Files of CTranslate2: tensors as they were written, whatever is damaged is refused, and a Whisper made of one is that
of `transformers`."""

import json
import re
import struct

import pytest
import torch

from tests.parity.checkpoints import SOUNDS, written
from tests.parity.comparing import TOLERANCE
from tests.small import difference, ids
from tfcore.files import CheckpointError
from tfcore.loading import whisper_of_ctranslate2
from tfcore.loading.checkpoints import load
from tfcore.loading.ctranslate2_file import CTranslate2File

TYPES = {torch.float32: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.float16: 4, torch.bfloat16: 5}


def named(text):
    return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"


def packed(name, tensor):
    head = named(name) + struct.pack("<B", tensor.ndim) + struct.pack(f"<{tensor.ndim}I", *tensor.shape)
    content = tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes()
    return head + struct.pack("<BI", TYPES[tensor.dtype], len(content)) + content


def binary(tensors, aliases=(), kind="WhisperSpec", version=6):
    parts = [struct.pack("<I", version), named(kind), struct.pack("<II", 3, len(tensors))]
    parts += [packed(name, tensor) for name, tensor in tensors.items()]
    parts += [struct.pack("<I", len(aliases)), *(named(text) for pair in aliases for text in pair)]
    return b"".join(parts)


PLAIN = {
    "a/weight": torch.arange(6, dtype=torch.float16).reshape(2, 3) / 7,
    "b": torch.tensor(3, dtype=torch.int16),
    "c": torch.linspace(-1, 1, 5),
    "d": torch.tensor([[-5, 7]], dtype=torch.int8),
    "e": torch.tensor([0.5, 3.0], dtype=torch.bfloat16),
}


def test_tensors_are_those_that_were_written(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(binary(PLAIN, aliases=[("again", "a/weight")], kind="Some"))
    file = CTranslate2File(path)
    assert (file.kind, file.names, file.aliases) == ("Some", tuple(PLAIN), {"again": "a/weight"})
    for name, tensor in PLAIN.items():
        assert file.tensor(name).dtype == tensor.dtype
        assert torch.equal(file.tensor(name), tensor)
    assert torch.equal(file.tensor("again"), PLAIN["a/weight"])
    with pytest.raises(CheckpointError, match="has no z"):
        file.tensor("z")


WHOLE = binary(PLAIN)
FIRST = 4 + len(named("WhisperSpec")) + 4 + 4  # where the first tensor's name begins
RANK = FIRST + len(named("a/weight"))
HOSTILE = {
    "ends after 0 bytes": b"",
    "is of version 5 of the format; 6 is read": binary(PLAIN, version=5),
    "says that it has 4,294,967,295 tensors; 10,000": WHOLE[: FIRST - 4] + b"\xff" * 4 + WHOLE[FIRST:],
    "has 'a/weight' twice, or with 200 dimensions": WHOLE[:RANK] + b"\xc8" + WHOLE[RANK + 1 :],
    "has 12 bytes of 'a/weight', and its shape asks for 25,769,803,770": (
        WHOLE[: RANK + 1] + b"\xff" * 4 + WHOLE[RANK + 5 :]
    ),
    "has 'a/weight' in type 9; known are 0 to 5": WHOLE[: RANK + 9] + b"\x09" + WHOLE[RANK + 10 :],
    "has a name of 0 characters": WHOLE[:FIRST] + b"\0\0" + WHOLE[FIRST + 2 :],
    "has a name of 65535 characters": WHOLE[:FIRST] + b"\xff\xff" + WHOLE[FIRST + 2 :],
    "has a name that is not ASCII": WHOLE.replace(b"a/weight", b"a/w\xffight"),
    "has an alias of 'nothing', which is not in it": binary(PLAIN, aliases=[("again", "nothing")]),
    "has 3 bytes behind its last alias": WHOLE + b"abc",
}


@pytest.mark.parametrize("sentence", HOSTILE)
def test_damaged_files_are_refused(tmp_path, sentence):
    path = tmp_path / "model.bin"
    path.write_bytes(HOSTILE[sentence])
    with pytest.raises(CheckpointError, match=re.escape(sentence)):
        CTranslate2File(path)


def test_files_that_are_cut_off_anywhere_are_refused(tmp_path):
    path = tmp_path / "model.bin"
    for end in range(len(WHOLE)):
        path.write_bytes(WHOLE[:end])
        with pytest.raises(CheckpointError, match=f"ends after {end:,} bytes"):
            CTranslate2File(path)


def of_transformers(state, heads):
    """The tensors of a Whisper of `transformers` by the names that CTranslate2 gives them."""
    found = {"decoder/embeddings/weight": state["model.decoder.embed_tokens.weight"]}
    found |= {
        f"encoder/conv{i}/{kind}": state[f"model.encoder.conv{i}.{kind}"] for i in (1, 2) for kind in ("weight", "bias")
    }
    for stack in ("encoder", "decoder"):
        found[f"{stack}/num_heads"] = torch.tensor(heads, dtype=torch.int16)
        found[f"{stack}/position_encodings/encodings"] = state[f"model.{stack}.embed_positions.weight"]
        norms, matrices = {"layer_norm": "layer_norm"}, {}
        for i in range(2):
            here, theirs = f"{stack}/layer_{i}", f"layers.{i}"
            norms |= {f"layer_{i}/ffn/layer_norm": f"{theirs}.final_layer_norm"}
            norms |= {f"layer_{i}/self_attention/layer_norm": f"{theirs}.self_attn_layer_norm"}
            matrices |= {f"{here}/ffn/linear_0": [f"{theirs}.fc1"], f"{here}/ffn/linear_1": [f"{theirs}.fc2"]}
            matrices[f"{here}/self_attention/linear_0"] = [f"{theirs}.self_attn.{one}_proj" for one in "qkv"]
            matrices[f"{here}/self_attention/linear_1"] = [f"{theirs}.self_attn.out_proj"]
            if stack == "decoder":
                norms |= {f"layer_{i}/attention/layer_norm": f"{theirs}.encoder_attn_layer_norm"}
                for j, rows in enumerate(("q", "kv", "out")):
                    each = [rows] if rows == "out" else list(rows)
                    matrices[f"{here}/attention/linear_{j}"] = [f"{theirs}.encoder_attn.{one}_proj" for one in each]
        for there, theirs in norms.items():
            for ours, kind in (("gamma", "weight"), ("beta", "bias")):
                found[f"{stack}/{there}/{ours}"] = state[f"model.{stack}.{theirs}.{kind}"]
        for there, parts in matrices.items():
            for kind in ("weight", "bias"):
                width = len(state[f"model.{stack}.{parts[0]}.weight"])
                each = [state.get(f"model.{stack}.{part}.{kind}", torch.zeros(width)) for part in parts]
                found[f"{there}/{kind}"] = torch.cat(each)
    return found


@pytest.fixture
def made(tmp_path):
    """A Whisper of `transformers`, and the files of CTranslate2 with the same weights."""
    kind, settings = SOUNDS["whisper"]
    theirs = written(
        kind, settings | {"d_model": 64} | {f"{s}_attention_heads": 1 for s in ("encoder", "decoder")}, tmp_path / "hf"
    )
    theirs.config.eos_token_id = 1
    files = tmp_path / "model.bin", tmp_path / "config.json", tmp_path / "tokenizer.json"
    tensors = of_transformers(theirs.state_dict(), 1)
    files[0].write_bytes(binary(tensors, aliases=[("decoder/projection/weight", "decoder/embeddings/weight")]))
    files[1].write_text(json.dumps({"suppress_ids": [5, 9], "suppress_ids_begin": [3, 1]}))
    files[2].write_text("{}")
    return theirs, tensors, files


def test_a_whisper_of_it_is_that_of_transformers(tmp_path, made):
    theirs, _, files = made
    folder = tmp_path / "whisper"
    folder.mkdir()
    whisper_of_ctranslate2.write(files[0], files[1], files[2], folder)
    (folder / "tokenizer.json").unlink()
    weights, settings = (folder / name for name in ("model.safetensors", "config.json"))
    assert weights.stat().st_mode == settings.stat().st_mode  # who may read one may read the other
    said = json.loads((folder / "preprocessor_config.json").read_text())
    (folder / "preprocessor_config.json").write_text(json.dumps(said | {"chunk_length": 1}))  # not 30 seconds
    ours, _ = load(folder, device="cpu")
    assert (ours.config.start_id, ours.config.writing.never, ours.config.writing.not_first) == (2, (5, 9), (3, 1))
    heard = torch.randn(1, 8, 100, generator=torch.Generator().manual_seed(0))
    expected = theirs(input_features=heard, decoder_input_ids=ids(1, 7))
    assert difference(ours(heard, decoder_ids=ids(1, 7)).logits, expected.logits) < TOLERANCE


def test_what_is_no_whisper_is_refused(tmp_path, made):
    _, tensors, (path, settings, tokenizer) = made
    path.write_bytes(binary(tensors, kind="TransformerSpec"))
    with pytest.raises(CheckpointError, match="is a TransformerSpec; WhisperSpec is read"):
        whisper_of_ctranslate2.write(path, settings, tokenizer, tmp_path)
    path.write_bytes(binary({name: one for name, one in tensors.items() if name != "encoder/conv1/bias"}))
    with pytest.raises(CheckpointError, match="has no encoder/conv1/bias"):
        whisper_of_ctranslate2.write(path, settings, tokenizer, tmp_path)
    biased = tensors["encoder/layer_1/self_attention/linear_0/bias"] + 1
    path.write_bytes(binary(tensors | {"encoder/layer_1/self_attention/linear_0/bias": biased}))
    with pytest.raises(CheckpointError, match="linear_0/bias has a bias of keys, which Whisper has not"):
        whisper_of_ctranslate2.write(path, settings, tokenizer, tmp_path)
