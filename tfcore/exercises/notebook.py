"""An exercise as a notebook that runs in the reader's own kernel."""

import ast

from tfcore.commands.app import PORT
from tfcore.exercises.exercise import Exercise, source
from tfcore.views.programs import IN_JUPYTER, Words, book

NEEDS = """\
It needs tfcore: after `pip install .` in the root of the repository it runs offline, in a kernel of your own."""
MODULES = {  # what a solution may name -> the module that it is imported from, "" for one of this name
    "math": "",
    "torch": "",
    "pairwise": "itertools",
    "Float": "jaxtyping",
    "Int": "jaxtyping",
    "Int8": "jaxtyping",
    "Tensor": "torch",
    "ModelBlock": "tfcore.exercises.patching",
}
SITE = f"http://localhost:{PORT}"  # where `tfcore app` serves the app
STANDARD = ("math", "itertools")


def file_name(number: int, exercise: Exercise) -> str:
    """The name of a notebook's file; its number is from 1 on."""
    return f"{number:02}_{exercise.key}.ipynb"


def notebook(number: int, exercise: Exercise) -> str:
    """What is asked, a cell with the signature, the check, hints and solution folded, and the figure of the page."""
    key = exercise.key
    task = [
        f"# {number}. {exercise.title}",
        exercise.asks,
        f"$${exercise.formula}$$",
        exercise.papers,
        "What must be true of it:",
        "\n".join(f"- {one.claim}" for one in exercise.properties),
        f"{NEEDS} {IN_JUPYTER}",
    ]
    hints = [folded(f"Hint {i + 1}", hint) for i, hint in enumerate(exercise.hints)]
    hints.append(folded("Solution", f"```python\n{source(exercise.solution)}```"))
    page = f"[{exercise.page}]({SITE}/{exercise.page})"
    figure = f"The figure of the page {page}, drawn from your function. The link needs the app: `tfcore app` serves it."
    return book(
        "\n\n".join(task),
        [
            imports(exercise),
            exercise.stub.rstrip(),
            f"exercises.check({key})",
            Words("\n\n".join(hints)),
            Words(figure),
            f"exercises.draw({key})",
        ],
    )


def folded(summary: str, words: str) -> str:
    """Markdown that is seen after a click."""
    return f"<details>\n<summary>{summary}</summary>\n\n{words}\n\n</details>"


def imports(exercise: Exercise) -> str:
    """The lines that import what the signature and the solution name, in three groups."""
    named = {one.id for one in ast.walk(ast.parse(source(exercise.solution))) if isinstance(one, ast.Name)}
    needed = dict[str, list[str]]()
    for name, module in MODULES.items():
        if name in named:
            needed.setdefault(module or f"import {name}", []).append(name)
    groups: list[list[str]] = [[], [], ["from tfcore import exercises"]]
    for module, names in needed.items():
        line = module if module.startswith("import ") else f"from {module} import {', '.join(names)}"
        root = line.split()[1].partition(".")[0]
        groups[0 if root in STANDARD else 2 if root == "tfcore" else 1].append(line)
    return "\n\n".join("\n".join(group) for group in groups if group)
