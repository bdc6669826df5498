"""The server's log: whatever a visitor, or a file of theirs, put into a message begins no line of its own
and moves no terminal's cursor.

All that the app, Streamlit and uvicorn log goes through here: records of `logging` are made escaped, and the app writes
by `write` what is no record.
"""

import logging
import re
import sys
import threading
import traceback
from typing import Any

LONGEST = 20_000  # characters of a message
GOES_ON = "\n| "  # before each further line of a message


def escaped(said: str) -> str:
    """A text in which line breaks are marked, and characters that do not print stand as Python writes them."""
    lines = said[:LONGEST].rstrip("\n").split("\n")
    return GOES_ON.join(re.sub(r"[^ -~]", lambda match: _shown(match[0]), line) for line in lines)


def write(said: str) -> None:
    """Write a message down."""
    sys.stderr.write(f"{escaped(said)}\n")


def install() -> None:
    """From now on every record of `logging`, and what ends a thread, is escaped."""
    logging.setLogRecordFactory(_Record)
    threading.excepthook = lambda ended: write(
        "".join(traceback.format_exception(ended.exc_type, ended.exc_value, ended.exc_traceback))
    )


class _Record(logging.LogRecord):
    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        if self.exc_info and self.exc_info[0] is not None:
            # What is here already, no formatter writes again.
            self.exc_text = GOES_ON[1:] + escaped("".join(traceback.format_exception(*self.exc_info)))

    def getMessage(self) -> str:  # noqa: N802 - the name that logging gave it
        return escaped(super().getMessage())


def _shown(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
