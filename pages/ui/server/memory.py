"""Memory that the C library keeps after it was freed, given back to the system.

Large results come and go in many threads. glibc keeps what they freed: in up to eight regions for each core, and in
blocks of up to 32 MB, because a program that frees large blocks makes it keep larger ones from then on.
"""

import ctypes
import sys
import threading
from typing import Any

EVERY = 2.0  # seconds
REGIONS = 2
LARGE = 1 << 20  # bytes from which a block is the system's again once it is freed
# The numbers of these settings in glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8


def _library() -> Any:
    """The C library, where it is glibc."""
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    return library if hasattr(library, "malloc_trim") and hasattr(library, "mallopt") else None


def bound() -> None:
    """Keep less of what is freed, and from now on give back the rest every so many seconds, beside the server.

    Call it before other threads begin: a region that is in use stays. Without glibc nothing happens.
    """
    if (library := _library()) is None:
        return
    for setting, value in ((_ARENA_MAX, REGIONS), (_MMAP_THRESHOLD, LARGE), (_TRIM_THRESHOLD, LARGE)):
        library.mallopt(setting, value)
    threading.Thread(target=_give_back, args=(library,), name="memory", daemon=True).start()


def _give_back(library: Any) -> None:
    pause = threading.Event()
    while not pause.wait(EVERY):
        library.malloc_trim(0)
