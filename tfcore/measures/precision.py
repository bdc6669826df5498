"""Data types of stored numbers, and the bytes they take: weights, gradients, activations and caches alike."""

from typing import Literal

Precision = Literal["float64", "float32", "bfloat16", "float16", "int8", "int4"]
Dtype = Literal["float32", "bfloat16", "float16"]  # those that weights are trained in

BITS: dict[Precision, int] = {"float64": 64, "float32": 32, "bfloat16": 16, "float16": 16, "int8": 8, "int4": 4}


def stored_bytes(numbers: int, precision: Precision) -> int:
    """Bytes of so many numbers, the last one full; the scales that int8 and int4 need besides are left out."""
    return -(-numbers * BITS[precision] // 8)
