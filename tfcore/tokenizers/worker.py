"""The process in which a tokenizer of others runs: reads a tokenizer.json from its parent, then answers its questions.

The first two messages from the parent are the file and what is declared beside it; the answers are facts in JSON and
four tables (see `described`). Every further message is JSON, [method, argument, ...], and so is its answer:
{"answer": ...} or {"refused": a sentence}.
Before it reads anything it gives up memory and time beyond its limits, so that whatever a file makes the library do
ends this process alone. See isolated.py for the other end.
"""

import json
import os
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from tfcore.tokenizers.declared import Declared
from tfcore.tokenizers.foreign import ForeignTokenizer, tokenizer_of
from tfcore.tokenizers.pipe_messages import received, send
from tfcore.tokenizers.tokenizer import BPETokenizer, ByteLevelBPE, Tokenizer

MOST_IDS = 1_000_000  # four times the largest vocabulary in use (Gemma 3: 262,145)
MOST_AROUND = 16  # eight times as many as are in use
MOST_SPECIAL = 10_000  # Gemma 3 has 6,415
LONGEST_TOKEN = 1_024  # bytes; the longest in use are spaces, 128 of them


class HarmfulTokenizerError(ValueError):
    """A tokenizer that reads well, and would do harm."""


def serve(load_bytes: int, load_seconds: int, call_bytes: int, call_seconds: int) -> None:
    """Read the file, then answer until the parent is gone.

    Args:
        load_bytes, load_seconds: of memory and of computing while the file is read.
        call_bytes, call_seconds: of memory beyond that, and of computing, for each question.
    """
    read, write = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that a library prints may look like an answer
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("1000")  # where memory runs out all the same, this process is the one to end
    _limit(load_bytes, load_seconds)
    content, beside = received(read), received(read)
    try:
        rows, said = json.loads(beside)
        tokenizer = tokenizer_of(content.decode("utf-8"), Declared.from_dict(said), rows)
        about, *tables = described(tokenizer)
    except BaseException as error:  # the library raises bare Exception, and a panic in it is none
        send(write, json.dumps({"refused": _sentence(error)}).encode())
        return
    del content
    for message in (json.dumps(about).encode(), *tables):
        send(write, message)
    del tables
    with suppress(EOFError):  # the parent is gone
        while True:
            message = received(read)
            _limit(_size() + call_bytes, call_seconds)
            send(write, _answered(tokenizer, message))


def described(tokenizer: Tokenizer) -> tuple[dict[str, Any], bytes, bytes, bytes, bytes]:
    """Facts that the parent keeps; the bytes of every token one after the other, and how many each has (uint32); and
    the like of the readable names, where they are not those bytes.

    Raises:
        HarmfulTokenizerError: ids or tokens that no vocabulary in use has.
    """
    n = tokenizer.vocab_size
    if n > MOST_IDS:
        raise HarmfulTokenizerError(f"its largest id is {n - 1:,}, and at most {MOST_IDS:,} tokens can be shown here")
    pieces = [tokenizer.token_bytes(i) for i in range(n)]
    named = isinstance(tokenizer, ForeignTokenizer) and tokenizer.word_piece
    names = [name.encode() for name in tokenizer.tokens(range(n))] if named else []
    longest = max(map(len, [*pieces, *names]), default=0)
    if longest > LONGEST_TOKEN:
        raise HarmfulTokenizerError(
            f"one of its tokens has {longest:,} bytes, and at most {LONGEST_TOKEN:,} can be shown here"
        )
    if (around := len(tokenizer.encode(""))) > MOST_AROUND:
        raise HarmfulTokenizerError(
            f"it puts {around:,} tokens around every text, and at most {MOST_AROUND} can be shown here"
        )
    exact = isinstance(tokenizer, BPETokenizer)
    separator = tokenizer.separator_id if isinstance(tokenizer, BPETokenizer) else None
    if len(special := dict(tokenizer.special_tokens)) > MOST_SPECIAL:
        raise HarmfulTokenizerError(
            f"it has {len(special):,} special tokens, and at most {MOST_SPECIAL:,} can be shown here"
        )
    facts = {"exact": exact, "separator": separator, "special": special, "merges": isinstance(tokenizer, ByteLevelBPE)}
    return facts, *_table(pieces), *_table(names)


def _table(texts: Sequence[bytes]) -> tuple[bytes, bytes]:
    return b"".join(texts), array("I", map(len, texts)).tobytes()


def _answered(tokenizer: Tokenizer, message: bytes) -> bytes:
    method, *arguments = json.loads(message)
    try:
        return json.dumps({"answer": METHODS[method](tokenizer, *arguments)}).encode()
    except BaseException as error:  # a panic inside a library written in Rust is no Exception
        return json.dumps({"refused": _sentence(error)}).encode()


# Bytes travel as Latin-1.
METHODS: dict[str, Callable[..., Any]] = {
    "encode": lambda tokenizer, text: tokenizer.encode(text),
    "offsets": lambda tokenizer, text: tokenizer.offsets(text),
    "decode": lambda tokenizer, ids: tokenizer.decode(ids),
    "words": lambda tokenizer, text: [word.decode("latin-1") for word in tokenizer.words(text)],
    "conversation": lambda tokenizer, *said: _conversation(tokenizer, *said),
    "merges": lambda tokenizer: [[a.decode("latin-1"), b.decode("latin-1")] for a, b in tokenizer.merges],
}


def _conversation(
    tokenizer: Tokenizer, template: str, messages: list[Any], names: dict[str, str]
) -> list[tuple[int, str | None]]:
    from tfcore.tokenizers.chat import Message, conversation  # here, because most models are never talked with

    rendered = conversation(tokenizer, template, [Message(*message) for message in messages], names)
    return [(token.id, token.role) for token in rendered]


def _sentence(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "it asks for more memory than a tokenizer may have"
    if isinstance(error, RecursionError):
        return "it nests too deep"
    if not isinstance(error, Exception):
        return "it breaks the library that runs it"
    return (" ".join(str(error).split()) or type(error).__name__)[:300]


def _limit(size: int, seconds: int) -> None:
    """Let this process end when it grows beyond a size, or computes for longer than that from now on."""
    try:
        import resource  # here, because Windows has none: there the parent's clock is the only limit
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + 1 + seconds
    wanted = {"RLIMIT_AS": size, "RLIMIT_CPU": until, "RLIMIT_CORE": 0, "RLIMIT_FSIZE": 0}
    for name, soft in wanted.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        with suppress(ValueError, OSError):  # macOS does not limit the size
            resource.setrlimit(kind, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _size() -> int:
    """Bytes of address space in use; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 1 << 62
