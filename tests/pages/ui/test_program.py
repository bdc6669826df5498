"""Programs made of an experiment and its arguments: what a visitor typed stays a literal in them."""

import ast
import io
import json
import linecache
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pages.ui.program import _Steps, bound, made, notebook, program, script
from tests.nightly import nightly
from tests.pages.ui import an_experiment
from tfcore.config import ModelConfig
from tfcore.model import Transformer
from tfcore.part_configs import ExpertsConfig
from tfcore.presets import PRESETS
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.foundations.positions.measure.effects import shuffle_experiment
from tfcore.views.literals import import_lines, literal

ROOT = Path(__file__).resolve().parents[3]
HOSTILE = '"""\nimport os\n\'\'\'\\" {x} %s \u202e\u2028\x00\ud800 # fmt: off\r\n' * 5
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner), max_leaves=8
)


@given(VALUES)
@example(HOSTILE)
@example("a " * 200 + '"' + "b" * 300)
def test_a_literal_says_the_value(value):
    assert ast.literal_eval(literal(value)) == value


def test_a_literal_names_what_is_not_at_its_default():
    config = ModelConfig(vocab_size=64, d_model=8, n_layers=1, n_heads=2, experts=ExpertsConfig(n_experts=4))
    said = literal(config)
    assert said.replace("\n", "").replace(" ", "").replace(",)", ")") == (
        "ModelConfig(vocab_size=64,d_model=8,n_layers=1,n_heads=2,experts=ExpertsConfig(n_experts=4))"
    )
    for preset in PRESETS.values():
        assert eval(literal(preset()), {"ModelConfig": ModelConfig, **config_parts()}) == preset()


def config_parts() -> dict[str, type]:
    from tfcore import part_configs

    return {name: kind for name, kind in vars(part_configs).items() if isinstance(kind, type)}


def test_a_numpy_scalar_is_a_plain_number():
    assert [literal(np.float64(0.5)), literal(np.int64(3)), literal((np.float32(2),))] == ["0.5", "3", "(2.0,)"]


def test_infinity_has_no_literal_but_a_call():
    assert literal(float("inf")) == 'float("inf")'


def test_what_cannot_be_written_is_refused():
    with pytest.raises(TypeError, match="set cannot be written"):
        literal({1})


def shuffled(words):
    """The arguments of an experiment that takes what is made from words."""
    return bound(an_experiment.shuffled, made(shuffle_experiment, words, 1, False), "none")


def test_hostile_words_stay_words():
    words = (HOSTILE, "plain", "'''", "f'{exit()}'", "\\")
    parts = program(an_experiment.shuffled, shuffled(words))
    tree = ast.parse(script(parts))
    assigned = {ast.unparse(node.targets[0]): node.value for node in tree.body if isinstance(node, ast.Assign)}
    assert ast.literal_eval(assigned["words"]) == words
    assert notebook(parts).isascii()
    names: dict[str, object] = {}
    with redirect_stdout(io.StringIO()):
        for cell in json.loads(notebook(parts))["cells"][1:]:
            exec("".join(cell["source"]), names)
    assert names["words"] == words
    assert "shown" in names


@nightly
def test_a_notebook_shows_its_figure_in_jupyter_with_what_its_first_cell_names(tmp_path):
    """Plotly shows a figure there by nbformat; the kernel is a process of its own."""
    parts = program(an_experiment.shuffled, shuffled(("a", "b")))
    (tmp_path / "book.ipynb").write_text(notebook(parts), "utf-8")
    pinned = (ROOT / "requirements-dev.txt").read_text("utf-8")
    first = "".join(json.loads(notebook(parts))["cells"][0]["source"])
    assert all(f"\n{name}==" in pinned for name in re.findall(r"`pip install (.+?)`", first)[-1].split())
    execute = [sys.executable, "-c", "from nbclient.cli import main; main()", "--output=run.ipynb", "book.ipynb"]
    done = subprocess.run(
        execute,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT), "JUPYTER_PREFER_ENV_PATH": "1"},
    )
    assert done.returncode == 0, done.stderr
    outputs = json.loads((tmp_path / "run.ipynb").read_text("utf-8"))["cells"][-1]["outputs"]
    shown = [output["data"] for output in outputs if "data" in output]
    assert any("application/vnd.plotly.v1+json" in data or "text/html" in data for data in shown)


def test_imports_keep_their_other_names_and_stand_in_groups(monkeypatch):
    source = "import json\nimport numpy as np\nfrom tfcore import load as read\nfrom math import pi\n\n"
    source += "def shown(n: int):\n    return read, json, np.full(n, pi)\n"
    module = ModuleType("pages.renamed.experiments")
    linecache.cache["renamed.py"] = (len(source), None, source.splitlines(keepends=True), "renamed.py")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(source, "renamed.py", "exec"), vars(module))
    module.__file__ = "renamed.py"
    first = program(module.shown, {"n": 2}).imports.split("\n\n")
    assert first[0] == "import json\nfrom math import pi"
    assert first[1] == "import numpy as np"
    assert "from tfcore import load as read" in first[2]


def tokens_read(model: Transformer, tokenizer: Tokenizer, text: str) -> list[str]:
    return tokenizer.tokens(tokenizer.encode(text)[: model.config.max_seq_len])


def joined(tokens: list[str]) -> str:
    return " ".join(tokens)


@pytest.mark.parametrize(("name", "noted"), [("stories", False), ("./mine", True), ("run:0@5", True), ("a/b", False)])
def test_a_model_of_a_folder_asks_for_its_path(name, noted):
    values = bound(joined, made(tokens_read, name, "a"))
    assert ("put the path of its folder here" in script(program(joined, values))) == noted


def read(text: str, limit: int) -> tuple[str, ...]:
    return tuple(text[:limit])


def both(read: tuple[str, ...], other: tuple[str, ...], text: str) -> str:
    return " ".join((*read, *other, text))


def test_a_result_and_an_argument_of_one_name_are_kept_apart():
    """`read` is an argument of the experiment and the function that makes it; `text` means three things."""
    steps = _Steps()
    steps.add(both, {"read": made(read, "abc", 2), "other": made(read, "xyz", 2), "text": "own"})
    assert steps.values == {"text": "own", "limit": 2}
    names: dict[str, object] = {"read": read, **steps.values}
    assert eval(steps.calls[0].partition(" = ")[2], names) == ("a", "b")
    assert eval(steps.calls[1].partition(" = ")[2], names) == ("x", "y")
    steps = _Steps()
    steps.add(both, {"read": "not made", "other": made(both, "a" * 60, made(read, "b" * 60, 1), "c" * 60), "text": ""})
    assert all(len(line) <= 120 for line in steps.calls[0].splitlines()), "as the formatter would write it"


def test_imports_of_one_module_in_both_forms_and_long_ones():
    needed = {("numpy", " as np"), ("numpy", "ndarray"), ("json", ""), ("tfcore", "load"), ("abc", "ABC")}
    assert import_lines(needed).split("\n") == [
        "import json",
        "from abc import ABC",
        "",
        "import numpy as np",
        "from numpy import ndarray",
        "",
        "from tfcore import load",
    ]
    long = import_lines({("tfcore.parts", f"{'x' * 20}{i}") for i in range(9)}).split("\n")
    assert (long[0], long[-1]) == ("from tfcore.parts import (", ")")
    assert len(long) == 11
