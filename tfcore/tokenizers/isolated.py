"""A tokenizer.json of others, run by a process of its own with limits of memory and time, and the chat template that
came with it.

The `tokenizers` library does what a file says. A few lines of it can ask for more memory than there is, search for
hours, or end the process, and no `except` holds that up; and while it reads a large vocabulary, no other thread of
Python runs. A template is a program, whatever tokenizer it came with. So all that happens elsewhere (worker.py), also
where the tokenizer is one of our own kinds, and a file that does harm ends nothing but its own process. What tokens are
called is kept here: only encode, conversations, and decode where it is more than joining tokens, ask.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfcore.files import MAX_JSON_BYTES, MAX_TOKENIZER_BYTES, CheckpointError, check_file, size
from tfcore.tokenizers.declared import Declared
from tfcore.tokenizers.foreign import MOST_ROWS, NOTHING
from tfcore.tokenizers.pipe_messages import received, send
from tfcore.tokenizers.tokenizer import BPETokenizer, ByteLevelBPE, Tokenizer, readable
from tfcore.wanted import STILL_WANTED, UnwantedError

if TYPE_CHECKING:
    from tfcore.tokenizers.chat import ChatToken, Message

LOAD_BYTES = 1_000_000_000  # of address space: a file of 39 MB takes 650 million
LOAD_SECONDS = 30  # of computing: a file of 33 MB takes 4
CALL_BYTES = 500_000_000
CALL_SECONDS = 5
PATIENCE = 4  # times as long by the clock, on a machine that is busy
EVERY = 0.1  # seconds between two looks at the clock, and at whether somebody still waits
LARGEST_ANSWER = 8_000_000  # bytes
LARGEST_TABLE = 100_000_000
# Not `import tfcore`: with it comes torch, which would take longer than all the rest.
START = """
import json, sys, types
folder, sys.path[:] = sys.argv[1], json.loads(sys.argv[2])
package = sys.modules["tfcore"] = types.ModuleType("tfcore")
package.__path__ = [folder]
from tfcore.tokenizers.worker import serve
serve(*map(int, sys.argv[3:]))
"""
KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")  # no secret of the environment goes along


class TokenizerError(ValueError):
    """A tokenizer failed at a text, in one sentence; another text may do."""


def read_tokenizer(path: Path, said: Declared = NOTHING, rows: int = MOST_ROWS) -> Tokenizer:
    """Read a tokenizer.json that nobody vouches for: of ours, or of the `tokenizers` library.

    Args: see tokenizer_of.

    Raises:
        CheckpointError: too large, neither, or harmful.
    """
    check_file(path)
    if (there := path.stat().st_size) > MAX_TOKENIZER_BYTES:
        raise CheckpointError(f"{path} has {size(there)}, more than the {size(MAX_TOKENIZER_BYTES)} a tokenizer may")
    try:
        return isolated(path.read_bytes(), said, rows)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise CheckpointError(f"{path} is not a tokenizer file that can be used: {error}") from error


def isolated(content: bytes, said: Declared = NOTHING, rows: int = MOST_ROWS) -> Tokenizer:
    """The tokenizer of these contents of a tokenizer.json, run by a process of its own, which ends with the tokenizer.

    Args: see tokenizer_of.

    Raises:
        ValueError: why there is none.
    """
    if len(content) > MAX_TOKENIZER_BYTES:
        raise ValueError(f"it has {size(len(content))}, more than the {size(MAX_TOKENIZER_BYTES)} a tokenizer may")
    worker = _Worker(content, said, rows)
    if worker.exact:
        return _IsolatedBPE(worker)
    return (_IsolatedByteLevelBPE if worker.merges else IsolatedTokenizer)(worker)


class IsolatedTokenizer:
    """A tokenizer that runs in another process; see ForeignTokenizer for what it does with a text.

    Args:
        on_failure: what is called with the TokenizerError before it is raised: an app can show it and stop there.
    """

    on_failure: Callable[[TokenizerError], object] | None = None

    def __init__(self, worker: "_Worker") -> None:
        self._worker = worker

    @property
    def vocab_size(self) -> int:
        """One more than the largest id."""
        return len(self._worker.pieces)

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Text -> id of the tokens that no merge makes."""
        return self._worker.special

    def encode(self, text: str) -> list[int]:
        """Ids of a text.

        Raises:
            TokenizerError: it took too much memory or time, or gave ids that it has no tokens for.
        """
        ids: list[int] = self._ask("encode", text)
        self._check(ids)
        return ids

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Which characters each id of a text stands for; see ForeignTokenizer.

        Raises:
            TokenizerError: it took too much memory or time, or said what cannot be.
        """
        pairs = [(int(a), int(b)) for a, b in self._ask("offsets", text)]
        if any(not 0 <= a <= b <= len(text) for a, b in pairs):
            self._fail("it gives characters that the text does not have")
        return pairs

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids."""
        return str(self._ask("decode", [int(i) for i in ids]))

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes one id stands for; none for an id that has no token."""
        return self._worker.pieces.of(token_id)

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """A readable piece per id."""
        return [self._worker.names.of(i).decode() if self._worker.names else readable(self.token_bytes(i)) for i in ids]

    def conversation(self, template: str, messages: "Sequence[Message]", names: Mapping[str, str]) -> "list[ChatToken]":
        """The tokens of a conversation by a template that nobody vouches for; see tfcore.tokenizers.chat.

        Raises:
            TokenizerError: it fails, refuses the conversation, or takes too much memory or time.
        """
        from tfcore.tokenizers.chat import ChatToken  # here, because most models are never talked with

        answer = self._ask("conversation", template, [list(message) for message in messages], dict(names))
        self._check([i for i, _ in answer])
        return [ChatToken(i, role) for i, role in answer]

    def save(self, folder: Path) -> None:
        """Write tokenizer.json, and tokenizer_config.json where something is declared there."""
        (folder / "tokenizer.json").write_bytes(self._worker.content)
        if (said := self._worker.said) != NOTHING:
            (folder / "tokenizer_config.json").write_text(json.dumps(said.to_config()), "utf-8")

    def _check(self, ids: list[int]) -> None:
        if ids and max(ids) >= self.vocab_size:
            self._fail(f"it gives the id {max(ids)}, and its tokens end at {self.vocab_size - 1}")

    def _ask(self, method: str, *arguments: Any) -> Any:
        try:
            return self._worker.ask(method, *arguments)
        except ValueError as error:
            return self._fail(str(error))

    def _fail(self, sentence: str) -> None:
        problem = TokenizerError(f"the model's tokenizer fails at this text: {sentence}")
        if self.on_failure is not None:
            self.on_failure(problem)
        raise problem


class _IsolatedByteLevelBPE(IsolatedTokenizer, ByteLevelBPE):
    """One in bytes whose library part is elsewhere; its merges can be asked for."""

    @cached_property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """See ByteLevelBPE."""
        return [(a.encode("latin-1"), b.encode("latin-1")) for a, b in self._ask("merges")]

    def words(self, text: str) -> list[bytes]:
        """See ByteLevelBPE."""
        return [word.encode("latin-1") for word in self._ask("words", text)]


class _IsolatedBPE(_IsolatedByteLevelBPE, BPETokenizer):
    """One that puts nothing around a text."""

    decode = BPETokenizer.decode

    @property
    def separator_id(self) -> int | None:
        """The id between documents, if this tokenizer has one."""
        return self._worker.separator


class _Table:
    """Texts by number, joined, so that no object is made for each.

    Args:
        joined: one after the other.
        sizes: bytes of each, as uint32.
    """

    def __init__(self, joined: bytes, sizes: bytes) -> None:
        self._joined, self._ends = joined, list(accumulate(array("I", sizes)))

    def __len__(self) -> int:
        return len(self._ends)

    def of(self, i: int) -> bytes:
        """The text of this number; nothing where there is none."""
        if not 0 <= i < len(self._ends):
            return b""
        return self._joined[self._ends[i - 1] if i else 0 : self._ends[i]]


class _Worker:
    """The other process, started again when it has ended, and what it said of the tokenizer.

    Args:
        content: of tokenizer.json.
        said, rows: see tokenizer_of.

    Raises:
        ValueError: why it cannot be used.
    """

    def __init__(self, content: bytes, said: Declared, rows: int) -> None:
        self.content, self.said, self.rows = content, said, rows
        self._lock = threading.Lock()  # one question at a time
        self._process = self._started()

    def ask(self, method: str, *arguments: Any) -> Any:
        """Call a method of the tokenizer.

        Raises:
            ValueError: it failed, or took too much memory or time.
            UnwantedError: nobody waits for it any more.
        """
        with self._turn():
            if self._process.poll() is not None:
                self._process = self._started()
            question = json.dumps([method, *arguments]).encode()
            (said,) = _exchange(self._process, [question], CALL_SECONDS, [LARGEST_ANSWER])
        answer = json.loads(said)
        if "refused" in answer:
            raise ValueError(answer["refused"])
        return answer["answer"]

    def _started(self) -> subprocess.Popen[bytes]:
        limits = [LOAD_BYTES, LOAD_SECONDS, CALL_BYTES, CALL_SECONDS]
        process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-c",
                START,
                str(Path(__file__).parents[1]),
                json.dumps(sys.path),
                *map(str, limits),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in KEPT if name in os.environ},
            start_new_session=True,  # Ctrl+C is for us
        )
        weakref.finalize(self, _end, process)
        beside = json.dumps([self.rows, self.said.to_dict()]).encode()
        (answer,) = _exchange(process, [self.content, beside], LOAD_SECONDS, [MAX_JSON_BYTES])
        about = json.loads(answer)
        if "refused" in about:
            raise ValueError(about["refused"])
        self.exact, self.separator, self.special = bool(about["exact"]), about["separator"], about["special"]
        self.merges = bool(about["merges"])
        pieces, sizes, names, name_sizes = _exchange(process, [], LOAD_SECONDS, [LARGEST_TABLE] * 4)
        self.pieces, self.names = _Table(pieces, sizes), _Table(names, name_sizes)
        return process

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """The lock, for as long as the body takes."""
        still_wanted = STILL_WANTED.get()
        while not self._lock.acquire(timeout=EVERY):
            if not still_wanted():
                raise UnwantedError
        try:
            yield
        finally:
            self._lock.release()


def _exchange(process: subprocess.Popen[bytes], messages: list[bytes], seconds: int, limits: list[int]) -> list[bytes]:
    """Send messages and return as many as there are limits, of at most that many bytes each.

    Raises:
        ValueError: why there is no answer; the process is gone then.
        UnwantedError: nobody waits for it any more; neither is there a process.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    still_wanted, done, end = STILL_WANTED.get(), threading.Event(), time.monotonic() + PATIENCE * seconds

    def watch() -> None:
        while not done.wait(EVERY) and time.monotonic() < end and still_wanted():
            pass
        if not done.is_set():
            process.kill()

    threading.Thread(target=watch, name="tokenizer's clock", daemon=True).start()
    try:
        for message in messages:
            send(process.stdin, message)
        return [received(process.stdout, limit) for limit in limits]
    except (OSError, EOFError) as error:
        _end(process)
        if not still_wanted():
            raise UnwantedError from error
        raise ValueError(_why(process.returncode, time.monotonic() > end, seconds)) from error
    except BaseException:  # too long, or an interrupt: what else it sends would be taken for the next answer
        _end(process)
        raise
    finally:
        done.set()


def _why(status: int, late: bool, seconds: int) -> str:
    """Why a process ended, in a sentence."""
    if late or status == -getattr(signal, "SIGXCPU", 0):
        return f"it takes more than {seconds} s of computing, and was stopped"
    return "it asks for more memory than a tokenizer may have, or breaks the library that runs it, and was stopped"


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # what it did not read any more
                pipe.close()
    process.wait()
