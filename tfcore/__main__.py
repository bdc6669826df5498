"""The commands of tfcore: views as files, as tables and as sentences; checkpoints described and compared; exercises;
the app.

A text goes in by the standard input, a table comes out as CSV. Whatever makes no sense is refused in one sentence, with
exit status 2.
"""

import os
import sys
from argparse import REMAINDER, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tfcore.commands import PROGRAM, Parser
from tfcore.commands import app as app_command

EXAMPLES = f"""examples:
  {PROGRAM} list
  {PROGRAM} list heads
  {PROGRAM} view heads.portrait --model smollm2 --text "The cat sat down." --layer 13 --head 8 -o head.svg
  {PROGRAM} view heads.portrait --model stories --layer 1 --head 2 --csv < story.txt > weights.csv
  {PROGRAM} info model.gguf
  {PROGRAM} exercises attention --check mine.py:attention
"""
REFUSED = 2  # exit status of what makes no sense
STOPPED = 130  # of what somebody interrupts


def main(typed: Sequence[str] | None = None) -> int:
    """Do what a command line says; the exit status is 2 where it makes no sense, 1 where a check finds a
    difference.

    Args:
        typed: the command line; None for that of the process.
    """
    try:
        return _done(sys.argv[1:] if typed is None else typed)
    except BrokenPipeError:  # who reads has read enough; Python would write the rest at its end, and complain
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return STOPPED
    except (ValueError, OSError) as problem:
        _write(f"{problem}\n", sys.stderr)
        return REFUSED


def _done(typed: Sequence[str]) -> int:
    given = _parser().parse_args(typed)
    match given.command:
        case "list":
            from tfcore.commands import drawing

            _write(f"{drawing.listed(given.subject)}\n")
        case "view":
            from tfcore.commands import drawing

            if sys.stderr.isatty():
                drawing.tell_of_loading(lambda line: _write(line, sys.stderr))
            _write(drawing.drawn(given.name, given.arguments))
        case "info":
            from tfcore.commands import info

            _write(f"{info.described(given.model)}\n")
        case "exercises":
            return _exercise(given)
        case "app":
            return app_command.serve(given.port, given.host)
        case "check":
            from tfcore.loading.against_transformers import compared

            found = compared(given.path, given.seed)
            _write("".join(f"{one}\n" for one in found))
            return 0 if all(one.is_equal for one in found) else 1
    return 0


def _exercise(given: Namespace) -> int:
    """The list, what one asks, or what a function comes to: exit status 1 where it is not right."""
    from tfcore.commands import exercises

    if not given.name:
        if given.check or given.hints or given.solution:
            raise ValueError(f"say which exercise is meant; {PROGRAM} exercises lists them")
        _write(f"{exercises.listed()}\n")
    elif given.check:
        found = exercises.checked(given.name, given.check, given.seed)
        _write(f"{found}\n")
        return 0 if found.passed else 1
    else:
        _write(f"{exercises.described(given.name, given.hints, given.solution)}\n")
    return 0


def _parser() -> Parser:
    parser = Parser(prog=PROGRAM, description=__doc__, epilog=EXAMPLES, formatter_class=RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    views = commands.add_parser("list", help="the views there are, a line each, with their arguments")
    views.add_argument("subject", nargs="?", metavar="SUBJECT", help="such as heads: its views, with what each shows")
    view = commands.add_parser("view", help="make one: a file by -o, or its findings, or its table by --csv")
    view.add_argument("name", metavar="SUBJECT.NAME", help="as list says it; --help behind it explains its arguments")
    view.add_argument("arguments", nargs=REMAINDER, metavar="...", help="of the view")
    check = commands.add_parser("check", help="compare a checkpoint, part by part, with what transformers reads of it")
    check.add_argument("path", type=Path, metavar="FOLDER", help="a folder with a checkpoint, or a .gguf file")
    check.add_argument("--seed", type=int, default=0, help="of the tokens that both read")
    info = commands.add_parser("info", help="what a checkpoint is, what it takes, and whether it can be read")
    info.add_argument(
        "model", metavar="MODEL", help="a GGUF file, a folder, a model that is here, or a name on the hub"
    )
    exercise = commands.add_parser("exercises", help="functions to write: the list, what one asks, a check of yours")
    exercise.add_argument("name", nargs="?", default="", metavar="NAME", help="of the function, as the list says it")
    exercise.add_argument(
        "--check", metavar="FILE.py:FUNCTION", default="", help="run your function on random inputs; the file is run"
    )
    exercise.add_argument("--seed", type=int, default=0, help="of these inputs")
    exercise.add_argument("--hints", type=int, default=0, metavar="N", help="the first N hints as well")
    exercise.add_argument("--solution", action="store_true", help="a right function as well")
    app = commands.add_parser("app", help="serve the app on this machine")
    app.add_argument(
        "--port", type=int, default=app_command.PORT, help="by default %(default)s; 0 for any that is free"
    )
    app.add_argument("--host", default="", help="the address to listen on; by default this machine alone is let in")
    return parser


def _write(words: str, to: Any = None) -> None:
    """In UTF-8 on every system, with the ends of lines as they are."""
    out = sys.stdout if to is None else to
    out.flush()
    out.buffer.write(words.encode(errors="replace"))
    out.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
