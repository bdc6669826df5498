"""Source files read with ast: which module each is, and what it imports."""

import ast
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def files(*folders: str) -> list[Path]:
    """The Python files of the project's own folders."""
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def module_name(path: Path) -> str:
    """tfcore/measures/heads/maps.py -> tfcore.measures.heads.maps; a package is its __init__."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def broken(rule: Callable[[str], Any], paths: Iterable[Path]) -> dict[str, Any]:
    """What a rule finds in each file, by module; files in which it finds nothing are left out. One test for all files:
    a test for each took longer to collect than to run."""
    found = {module_name(path): rule(path.read_text("utf-8")) for path in paths}
    return {name: faults for name, faults in found.items() if faults}


def imports(source: str) -> list[tuple[str, str]]:
    """(module, name) of every import, also those inside functions; name is "" for a plain import."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            found += [(module, alias.name) for alias in node.names]
    return found


def targets(source: str) -> set[str]:
    """The modules imported; "from tfcore.charts import theme" names the module tfcore.charts.theme."""
    found = set()
    for module, name in imports(source):
        inner = f"{module}.{name}"
        found.add(inner if name and is_module(inner) else module)
    return found


def is_module(name: str) -> bool:
    place = ROOT.joinpath(*name.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()
