"""Files a visitor brings: read once, refused in one sentence, and held for that visitor only while they are shown."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from pages.ui import keys, links, text


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


def forget() -> None:
    """Drop what was read from files."""
    links.visit().held.clear()
