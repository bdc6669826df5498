"""The commands of `python -m tfcore`, which `tfcore` is after an installation: each returns what it has to say, and
refuses what makes no sense with a ValueError of one sentence. tfcore/__main__.py reads the command line and writes."""

import argparse
from typing import NoReturn

PROGRAM = "python -m tfcore"


class Parser(argparse.ArgumentParser):
    """A parser that refuses in one sentence, with a ValueError."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message}; {self.prog} --help says what there is")
