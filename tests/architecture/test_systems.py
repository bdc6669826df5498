"""What only Linux and macOS have is asked for where its lack is caught: the app runs on Windows, too. Nobody has tried
it there: what is read here are the sources."""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.sources import ROOT, files

MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
NAMES = {  # of os and signal
    *("chown", "chroot", "fork", "forkpty", "getegid", "geteuid", "getgid", "getgroups", "getloadavg", "getpgid"),
    *(
        "getpriority",
        "getuid",
        "killpg",
        "mkfifo",
        "nice",
        "pread",
        "sched_getaffinity",
        "setsid",
        "statvfs",
        "sysconf",
    ),
    *("uname", "wait", "wait4", "SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGQUIT", "SIGUSR1", "SIGUSR2", "alarm"),
}
PLACES = ("/bin/", "/dev/", "/etc/", "/proc/", "/sys/", "/tmp/", "/usr/", "/var/")
CAUGHT = {"ImportError", "ModuleNotFoundError", "AttributeError", "OSError", "Exception"}
SOURCES = [*files("tfcore", "pages"), ROOT / "app.py"]


def unguarded(source: str) -> list[str]:
    """What a file uses that Windows lacks, outside of a try or a suppress that catches it."""
    return [
        said
        for node, above in walked(ast.parse(source), [])
        if (said := lacking(node)) and not any(map(catches, above))
    ]


def walked(node: ast.AST, above: list[ast.AST]) -> Iterator[tuple[ast.AST, list[ast.AST]]]:
    """All nodes, each with those that it lies in. What a function does is caught where its defaults are used, in it."""
    yield node, above
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST):
                continue
            within = above if isinstance(node, ast.Try) and name != "body" else [*above, node]
            yield from walked(child, within)


def lacking(node: ast.AST) -> str:
    match node:
        case ast.Import(names=names) if found := MODULES & {one.name.partition(".")[0] for one in names}:
            return min(found)
        case ast.ImportFrom(module=str(module)) if module in MODULES:
            return module
        case ast.Attribute(value=ast.Name(id="os" | "signal"), attr=name) if name in NAMES:
            return name
        case ast.Constant(value=str(text)) if text.startswith(PLACES):
            return text
    return ""


def catches(node: ast.AST) -> bool:
    match node:
        case ast.Try(handlers=handlers):
            return any(CAUGHT & names_in(one.type) for one in handlers)
        case ast.With(items=items):
            return any("suppress" in names_in(one.context_expr) for one in items)
        case ast.arguments():
            return True
    return False


def names_in(node: ast.AST | None) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} if node else set()


def test_nothing_that_windows_lacks_is_used_without_a_way_around():
    found = {str(path): said for path in SOURCES if (said := unguarded(path.read_text("utf-8")))}
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "import fcntl",
        "from resource import getrlimit",
        "os.fork()",
        "open('/proc/self/statm')",
        "try:\n    pass\nexcept OSError:\n    os.nice(1)",
        "try:\n    os.nice(1)\nexcept ValueError:\n    pass",
    ],
)
def test_what_is_used_is_seen(source):
    assert unguarded(source)


@pytest.mark.parametrize(
    "source",
    ["try:\n    import fcntl\nexcept ImportError:\n    pass", "with suppress(OSError):\n    os.nice(1)", "os.getpid()"],
)
def test_what_is_caught_may_be_used(source):
    assert not unguarded(source)
