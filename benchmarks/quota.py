"""A share of the machine for one process, as `docker run --cpus` gives it: a control group of Linux."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
    with ExitStack() as leaving:
        try:
            group = Path(mkdtemp(prefix="share-", dir=GROUPS / "cpu" if old else GROUPS))
            leaving.callback(_remove, group)
            for name, value in {**said, "cgroup.procs": process}.items():
                (group / name).write_text(str(value))
        except OSError as problem:
            words = f"only root, on Linux with control groups, can hold a process to a share: {problem}"
            raise RuntimeError(words) from None
        yield


def _remove(group: Path) -> None:
    """What is left in it goes outside."""
    for process in (group / "cgroup.procs").read_text().split():
        (group.parent / "cgroup.procs").write_text(process)
    group.rmdir()
