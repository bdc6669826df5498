"""Do the tests notice small faults? Mutants of pages and analyses, a random sample, each run against its own tests.

cosmic-ray makes the mutants. A mutant is killed when a test that concerns its module fails, or takes too long:

    python -m tools.mutants --seed 0 --minutes 30

prints each survivor with its line and ends with 1 where more than 10 % of the sample survive.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from cosmic_ray.ast import Visitor, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

from pages.facts import CHAPTERS
from pages.facts import pages as every_page
from tests.pages.experiments_to_visit import VISITS
from tests.project.test_constants import MODULES

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("pages", "tfcore", "tests", "assets", "benchmarks", "tools", ".streamlit")
MUTATED = ("pages", "tfcore/measures", "tfcore/views")
TESTS = (*(chapter.folder for chapter in CHAPTERS), "charts", "views", "measures", "pages", "loading")
MOST_SURVIVORS = 0.10  # of the sample
EXPERIMENTS = "tests/pages/test_experiments.py::test_a_program_comes_to_the_numbers_of_the_page"
CONSTANTS = "tests/project/test_constants.py::test_its_constants_are_as_recorded"
SNAPSHOTS = "tests/pages/test_every_page.py::test_a_section_and_its_examples_are_as_in_their_snapshot"
QUESTIONS = "tests/pages/test_every_page.py::test_every_question_of_a_round"
LONGEST = 300  # seconds for the tests of one mutant; more is a loop that does not end
SWAPS = ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Mul", "Mod_Mul", "Pow_Mul")
COMPARISONS = (
    *("Eq_NotEq", "NotEq_Eq", "Lt_LtE", "Lt_Gt", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_Lt", "GtE_Gt", "GtE_Lt"),
    *("Is_IsNot", "IsNot_Is"),
)
OPERATORS = (
    *(f"core/ReplaceBinaryOperator_{swap}" for swap in SWAPS),
    *(f"core/ReplaceComparisonOperator_{swap}" for swap in COMPARISONS),
    *("core/ReplaceUnaryOperator_Delete_USub", "core/ReplaceUnaryOperator_Delete_Not", "core/AddNot"),
    *("core/ReplaceTrueWithFalse", "core/ReplaceFalseWithTrue", "core/ReplaceAndWithOr", "core/ReplaceOrWithAnd"),
    *("core/NumberReplacer", "core/ZeroIterationForLoop", "core/ReplaceBreakWithContinue"),
)
# Not mutated: sizes on the screen and of caches, lengths of labels, colours, the layout of columns. A person looks at
# these, no test does.
SIZES = {
    *("height", "width", "min_width", "size", "gap", "max_entries", "border", "anchor", "vertical_alignment", "wrap"),
    *("horizontal", "hide_index", "delta_color", "disabled", "frozen", "slots", "kw_only", "key", "color", "line"),
    "strict",  # of zip: what is zipped has one length
}
LARGEST = 10_000  # of a number that is changed, by 1: of larger ones a page shows no such difference
LABELS = {"label", "shorten"}  # of a text, to a length
LAYOUT = {"columns", "container", "base_layout", "of_model", "data", "expander", "tabs"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module with one fault.

    Args:
        path: of the module, from the root of the repository.
        operator, occurrence: as cosmic-ray counts them.
        line: where the fault is.
    """

    path: str
    operator: str
    occurrence: int
    line: int

    def code(self) -> str:
        """The module's text with the fault."""
        found = mutate_code((ROOT / self.path).read_text("utf-8"), get_operator(self.operator)(), self.occurrence)
        assert found is not None
        return str(found)


class _Positions(Visitor):
    """Where an operator applies, in the order of its occurrences: (line, column)."""

    def __init__(self, operator: Any) -> None:
        self.operator = operator
        self.found: list[tuple[int, int]] = []

    def visit(self, node: Any) -> Any:
        self.found += [start for start, _ in self.operator.mutation_positions(node)]
        return node


def _is_size(target: ast.expr) -> bool:
    """Whether what is assigned here is a size on the screen."""
    return isinstance(target, ast.Name) and (target.id in {*SIZES, "wide"} or "HEIGHT" in target.id)


def excluded(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Ranges of a module, from (line, column) to (line, column), in which a fault would say nothing: annotations,
    decorators, SIZES, LAYOUT, the lengths of LABELS and numbers beyond LARGEST."""
    ranges = []
    for node in ast.walk(ast.parse(source)):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            parts += node.decorator_list
        if isinstance(node, ast.FunctionDef):
            parts.append(node.returns)
            last = node.args.args[len(node.args.args) - len(node.args.defaults) :]
            given: list[tuple[ast.arg, ast.expr | None]] = [*zip(last, node.args.defaults, strict=True)]
            given += [*zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
            parts += [default for argument, default in given if argument.arg in SIZES]
        if isinstance(node, ast.arg | ast.AnnAssign):
            parts.append(node.annotation)
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value > LARGEST:
            parts.append(node)
        if isinstance(node, ast.keyword) and node.arg in SIZES:
            parts.append(node.value)
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in LABELS:
                parts += node.args[1:]
            if name in LAYOUT:
                parts += [*node.args, *(keyword.value for keyword in node.keywords)]
        if isinstance(node, ast.Assign):
            target = node.targets[0]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = [*zip(target.elts, node.value.elts, strict=False)]
            else:
                pairs = [(target, node.value)]
            parts += [value for place, value in pairs if _is_size(place)]
        if isinstance(node, ast.comprehension) and _is_size(node.target):
            parts.append(node.iter)
        ranges += [((p.lineno, p.col_offset), (p.end_lineno, p.end_col_offset)) for p in parts if p is not None]  # type: ignore[attr-defined]
    return ranges


def mutants(path: Path) -> Iterator[Mutant]:
    """All mutants of a module."""
    source = path.read_text("utf-8")
    left_out, lines = excluded(source), source.splitlines()
    tree = get_ast(source)
    for name in OPERATORS:
        seen = _Positions(get_operator(name)())
        seen.walk(tree)
        for occurrence, start in enumerate(seen.found):
            marks = lines[start[0] - 1].startswith("*,", start[1])  # arguments by name: no product
            if not marks and not any(first <= start < last for first, last in left_out):
                yield Mutant(path.relative_to(ROOT).as_posix(), name, occurrence, start[0])


def is_another(text: str, right: str) -> bool:
    """Whether a mutant's text is a program that differs from the right one: not 1e+19 for 1e19, nor {*a, 1: b} for
    {**a, 1: b}, which nobody could run."""
    try:
        return ast.dump(ast.parse(text)) != ast.dump(ast.parse(right))
    except SyntaxError:
        return False


def sampled(seed: int) -> Iterator[Mutant]:
    """Mutants in random order, every module as often as it is long."""
    rng = random.Random(seed)
    paths = [path for folder in MUTATED for path in sorted((ROOT / folder).rglob("*.py"))]
    paths = [path for path in paths if path.parent.name != "draw" and (ROOT / "pages" / "ui") not in path.parents]
    paths = [path for path in paths if path.name not in ("__init__.py", "draw.py") or "views" in path.parts]
    paths = [path for path in paths if not path.match("pages/*/*/facts.py")]  # words and names
    lengths = [len(path.read_text("utf-8")) for path in paths]
    known: dict[Path, list[Mutant]] = {}
    done: set[Mutant] = set()
    while True:
        (path,) = rng.choices(paths, lengths)
        if path not in known:
            known[path] = list(mutants(path))
        if known[path] and (mutant := rng.choice(known[path])) not in done:
            done.add(mutant)
            if is_another(mutant.code(), path.read_text("utf-8")):
                yield mutant


@cache
def _imports(path: Path) -> frozenset[str]:
    """The names of all modules that a file imports, and of what it imports from them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return frozenset(found)


def tests_of(path: str) -> list[str]:
    """The tests that concern a module: those that import it or its page, those of the pages that do, and the pages'
    experiments."""
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    page_of_it = f"{module.rpartition('.')[0]}." if path.startswith("pages/") and path.count("/") == 3 else module
    files = [file for folder in TESTS for file in sorted((ROOT / "tests" / folder).rglob("test_*.py"))]
    files = [file for file in files if file.name not in ("test_experiments.py", "test_every_page.py")]  # chosen below
    own = [file for file in files if any(name.startswith(page_of_it) for name in _imports(file))]
    used = {module, ".".join(module.split(".")[:4])} if path.startswith("tfcore/views/") else {module}  # the subject
    parts = [part for part in (ROOT / "pages").glob("*/*/*.py") if used & _imports(part)]
    if path.startswith("pages/"):
        parts.append(ROOT / path)
    pages = {part.parent for part in parts if (part.parent / "page.py").exists()}
    if path.startswith("pages/") and path.count("/") == 2:  # shared by the pages of a chapter
        pages |= {page for page in (ROOT / path).parent.iterdir() if (page / "page.py").exists()}
    of_pages = [
        file for page in sorted(pages) for file in (ROOT / "tests" / page.parent.name / page.name).glob("test_page*.py")
    ]
    chosen = [file.relative_to(ROOT).as_posix() for file in dict.fromkeys([*own, *of_pages])]
    if not own and path.startswith("tfcore/"):  # known to other analyses alone
        folders = Path(path).parts[1:-1]
        chosen = ["/".join(("tests", *(folders[1:] or folders if folders[0] == "views" else folders)[:2])), *chosen]
    if not chosen:  # nobody imports the router
        chosen = ["tests/pages/test_facts.py"]
    names = [name for name, (file, _) in VISITS.items() if (ROOT / "pages" / file).parent in pages]
    of_page = {ROOT / "pages" / page.file: page.facts.sections.names or [""] for page in every_page().values()}
    sections = [
        f"{SNAPSHOTS}[{page.parent.name}/{page.name}/page.py-{section}-{look}]"
        for page in sorted(pages)
        for section in of_page[page / "page.py"]
        for look in ("as it opens", "examples")
    ]
    sections += [QUESTIONS for page in pages if page.name == "check"]
    constants = [f"{CONSTANTS}[{module}]"] if module in MODULES else []
    # the slowest last
    return [*constants, *chosen, *(f"{EXPERIMENTS}[{name}]" for name in names), *sections]


def survives(mutant: Mutant, tree: Path, command: Sequence[str] = ()) -> bool:
    """Whether all tests of a mutant pass, in a copy of the repository; the copy is as before afterwards."""
    file = tree / mutant.path
    right = file.read_text("utf-8")
    file.write_text(mutant.code(), "utf-8")
    pytest = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests_of(mutant.path)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
    try:
        run = subprocess.run(
            command or pytest, cwd=tree, env=environment, capture_output=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        sys.stdout.write(f"{mutant.path}:{mutant.line} longer than {LONGEST} s\n")
        return False
    finally:
        file.write_text(right, "utf-8")
    if run.returncode not in (0, 1, 2):  # 1: a test failed, 2: not even importable
        raise RuntimeError(f"the tests of {mutant.path} do not run: {run.stdout.decode()[-2000:]}")
    return run.returncode == 0


def copied(folder: Path) -> Path:
    """A copy of what the tests need."""
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name)  # with what Python compiled: a mutant is one file
    for file in ROOT.iterdir():
        if file.is_file():
            shutil.copy(file, folder)
    if (ROOT / "models").exists():  # the real models are looked at, not copied
        (folder / "models").symlink_to((ROOT / "models").resolve())
    return folder


def shown(mutant: Mutant) -> str:
    """A mutant in two lines: the line as it is, and with the fault."""
    right = (ROOT / mutant.path).read_text("utf-8").splitlines()
    wrong = mutant.code().splitlines()
    before, after = next((a, b) for a, b in zip(right, wrong, strict=True) if a != b)
    return f"{mutant.path}:{mutant.line}\n  - {before.strip()}\n  + {after.strip()}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    end = time.monotonic() + 60 * given.minutes
    results: list[tuple[Mutant, bool]] = []
    order, turn = sampled(given.seed), Lock()

    def judge(tree: Path) -> None:
        copied(tree)
        while time.monotonic() < end:
            with turn:
                mutant = next(order)
            survived = survives(mutant, tree)
            results.append((mutant, survived))
            sys.stdout.write(f"{'SURVIVED' if survived else 'killed'} {shown(mutant)}\n")
            sys.stdout.flush()

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.workers) as pool:
        list(pool.map(judge, [Path(folder) / str(i) for i in range(given.workers)]))
    lived = [mutant for mutant, survived in results if survived]
    share = len(lived) / max(1, len(results))
    sys.stdout.write(f"seed {given.seed}: {len(lived)} of {len(results)} mutants survive, {share:.0%}\n")
    return int(share > MOST_SURVIVORS)


if __name__ == "__main__":
    sys.exit(main())
