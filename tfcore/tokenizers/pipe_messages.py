"""Messages between two processes through a pipe: their length, then their bytes."""

from typing import IO

LENGTH = 8  # bytes in which a message's length is written
ANY = 1 << 62


def send(file: IO[bytes], message: bytes) -> None:
    """Write one message."""
    file.write(len(message).to_bytes(LENGTH, "little"))
    file.write(message)
    file.flush()


def received(file: IO[bytes], largest: int = ANY) -> bytes:
    """The next message.

    Raises:
        EOFError: the other end is gone.
        ValueError: it has more than `largest` bytes, which are not read.
    """
    length = int.from_bytes(_exactly(file, LENGTH), "little")
    if length > largest:
        raise ValueError(f"it answers with {length:,} bytes, and at most {largest:,} are read")
    return _exactly(file, length)


def _exactly(file: IO[bytes], n: int) -> bytes:
    read = file.read(n)
    if len(read) < n:
        raise EOFError
    return read
