"""A share of the machine for one process, as `docker run --cpus` gives it: a control group of Linux."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

GROUPS = Path("/sys/fs/cgroup")
PERIOD = 20_000  # microseconds after which a process that has used up its share goes on


@contextmanager
def held_to(cores: float, process: int) -> Iterator[None]:
    """Let a process with all its threads use so many cores at most.

    Raises:
        RuntimeError: we are not root, or there are no control groups here.
    """
    old = (GROUPS / "cpu").is_dir()  # version 1 of control groups has a tree for each resource
    quota = round(cores * PERIOD)
    said = {"cpu.cfs_period_us": PERIOD, "cpu.cfs_quota_us": quota} if old else {"cpu.max": f"{quota} {PERIOD}"}
    try:
        group = Path(mkdtemp(prefix="share-", dir=GROUPS / "cpu" if old else GROUPS))
        for name, value in {**said, "cgroup.procs": process}.items():
            (group / name).write_text(str(value))
    except OSError as problem:
        raise RuntimeError(
            f"only root, on Linux with control groups, can hold a process to a share: {problem}"
        ) from None
    try:
        yield
    finally:
        for left in (group / "cgroup.procs").read_text().split():
            (group.parent / "cgroup.procs").write_text(left)
        group.rmdir()
