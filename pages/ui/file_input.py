"""Files and recordings that a visitor brings: read once, refused in one sentence, and held for that visitor only while
they are shown."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from pages.ui import fragments, keys, links, text

READ_BY = "read by"  # in what is held for a visit: a model and a file of this visitor's, and what the model made of it


def upload(label: str, key: str, kinds: Sequence[str], megabytes: int, read: Callable[[bytes], Any]) -> Any:
    """A place to upload a file; what `read` makes of it, or None if there is no file or it was refused.

    What was read is held for this visit only, so that a slider does not decode it again, and no longer than the file;
    nothing goes into a cache that visitors share.
    """
    file = st.file_uploader(label, type=list(kinds), key=keys.own("file_uploader", key), max_upload_size=megabytes)
    st.caption("A file is not part of the link, and is forgotten when you leave.")
    if file is None:
        forget()
        return None
    return _read(file, key, read)


def record(label: str, key: str, rate: int, read: Callable[[bytes], Any]) -> Any:
    """A recording from the visitor's microphone, `rate` samples a second; what `read` makes of it, or None. It is held
    as a file is."""
    file = st.audio_input(label, key=keys.own("audio_input", key), sample_rate=rate)
    if file is None:
        return None
    st.caption("A recording is not part of the link, and is forgotten when you leave.")
    return _read(file, key, read)


def _read(file: Any, key: str, read: Callable[[bytes], Any]) -> Any:
    """What `read` makes of a file, once; None where it refuses it, which is said."""
    held = links.visit().held
    known = held.get(key)
    if known is None or known[0] != file.file_id:
        try:
            known = (file.file_id, read(file.getvalue()), "")
        except ValueError as problem:
            known = (file.file_id, None, str(problem))
        held[key] = known
    _, result, refused = known
    if result is None:
        st.warning(text.escape(refused[:1].upper() + refused[1:], text.MESSAGE) + ". Until then, the example is shown.")
    return result


def read_by(name: str, content: Any, read: Callable[[str, Any], Any]) -> Any:
    """What a model makes of what was read from a file, once, held for this visit only; where it refuses it, that is
    said and the run ends.

    Args:
        name: of the model.
        read: the model's name and the content -> what it makes of it; a ValueError refuses it.
    """
    held, key = links.visit().held, (name, id(content))
    if held.get(READ_BY, (None,))[0] != key:
        try:
            with st.spinner("The model reads it"):
                held[READ_BY] = key, read(name, content)
        except ValueError as problem:
            st.info(text.escape(str(problem), text.MESSAGE))
            fragments.stop()
    return held[READ_BY][1]


def forget() -> None:
    """Drop what was read from files."""
    links.visit().held.clear()
