"""The lab: what is shown is the run, buttons do what they say, links find it again, and its model is on other pages."""

import json
import threading

import pytest

from pages.training.lab import run as _lab_run
from pages.training.lab import settings as _lab_settings
from pages.ui.loading import run_models
from pages.ui.work import runs
from pages.ui.work.run_records import Limits
from tests.nightly import nightly, often
from tests.pages.figures import figures
from tests.pages.visits import address, opened, press, run, said
from tests.pages.waiting import SOON, until
from tfcore.training.lab.recipes import recipe
from tfcore.training.lab.train import train_slice

SMALL = {"task": "copy", "width": "16", "heads": "1", "layers": "1", "rows": "4", "steps": "20", "length": "3"}
PAGE = "training/lab/page.py"


@pytest.fixture
def longer(monkeypatch):
    """Runs that go to their end."""
    monkeypatch.setattr(runs.RUNS.book, "limits", Limits(slice=0.05, pulse=0.05))


def id_of(test):
    return address(test, "run")


def done(test):
    name = id_of(test)
    until(lambda: not runs.RUNS.look(name).active and runs.RUNS.freeze(name) is not None)
    return run(test)


def label(test, key):
    return test.button(key=f"{key}:button").label


def bar_text(test):
    return " ".join(element.proto.text for element in test.get("progress")).replace("\\", "").replace("\u2060", "")


def test_the_first_visit_shows_a_run_of_the_default_settings_and_starts_none_of_its_own():
    test = opened(PAGE)
    assert "run" not in test.query_params
    (only,) = runs.RUNS.book.records.values()
    assert only.spec == recipe("induction")
    until(lambda: only.look is not None)
    other = opened(PAGE)
    assert len(runs.RUNS.book.records) == 1
    assert "for everybody" in said(other, "caption")
    assert other.button(key="lab stop:button").disabled


def test_a_stored_run_is_shown_until_the_one_here_has_something_to_show(monkeypatch):
    held = threading.Event()
    monkeypatch.setattr(runs, "train_slice", lambda *given, **more: held.wait(SOON) and train_slice(*given, **more))
    test = opened(PAGE)
    assert _lab_run.STORED in said(test, "caption")
    assert set(figures(test)) == {"curves", "maps", "answer", "places", "dials"}
    held.set()
    (only,) = runs.RUNS.book.records
    until(lambda: runs.RUNS.look(only).look is not None)
    assert _lab_run.STORED not in said(run(test), "caption")


def test_what_there_is_to_say_comes_with_the_pictures(monkeypatch):
    held = threading.Event()
    monkeypatch.setattr(_lab_run, "FIRST", 0.0)
    monkeypatch.setattr(runs, "train_slice", lambda *given, **more: held.wait(SOON) and train_slice(*given, **more))
    test = opened(PAGE, **SMALL)
    assert "The first look at the model comes when its worker has started" in said(test, "info")
    assert said(test, "markdown").count("What to see.") == 1
    held.set()
    (only,) = runs.RUNS.book.records
    until(lambda: runs.RUNS.look(only).look is not None)
    test = run(test)
    assert said(test, "info") == ""
    assert said(test, "markdown").count("What to see.") == 1


def test_with_other_settings_beside_it_the_link_names_even_everybodys_run():
    test = opened(PAGE)
    test.slider(key="layers").set_value(3)
    test = run(test)
    (only,) = runs.RUNS.book.records
    assert id_of(test) == only
    other = opened(PAGE, layers="3", run=only)
    for view in (test, other):
        assert "yours: layers 2 → 3" in said(view, "caption")
    assert list(runs.RUNS.book.records) == [only]
    assert "with" not in other.query_params


def test_start_trains_what_the_controls_say_and_the_link_names_it(longer):
    test = press(opened(PAGE, **SMALL), "lab main")
    test = done(test)
    found = runs.RUNS.look(id_of(test))
    assert found.spec.task == "copy"
    assert (found.spec.d_model, found.spec.n_layers, found.spec.rows, found.spec.steps) == (16, 1, 4, 20)
    assert found.state == "done"
    whole = train_slice(found.spec, 0, None, most=20, seconds=1e9)
    assert f"held-out loss {whole.curves.held_loss[-1]:.3f}" in caption_of(test, "curves")
    again = opened(PAGE, **SMALL, run=id_of(test))  # a reload: another session
    assert id_of(again) == id_of(test)
    assert "Done: 20 steps" in bar_text(again)


def caption_of(test, key):
    """What stands under a figure."""
    for element in test.get("bidi_component"):
        proto = element.proto
        if f"{key}:figure" in proto.id or f"{key}-figure" in proto.id or key in proto.id:
            return json.loads(proto.bytes.split(b"\n", 1)[0])["caption"]
    raise LookupError(key)


def test_pause_step_go_on_stop_and_reset(longer):
    test = press(opened(PAGE, **{**SMALL, "steps": "16000"}), "lab main")
    assert label(test, "lab main") == "Pause"
    until(lambda: runs.RUNS.look(id_of(test)).step > 0)
    test = press(test, "lab main")
    until(lambda: runs.RUNS.freeze(id_of(test)) is not None)
    before = runs.RUNS.look(id_of(test)).step
    test = press(run(test), "lab step")
    until(lambda: runs.RUNS.look(id_of(test)).step == before + 1)
    test = run(test)
    assert label(test, "lab main") == "Go on"
    assert f"Paused at step {before + 1:,}" in bar_text(test)
    test = press(press(test, "lab main"), "lab stop")
    assert runs.RUNS.look(id_of(test)).state == "stopped"
    first = id_of(test)
    test = press(test, "lab reset")
    assert id_of(test) != first
    until(lambda: runs.RUNS.look(id_of(test)).look is not None)
    assert runs.RUNS.look(id_of(test)).step == 0
    assert first in address(test, "with")


def test_a_run_that_nobody_looked_at_says_why_it_rests_and_that_it_is_gone(longer):
    test = press(opened(PAGE, **{**SMALL, "steps": "16000"}), "lab main")
    assert "paused after 5 minutes and dropped after 60" in said(test, "caption")
    until(lambda: runs.RUNS.look(id_of(test)).step > 0)
    mine = runs.RUNS.book.records[id_of(test)]
    runs.RUNS.book.tidy(mine.looked + 400)
    test = run(test)
    assert "Nobody looked at it for 5 minutes" in bar_text(test)
    assert label(test, "lab main") == "Go on"
    runs.RUNS.book.forget(mine)
    assert "The server no longer has the run" in said(run(test), "caption")


def test_settings_that_differ_from_the_run_are_said(longer):
    test = done(press(opened(PAGE, **SMALL), "lab main"))
    test.slider(key="layers").set_value(2)
    test = run(test)
    assert "yours: layers 1 → 2" in said(test, "caption")
    assert label(test, "lab main") == "Start"


@pytest.mark.parametrize("name", ["A" * 16, "x", "../../etc/passwd", "", "run"])
def test_an_unknown_run_is_one_sentence(name):
    test = opened(PAGE, **SMALL, run=name)
    assert "The server no longer has the run of this link" in said(test, "caption")
    assert not test.button(key="lab main:button").disabled


def test_settings_that_no_model_can_have_are_explained():
    test = opened(PAGE, layers="4", width="128", ff="true", rows="512")
    assert "These settings cannot be trained" in said(test, "caption")
    assert test.button(key="lab main:button").disabled


def test_another_task_begins_with_settings_of_its_own():
    test = opened(PAGE, layers="3")
    test.selectbox(key="task").select("addition")
    test = run(test)
    assert test.slider(key="layers").value == 1
    assert test.select_slider(key="decay").value == 1.0
    assert "p" in test.slider(key="symbols").label


def test_a_closed_lab_says_so(monkeypatch):
    monkeypatch.setenv("TFCORE_RUNS", "0")
    test = opened(PAGE)
    assert "has closed the lab" in said(test, "info")
    assert not runs.RUNS.book.records
    press(test, "lab main")
    assert not runs.RUNS.book.records


@nightly
def test_runs_are_compared(longer):
    test = done(press(opened(PAGE, **SMALL), "lab main"))
    test.slider(key="seed").set_value(5)
    test = done(press(run(test), "lab main"))
    test.segmented_control(key="show").set_value("compare")
    test = run(test)
    table = test.dataframe[0].value
    assert list(table["seed"]) == ["0", "5"]
    ends = [runs.RUNS.look(name).curves.held_accuracy[-1] for name in (address(test, "with"), id_of(test))]
    assert f"1: seed 0 ends at {ends[0]:.0%}; 2: seed 5 ends at {ends[1]:.0%}" in caption_of(test, "compare")
    shared = opened(PAGE, **{key: address(test, key) for key in test.query_params})
    assert len(shared.dataframe[0].value) == 2


def test_a_trained_model_is_on_the_other_pages_for_who_has_the_link(longer):
    test = done(press(opened(PAGE, **{**SMALL, "heads": "2", "task": "reverse"}), "lab main"))
    name = run_models.name_of(id_of(test), 20)
    for page in (
        "foundations/heads/page.py",
        "inside/induction/page.py",
        "inference/generation/page.py",
        "foundations/masks/page.py",
    ):
        shown = opened(page, model=name, text="abc>cba")
        assert shown.selectbox(key="model").value == name, page
        assert "Shown instead" not in said(shown, "info"), page
    assert name not in opened("foundations/heads/page.py").selectbox(key="model").options
    runs.RUNS.close()
    gone = opened("foundations/heads/page.py", model=name)
    assert "no longer has this trained model" in said(gone, "info")
    assert "no longer has this trained model" in said(opened("model/your_model/page.py", model=name), "warning")


CHOICES = ("schedule", "optimiser", "weight decay", "clipping", "label smoothing", "dropout")


@pytest.mark.parametrize("choice", often(CHOICES, ["optimiser", "dropout"]))
def test_what_each_choice_changes(longer, choice):
    test = opened(PAGE, **SMALL, show="hyperparameters", choice=choice)
    until(lambda: not runs.RUNS.book.active and all(r.look is not None for r in runs.RUNS.book.records.values()))
    test = run(test)
    assert said(test, "markdown").count("A question.") == 1
    key, words = {
        "schedule": ("rates", "Left of the peak after half of the 20 steps: cosine "),
        "optimiser": ("updates", "moves farther than the one moved least: AdamW "),
        "weight decay": ("decay", "(your run has none)"),
        "clipping": ("clipping", f"clipped to 1: {clipped()}"),
        "label smoothing": ("smoothing", "With smoothing 0 over 27 tokens the target is 1.000"),
        "dropout": ("gap", "on what it trains on: dropout 0: gap "),
    }[choice]
    assert words in caption_of(test, key)


def clipped():
    """The share of steps of the only run whose gradient is longer than 1, and their number."""
    (run_,) = runs.RUNS.book.records.values()
    norms = [float(norm) for norm in run_.curves.norm]
    return f"{sum(norm > 1 for norm in norms) / len(norms):.0%} of {len(norms)} steps"


def test_a_run_that_fell_to_pieces_is_shown_and_explained(longer, monkeypatch):
    wild = {**SMALL, "optimiser": "SGD + momentum", "lr": "1", "momentum": "0.95", "clip": "off", "steps": "4000"}
    monkeypatch.setattr(_lab_settings, "RATES", (*_lab_settings.RATES, 10.0))
    test = press(opened(PAGE, **{**wild, "lr": "10"}), "lab main")
    until(lambda: not runs.RUNS.look(id_of(test)).moving)
    test = run(test)
    assert "The loss left all bounds" in bar_text(test)
    assert "there is no model to keep" in said(test, "caption")
    for show in ("changes", "compare"):
        test.segmented_control(key="show").set_value(show)
        run(test)
