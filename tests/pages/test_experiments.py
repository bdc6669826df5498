"""Every page gives its views away as programs that come to the numbers of its figures."""

import ast
import json
import subprocess
import sys
import wave
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pages.facts import pages
from pages.ui import frame
from pages.ui.components import figure as drawing
from pages.ui.work import jobs, live, runs
from pages.ui.work.run_records import Limits
from tests.architecture.sources import ROOT
from tests.commands.test_command_line import UNVISITED
from tests.commands.typed import typed
from tests.nightly import nightly, often
from tests.pages.experiments_to_visit import NOT_REPEATABLE, UNVISITED_SECTIONS, VISITS, WITHOUT
from tests.pages.figures import array, figures, scenes
from tests.pages.on_device import apart, ran
from tests.pages.sights import ask_for_tables
from tests.pages.visits import address, opened, press, said
from tests.pages.waiting import until
from tests.pretend_device import DEVICE
from tfcore import views
from tfcore.__main__ import main
from tfcore.commands import calls, catalogue
from tfcore.views import programs
from tfcore.views.foundations import tokens
from tfcore.views.model.your_model import measure as your_model
from tfcore.views.sources import File
from tfcore.views.view import Scene, View

SLOW = {
    *("folklore", "data types timed", "grow", "growing dictionary", "weight decay", "pitfalls", "speculative"),
    *(
        "modern",
        "modern, two tokens ahead",
        "modern, four streams",
        "other routing rules",
        "heads of a translator",
        "norm placements",
        "optimisers",
        "film",
        "balance",
    ),
    "losses against bits",
}
EACH_RUN = {file: name for name, (file, _) in reversed(VISITS.items()) if name not in SLOW}  # the first of each page

BY_LAB = {f"lab.{name}" for name in ("course", "maps", "answer", "places", "dials", "compare", "clipping", "dropout")}

# Trainings of the lab; what a visitor types is a part of their programs.
LAB = {
    "letters": {"task": "copy", "length": "3", "dropout": "0.2"},
    "a text": {
        "task": "characters of your text",
        "text": "a \"quoted\"\n'text' \\ {x} \u202e " * 8,
        "length": "8",
        "optimiser": "SGD + momentum",
        "clip": "0.1",
        "micro": "2",
        "ff": "true",
    },
}


@pytest.fixture
def viewed(monkeypatch) -> list[View]:
    """The views that pages show."""
    found, original = list[View](), frame.Panel.show

    def noted(panel: frame.Panel, view: View, *on_click: Any, **more: Any) -> None:
        found.append(view)
        original(panel, view, *on_click, **more)

    monkeypatch.setattr(frame.Panel, "show", noted)
    return found


@pytest.fixture(scope="module")
def written() -> dict[str, programs.Program]:
    """The programs of all visits, for what is asked of all of them at once."""
    return {}


@pytest.fixture(scope="module")
def by_command_line() -> set[str]:
    """The views that a command line made."""
    return set()


@pytest.fixture(autouse=True)
def _ends_at_once(monkeypatch, short):
    """Trainings are short, and over when a page first looks at them; as much memory is free at every look."""
    monkeypatch.setattr(live, "begin", _ended)
    monkeypatch.setattr(your_model, "free_memory", lambda _: 18 * 10**9)
    ask_for_tables(monkeypatch)


def _ended(key: Any, work: jobs.Work, patience: float = float("inf"), **_: Any) -> jobs.Job:
    """A training is over when its page first looks at it, and none is taken from what is stored."""
    jobs.JOBS.start(key, work, jobs.visitor(), patience)
    jobs.JOBS.wait(key, 10**9, 120.0)
    found = jobs.JOBS.look(key, jobs.visitor())
    assert found is not None
    return found


def numbers(node: Any) -> list[np.ndarray]:
    """All numbers of a figure's traces, in their order, whichever way they are packed."""
    if isinstance(node, dict) and "bdata" in node:
        return [array(node).ravel().astype(float)]
    if isinstance(node, dict):
        return [found for key in sorted(node) if key != "marker" for found in numbers(node[key])]
    if isinstance(node, list):
        if node and all(part is None or isinstance(part, int | float) for part in node):
            return [np.array([np.nan if part is None else part for part in node], dtype=float)]
        return [found for part in node for found in numbers(part)]
    return []


def same(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return (
        bool(one)
        and [part.shape for part in one] == [part.shape for part in other]
        and all(np.allclose(a, b, rtol=1e-5, atol=1e-7, equal_nan=True) for a, b in zip(one, other, strict=True))
    )


def shared(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    """A row of numbers that is in both: all that can be asked where the others are times."""
    return any(same([a], [b]) for a in one for b in other if len(a) > 1)


def spec(fig: Any) -> list[np.ndarray]:
    """The numbers of a figure or a scene as they would travel."""
    if isinstance(fig, Scene):
        return numbers(json.loads(json.dumps(fig.data)))
    return numbers(json.loads(drawing._json(fig, 100, "any"))["data"])


def execute(parts: programs.Program, folder: Any, monkeypatch) -> dict[str, Any]:
    """Run the script where it may write its picture."""
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {"__name__": "__main__", "__package__": ""}
    exec(compile(programs.script(parts), parts.name, "exec"), names)
    assert (folder / f"{parts.name}.html").stat().st_size > 1_000
    return names


def is_command(view: View) -> bool:
    """Whether it is a view of a subject, and no figure of a reader's own function (tfcore.exercises)."""
    return view.made is not None and view.made.function.__module__.startswith("tfcore.views.")


def check_call(view: View) -> None:
    """Said as JSON and read again, it is the same call; JSON knows no tuples."""
    assert view.made is not None
    name, said = calls.call(view)
    again = calls.made(name, json.loads(json.dumps(said)))
    assert again.function is view.made.function
    assert list(again.arguments) == list(view.made.arguments)
    assert calls.as_json(again.arguments) == calls.as_json(view.made.arguments)


@pytest.mark.parametrize("name", often(VISITS, [*EACH_RUN.values()][::3]))
def test_a_program_comes_to_the_numbers_of_the_page(name, viewed, written, tmp_path, monkeypatch, capsys):
    file, address = VISITS[name]
    test = opened(file, **address)
    shown = [numbers(found["data"]) for _, found in figures(test).values()]
    words = " ".join(f"{head['alt']} {head['caption']}" for head, _ in figures(test).values())
    words += f" {said(test, 'markdown', 'caption')}"
    assert viewed, "this page shows no view, and offers no program"
    for view in viewed:
        made_again = programs.program(view)
        if is_command(view):
            check_call(view)
        result = execute(made_again, tmp_path, monkeypatch)["shown"]
        alike = shared if made_again.name in NOT_REPEATABLE else same
        drawn = map(numbers, scenes(test, view.chart.module)) if isinstance(view.chart, Scene) else shown
        assert any(alike(spec(result.chart), one) for one in drawn), made_again.name
        assert capsys.readouterr().out.endswith(f"{result}\n")
        if made_again.name not in NOT_REPEATABLE:  # the page says what the program prints
            assert str(result) == str(view)
            assert [finding for finding in result.findings if str(finding) not in words] == []
        check_notebook(made_again)
    written.update({f"{name} {view.key}": programs.program(view) for view in viewed})


@nightly
@pytest.mark.parametrize("name", VISITS)
def test_a_command_line_comes_to_the_numbers_of_the_page(name, viewed, by_command_line, capsys):
    file, address = VISITS[name]
    opened(file, **address)
    for view in filter(is_command, viewed):
        check_command_line(view, capsys)
        by_command_line.add(calls.name_of(view))


def check_command_line(view: View, capsys: Any) -> None:
    """It says what the page says, and its table is the page's."""
    line = ["view", *typed(view)]
    is_repeatable = programs.name_of(view) not in NOT_REPEATABLE
    capsys.readouterr()
    assert main(line) == 0, capsys.readouterr().err
    said = capsys.readouterr().out
    assert said == f"{view}\n" or not is_repeatable
    if view.table is not None and is_repeatable:
        assert main([*line, "--csv"]) == 0, capsys.readouterr().err
        sys.stdout.flush()
        assert sys.stdout.buffer.getvalue().decode() == view.csv()  # with the ends of its lines


@nightly
def test_every_view_was_made_by_a_command_line(by_command_line):
    if not by_command_line:
        pytest.skip("no page was visited before")
    there = {f"{of}.{name}" for of in views.subjects() for name in catalogue.subject(of)}
    assert sorted(there - by_command_line) == sorted(BY_LAB | UNVISITED.keys())


def test_every_section_is_visited_or_has_a_reason_not_to_be():
    """Where a page has visits of its own; what lacks one is otherwise known when the night has visited all others."""
    for page in (page for page in pages().values() if page.file not in WITHOUT and page.facts.sections.names):
        named = {label: one for one, label in page.facts.sections.names.items()}
        chosen = {
            where.get(page.facts.sections.key, next(iter(named))) for of, where in VISITS.values() if of == page.file
        }
        visited = {named.get(one, one) for one in chosen}
        assert not visited & UNVISITED_SECTIONS.get(page.file, set())
        assert visited | UNVISITED_SECTIONS.get(page.file, set()) == set(named.values()), page.file


@pytest.mark.parametrize("form", [programs.script, programs.notebook])
def test_what_is_downloaded_is_formatted_like_the_house(form, written, tmp_path):
    """And imports what it uses and nothing else: the programs of the visits above, all at once."""
    if not written:
        pytest.skip("no page was visited before")
    ending = "py" if form is programs.script else "ipynb"
    for i, parts in enumerate(written.values()):
        (tmp_path / str(i)).mkdir()
        (tmp_path / str(i) / f"{parts.name}.{ending}").write_text(form(parts), "utf-8")
    house = ["--no-cache", "--config", str(ROOT / "pyproject.toml"), str(tmp_path)]
    own = 'lint.isort.known-first-party=["tfcore"]'  # as in the root of the repository
    commas = "format.skip-magic-trailing-comma=false"  # long values stand one a line
    for work in (["check", "--ignore", "T20,RUF", "--config", own], ["format", "--diff", "--config", commas]):
        ruff = [sys.executable, "-m", "ruff", *work, *house]
        done = subprocess.run(ruff, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@nightly
def test_programs_come_to_the_same_numbers_on_another_device(written):
    """Where no tensor of the CPU may meet those of the model; the programs of the visits above."""
    if not written:
        pytest.skip("no page was visited before")
    failed = {}
    for name, parts in written.items():
        plain, other = (ran(programs.script(parts), device) for device in ("cpu", DEVICE.type))
        if problem := plain.problem or other.problem:
            failed[name] = problem
        # a key or a value of 2 bits may be rounded the other way: an attention map moved by 0.025
        elif parts.name not in NOT_REPEATABLE and apart(plain.numbers, other.numbers) >= 0.1:
            failed[name] = "other numbers"
    assert failed == {}


def check_notebook(parts: programs.Program) -> None:
    """A notebook of format 4.5, of the same code."""
    book = json.loads(programs.notebook(parts))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert book["metadata"]["kernelspec"]["name"] == "python3"
    words, *cells = book["cells"]
    assert words["cell_type"] == "markdown"
    assert all(set(cell) == {"cell_type", "id", "metadata", "execution_count", "outputs", "source"} for cell in cells)
    code = "\n\n".join("".join(cell["source"]) for cell in cells)
    script_code = ast.unparse(ast.parse(programs.script(parts)).body[1:-1])
    assert ast.unparse(ast.parse(code).body[:-1]) == script_code
    assert code.endswith("\nshown")


def test_no_page_is_visited_that_is_gone_or_has_a_reason_not_to_be():
    files = {page.file for page in pages().values()}
    visited = {file for file, _ in VISITS.values()}
    assert visited | WITHOUT.keys() == files
    assert not visited & WITHOUT.keys()


@nightly
@pytest.mark.parametrize("settings", LAB.values(), ids=list(LAB))
def test_a_run_of_the_lab_is_made_again_by_each_of_its_programs(settings, viewed, tmp_path, monkeypatch, capsys):
    """The same settings, so the same steps: what was watched is what a program that trains by itself comes to."""
    monkeypatch.setattr(runs.RUNS.book, "limits", Limits(slice=0.05, pulse=0.05))
    page_of_it = {"layers": "1", "heads": "1", "width": "16", "rows": "4", "steps": "20", **settings}
    test = press(opened("training/lab/page.py", **page_of_it), "lab main")
    name = address(test, "run")
    until(lambda: runs.RUNS.freeze(name) is not None)
    viewed.clear()
    for more in ({}, {"show": "compare"}, *({"show": "changes", "choice": one} for one in ("clipping", "dropout"))):
        opened("training/lab/page.py", **page_of_it, run=name, **more)
    found = {view.key: view for view in viewed}
    assert set(found) == {"curves", "maps", "answer", "places", "dials", "compare", "clipping", "gap"}
    for view in found.values():
        made_again = programs.program(view)
        if is_command(view):
            check_call(view)
        result = execute(made_again, tmp_path, monkeypatch)["shown"]
        assert capsys.readouterr().out.endswith(f"{view}\n")
        assert same(spec(result.chart), spec(view.chart)), view.key
        assert result.csv() == view.csv()
        check_command_line(view, capsys)


def test_a_visitors_own_file_is_read_from_its_path(tmp_path, monkeypatch):
    Image.new("RGB", (70, 50), (9, 90, 200)).save(tmp_path / "picture.png")
    content = np.zeros((448, 448, 3), np.uint8)
    shown = tokens.strip(File("picture.png", content), 64, 16, 3)
    assert shown.made.arguments["own"] == File("picture.png"), "a view keeps no file alive"
    parts = programs.program(shown)
    assert "put its path here" in parts.call
    vectors = execute(parts, tmp_path, monkeypatch)["shown"].result
    assert vectors.shape == (16, 768)
    assert vectors[3].reshape(-1, 3).mean(0) == pytest.approx([9, 90, 200])
    with wave.open(str(tmp_path / "sound.wav"), "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", "not compressed"))
        file.writeframes(bytes(2 * 16_000))
    for view in (tokens.spectrogram, tokens.frames):
        parts = programs.program(view(File("sound.wav", np.zeros(32_000, np.float32)), 25.0, 10.0, 3))
        assert "put its path here" in parts.call
        found = execute(parts, tmp_path, monkeypatch)["shown"]
        assert view is tokens.frames or found.result.frames == 100
