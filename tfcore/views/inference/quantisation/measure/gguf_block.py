"""A block of a GGUF file in Q4_1, opened byte by byte: a scale, a minimum, and 32 integers of four bits."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import gguf
import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.loading.gguf_file import GgufFile, TensorEntry
from tfcore.loading.real_models import installed
from tfcore.measures.quantisation.matrices import matrix_of
from tfcore.model import Transformer

BLOCK = 32  # values
SIZE = 20  # bytes: 2 of the scale, 2 of the minimum, 16 with two integers each
Q4_1 = gguf.GGMLQuantizationType.Q4_1
NAMES = {  # kind of matrix -> its name in the file, behind blk.LAYER.
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "out": "attn_output",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
}


@dataclass(frozen=True, slots=True)
class OpenedBlock:
    """A block of a file, and the weights that the model computes with in its place.

    Args:
        where: the tensor's name in the file, or how the block was made where there is no file.
        row: of the tensor in the file; `place` is the block's number in that row.
        content: its 20 bytes.
        scale, minimum: what the first four bytes say.
        codes: the 32 integers, 0 to 15.
        used: the weights of the model at this place.
    """

    where: str
    row: int
    place: int
    content: bytes
    scale: float
    minimum: float
    codes: Int[ndarray, " value"]
    used: Float[ndarray, " value"]

    @property
    def values(self) -> Float[ndarray, " value"]:
        """scale * code + minimum."""
        return self.scale * self.codes + self.minimum

    @property
    def difference(self) -> float:
        """The largest difference between these values and the weights that the model computes with."""
        return float(np.abs(self.values - self.used).max())

    @property
    def hexadecimal(self) -> str:
        """The bytes, as they stand in the file: scale, minimum, integers."""
        return " | ".join(part.hex(" ") for part in (self.content[:2], self.content[2:4], self.content[4:]))


def decode_block(content: bytes) -> tuple[float, float, Int[ndarray, " value"]]:
    """Scale, minimum and integers of a block in Q4_1.

    The low four bits of byte i are value i, its high four bits value i + 16
    (https://github.com/ggml-org/ggml, `block_q4_1` in ggml-common.h and `dequantize_row_q4_1`).
    """
    if len(content) != SIZE:
        raise ValueError(f"a block in Q4_1 has {SIZE} bytes, and these are {len(content)}")
    scale, minimum = np.frombuffer(content[:4], "<f2")
    packed = np.frombuffer(content[4:], np.uint8)
    return float(scale), float(minimum), np.concatenate((packed & 15, packed >> 4)).astype(np.int64)


def file_of_smollm2() -> Path | None:
    """The GGUF file of smollm2, where it was fetched."""
    folder = installed().get("smollm2")
    return None if folder is None else next(folder.glob("*.gguf"), None)


@lru_cache(maxsize=2)
def tensor_entries(path: Path) -> dict[str, TensorEntry]:
    """Where the tensors of a file are; kept, since 49,152 tokens stand before them and take longer to read."""
    with GgufFile(path) as file:
        return file.tensors


def file_row(row: int, d_head: int) -> int:
    """Where a row of W_q or W_k of the model is in a file of LLaMA's family, which interleaves the halves of each head.

    Row `half * d_head / 2 + pair` of a head is row `2 * pair + half` of that head in the file.
    """
    head, within = divmod(row, d_head)
    half, pair = divmod(within, d_head // 2)
    return head * d_head + 2 * pair + half


def open_block(model: Transformer, layer: int, kind: str, row: int, place: int) -> OpenedBlock:
    """A block of the file of smollm2, beside the weights of the loaded model.

    Args:
        model: smollm2, as it was loaded from that file.
        row: of the model's matrix.
        place: of the block in the row.

    Raises:
        ValueError: no such block, or the file is not here.
    """
    path = file_of_smollm2()
    if path is None:
        raise ValueError("the GGUF file of smollm2 is not here; `python -m tfcore.loading` fetches it")
    used = _part(model, layer, kind, row, place)
    name = f"blk.{layer}.{NAMES[kind]}.weight"
    there = file_row(row, model.config.head_size) if kind in ("q", "k") else row
    entry = tensor_entries(path)[name]
    if entry.kind != Q4_1:
        raise ValueError(f"{name} is stored in {entry.kind.name}, and blocks of Q4_1 can be opened")
    with path.open("rb") as file:
        file.seek(entry.start + there * entry.row_size + place * SIZE)
        content = file.read(SIZE)
    return OpenedBlock(name, there, place, content, *decode_block(content), used)


def block_of_weights(model: Transformer, name: str, layer: int, kind: str, row: int, place: int) -> OpenedBlock:
    """A block as it would stand in a file: made of a model's weights by the `gguf` package.

    Args:
        name: of the model.
    """
    used = _part(model, layer, kind, row, place)
    content = gguf.quants.quantize(used[None], Q4_1).tobytes()
    return OpenedBlock(f"W_{kind} of layer {layer} of {name}", row, place, content, *decode_block(content), used)


def _part(model: Transformer, layer: int, kind: str, row: int, place: int) -> Float[ndarray, " value"]:
    """The 32 weights of a block."""
    weight = matrix_of(model, layer, kind).float().cpu()
    rows, columns = weight.shape
    if not (0 <= row < rows and 0 <= place < columns // BLOCK):
        raise ValueError(
            f"row={row}, place={place} must be below {rows} and {columns // BLOCK} in W_{kind} of layer {layer}"
        )
    return weight[row, place * BLOCK : (place + 1) * BLOCK].numpy()
