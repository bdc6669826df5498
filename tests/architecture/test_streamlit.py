"""What is private to Streamlit is used in pages/ui/streamlit_internals.py alone; pages/ui has no circle of imports."""

import ast
import re
from importlib.util import find_spec

import pytest

from tests.architecture.sources import ROOT, broken, files, module_name, targets

INTERNALS = ROOT / "pages" / "ui" / "streamlit_internals.py"
PUBLIC = ("streamlit.components", "streamlit.delta_generator", "streamlit.errors", "streamlit.testing")
PLACES = re.compile(r"data-test|\bst(App|Main|[A-Z][a-z]+[A-Z]\w*)\b|_stcore|index\.html")  # of its page and server
OWN = [path for path in [*files("pages", "tools"), ROOT / "app.py"] if path != INTERNALS]
OTHERS = [
    path
    for path in sorted((ROOT / "pages").rglob("*"))
    if path.suffix in (".js", ".css", ".html") and path != INTERNALS.with_suffix(".css")
]


def is_private(module: str) -> bool:
    return module.startswith("streamlit.") and not module.startswith(PUBLIC)


def is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def private_uses(source: str) -> list[str]:
    """What a Python file uses of Streamlit that is not its public interface."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if is_private(alias.name)]
        elif isinstance(node, ast.ImportFrom) and is_private(node.module or ""):
            found.append(str(node.module))
        elif isinstance(node, ast.ImportFrom) and node.module == "streamlit":
            names = [f"streamlit.{alias.name}" for alias in node.names]
            found += [name for name in names if is_private(name) and is_module(name)]
        elif isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            if re.fullmatch(r"(st|streamlit)(\.\w+)*\._\w+|st\.(runtime|config|web|proto|net_util|__file__)", name):
                found.append(name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and PLACES.search(node.value):
            found.append(node.value)
    return found


def test_nothing_private_of_streamlit_is_used():
    assert broken(private_uses, OWN) == {}


def test_no_script_or_style_names_elements_of_streamlits_page():
    assert broken(PLACES.findall, OTHERS) == {}


@pytest.mark.parametrize(
    "source",
    [
        "import streamlit.runtime",
        "from streamlit.runtime.scriptrunner import get_script_run_ctx",
        "from streamlit import config",
        "st._config.get_option('server.port')",
        "st.runtime.get_instance()",
        "STYLE = '[data-testid=\"stColumn\"]'",
        "ADDRESS = '/_stcore/health'",
    ],
)
def test_a_private_use_is_found(source):
    assert len(private_uses(source)) >= 1


def test_public_uses_are_none():
    source = (
        "import streamlit as st\nfrom streamlit.errors import X\nfrom streamlit import cache_data\nst.get_option('a')"
    )
    assert private_uses(source) == []


def circles(imports: dict[str, set[str]]) -> set[str]:
    """The modules that import themselves, by way of others or not."""

    def reached(module: str) -> set[str]:
        found: set[str] = set()
        new = set(imports[module])
        while new:
            found |= new
            new = {target for one in new for target in imports.get(one, ())} - found
        return found

    return {module for module in imports if module in reached(module)}


def test_the_modules_of_the_kit_import_each_other_in_no_circle():
    """Imports inside functions count: they only hide a circle."""
    assert circles({module_name(path): targets(path.read_text("utf-8")) for path in files("pages/ui")}) == set()


def test_a_circle_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}) == {"b", "c"}
