"""A block in Q4_1: bytes taken apart by hand, blocks of a file written by the gguf package."""

import struct
from dataclasses import replace

import gguf
import numpy as np
import pytest
import torch

from tests.loading.gguf_files import byte_level, random_model, write
from tests.small import model
from tfcore.loading.checkpoints import load
from tfcore.views.inference.quantisation import say
from tfcore.views.inference.quantisation.measure import gguf_block
from tfcore.views.inference.quantisation.measure.gguf_block import block_of_weights, decode_block, file_row, open_block


def test_bytes_by_hand():
    content = struct.pack("<ee", 0.5, -2.0) + bytes([0x10, 0xF3] + 14 * [0x00])
    scale, minimum, codes = decode_block(content)
    assert (scale, minimum) == (0.5, -2.0)
    assert codes.tolist() == [0, 3, *14 * [0], 1, 15, *14 * [0]]
    with pytest.raises(ValueError, match="a block in Q4_1 has 20 bytes, and these are 3"):
        decode_block(b"abc")


def test_decoding_is_that_of_gguf():
    values = np.random.default_rng(0).normal(size=(5, 32)).astype(np.float32)
    stored = gguf.quants.quantize(values, gguf_block.Q4_1)
    theirs = gguf.quants.dequantize(stored, gguf_block.Q4_1)
    for content, expected in zip(stored, theirs, strict=True):
        scale, minimum, codes = decode_block(content.tobytes())
        assert scale * codes + minimum == pytest.approx(expected, abs=1e-6)


def test_a_block_of_a_model_without_a_file():
    of = model(d_model=64, n_heads=4, d_ff=64)
    found = block_of_weights(of, "small", 1, "down", 3, 1)
    assert np.array_equal(found.used, of.decoder.blocks[1].mlp.down.weight[3, 32:].numpy())
    assert found.difference <= found.scale * 0.51
    assert {0, 15} <= set(found.codes.tolist())
    assert bytes.fromhex(found.hexadecimal.replace(" ", "").replace("|", "")) == found.content
    assert "W_down of layer 1 of small, row 3, block 1: 20 bytes for 32 weights, 5 bits per weight." in str(
        say.block(found)
    )
    block_of_weights(of, "small", 1, "down", 0, 0)
    for row, place in ((3, 2), (3, -1), (64, 0), (-1, 0)):
        with pytest.raises(ValueError, match=f"row={row}, place={place} must be below 64 and 2"):
            block_of_weights(of, "small", 1, "down", row, place)


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory):
    """A small LLaMA whose matrices are in Q4_1, loaded again."""
    path = tmp_path_factory.mktemp("gguf") / "small.gguf"
    write(path, "llama", random_model("llama"), "Q4_1", **byte_level("smollm"))
    return path, load(str(path))[0]


@pytest.mark.parametrize("kind", ["q", "k", "v", "out", "gate", "up", "down"])
def test_blocks_of_a_file_are_the_weights_of_the_model(on_disk, monkeypatch, kind):
    path, of = on_disk
    monkeypatch.setattr(gguf_block, "file_of_smollm2", lambda: path)
    for row, place in ((0, 0), (1, 1), (5, 0)):
        found = open_block(of, 0, kind, row, place)
        assert found.difference == pytest.approx(0, abs=1e-6)
        assert str(say.block(replace(found, used=found.values))).endswith("computes with are exactly these.")
        assert found.where == f"blk.0.{gguf_block.NAMES[kind]}.weight"


def test_without_the_file_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(gguf_block, "file_of_smollm2", lambda: None)
    with pytest.raises(ValueError, match=r"`python -m tfcore\.loading` fetches it"):
        open_block(model(), 0, "q", 0, 0)


def test_rows_of_q_are_interleaved():
    """Put rows in the file's order by the converter's own reshape, and find each again."""
    rows = torch.arange(3 * 8)  # three heads of width 8
    theirs = rows.reshape(3, 2, 4).transpose(1, 2).flatten().tolist()
    assert [theirs[file_row(row, 8)] for row in rows.tolist()] == rows.tolist()
