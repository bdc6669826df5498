"""Rules of the house that a reader can check by machine: no printing, no streamlit in the library."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.architecture.sources import ROOT, broken, files, imports
from tests.pages.short import ALWAYS, SHORT


def prints(source: str) -> list[int]:
    """Lines that call print."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [call.lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id == "print"]


def test_the_library_does_not_print():
    assert broken(prints, [path for path in files("tfcore") if path.name != "__main__.py"]) == {}


def test_a_print_is_found_and_a_docstring_is_none():
    assert prints("def f():\n    '''print(x)'''\n    print(1)") == [3]


def shares_memory(source: str) -> list[int]:
    """Lines that make a tensor over the memory of an array: `kept` results are read-only, which torch warns of."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [call.lineno for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "from_numpy"]


def test_tensors_do_not_share_the_memory_of_kept_results():
    assert broken(shares_memory, files("tfcore/measures", "tfcore/views")) == {}


def test_a_tensor_that_shares_memory_is_found():
    assert shares_memory("a = torch.tensor(x)\nb = torch.from_numpy(x)") == [2]


def copied(source: str) -> list[str]:
    """What tests of pages shorten, imported from where it is defined: a copy is short or not by when it was made."""
    return [f"{module}.{name}" for module, name in imports(source) if f"{module}.{name}" in ALWAYS | SHORT]


def test_what_tests_shorten_is_read_where_it_is_defined():
    assert broken(copied, files("tfcore", "pages")) == {}


def test_a_copy_of_what_is_shortened_is_found():
    name = next(name for name in SHORT if name.endswith("LENGTHS"))
    module = name.removesuffix(".LENGTHS")
    assert copied(f"from {module} import LENGTHS, Form\nfrom {module} import Form") == [name]


def skips(source: str) -> list[int]:
    """Lines that skip a test where a real model is not offered: without the fixture `real_models` none ever is."""
    asking = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.If) and "pytest.skip(" in ast.unparse(node.body):
            asking.append(node.test)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("skipif"):
            asking += node.args
    return [one.lineno for one in asking if re.search(r"\b(available|installed)\(", ast.unparse(one))]


def test_no_test_is_skipped_for_want_of_a_real_model_but_by_the_fixture():
    assert broken(skips, [path for path in files("tests") if path.name != "conftest.py"]) == {}


def test_a_test_that_skips_by_itself_is_found():
    source = "@skipif('minilm' not in available())\ndef f():\n    if x not in installed():\n        pytest.skip()"
    assert sorted(skips(source)) == [1, 3]


OWN = [*files("tfcore", "pages", "benchmarks", "tools", "deploy", "tests"), ROOT / "app.py"]


def broken_docstrings(source: str) -> list[str]:
    """Docstrings that were wrapped like a text in quotes: their lines end and begin with one."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    said = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
    return [words for words in said if re.search(r' "\n\s*"', words)]


def test_docstrings_are_whole():
    assert broken(broken_docstrings, OWN) == {}


def test_a_broken_docstring_is_found():
    assert broken_docstrings('def f():\n    """One "\n    "two."""\n    "a "\n    "b"') == ['One "\n"two.']


def streamlit_calls(source: str, *names: str) -> list[int]:
    """Lines that use one of these of Streamlit, as in `st.stop`."""
    used = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute) and node.attr in names]
    return [node.lineno for node in used if isinstance(node.value, ast.Name) and node.value.id == "st"]


def test_fragments_and_early_ends_go_through_one_door():
    """Past pages/ui/fragments.py, notices would be lost, or end in an error."""
    others = [path for path in files("pages") if path.name != "fragments.py"]
    assert broken(lambda source: streamlit_calls(source, "fragment", "stop"), others) == {}


def test_a_fragment_past_the_door_is_found():
    assert streamlit_calls("@st.fragment\ndef f():\n    own.stop()\n    st.stop()", "fragment", "stop") == [1, 4]


def leads_elsewhere(source: str) -> list[int]:
    """Lines that link to a view, or go to one, past pages/ui/links.py: Streamlit would drop part of what they say."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    named = [(call, call.func.attr) for call in calls if isinstance(call.func, ast.Attribute)]
    views = [
        call.lineno for call, name in named if name == "page_link" and "query_params" in {k.arg for k in call.keywords}
    ]
    return views + [call.lineno for call, name in named if name == "switch_page"]


def test_links_to_views_go_through_one_door():
    assert broken(leads_elsewhere, [path for path in files("pages") if path.name != "links.py"]) == {}


def test_a_link_past_the_door_is_found():
    assert leads_elsewhere("st.page_link('a')\nst.page_link('a', query_params={})\nst.switch_page('a')") == [2, 3]


IMPORT_ALL = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(",".join(name for name in ("streamlit", "transformers") if name in sys.modules))
"""


def came_along(package: str, folder: Path) -> str:
    """Which of the libraries that do not belong there are loaded once every module of a package is."""
    environment = os.environ | {"PYTHONPATH": str(folder)}
    result = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, package], env=environment, capture_output=True, text=True, check=True
    )
    return result.stdout.strip()


def test_streamlit_does_not_come_along_with_the_library():
    assert came_along("tfcore", ROOT) == ""


def test_it_would_be_seen_if_it_came_along(tmp_path):
    (tmp_path / "streamlit.py").touch()
    (tmp_path / "guilty" / "inner").mkdir(parents=True)
    (tmp_path / "guilty" / "__init__.py").touch()
    (tmp_path / "guilty" / "inner" / "__init__.py").write_text("def f():\n    pass\nimport streamlit\n")
    assert came_along("guilty", tmp_path) == "streamlit"


def test_the_formatter_is_hardly_overridden():
    marked = [path for path in OWN if "# fmt: " + "skip" in path.read_text("utf-8")]
    assert len(marked) <= 30
