"""The page on recurrence: every panel from its address, with what it says."""

from functools import partial

import pytest

from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.waiting import wait_for_jobs
from tfcore.training.recurrent import alignment, comparison, passes, side_by_side
from tfcore.training.recurrent.passes import PassConfig, Passes
from tfcore.views import alike
from tfcore.views.foundations.recurrence import say

opened = partial(visits.opened, "foundations/recurrence/page.py")


def words(test):
    return visits.said(test, "markdown", "caption")


def test_gradients_at_the_start_and_after_a_training():
    test = opened(gain="2.2", forget_bias="4.0")
    assert test.slider(key="gain").value == 2.2
    trained = opened(weights="trained to copy")
    assert [slider.key for slider in trained.slider] == []
    assert "What to see." in words(trained)


def test_a_kept_training():
    test = opened(look="Trained side by side", task="recall one letter")
    assert "One letter has to be kept" in words(test)
    assert test.segmented_control(key="run").value == "kept"


def test_a_training_here(patience):
    test = opened(look="Trained side by side", run="here, now", steps_copy="30", length_copy="4")
    assert "Copy: random letters" in words(test).replace("*", "")
    assert test.button(key="stop:button").label == "Stop" or test.button(key="again:button").label == "Another seed"
    visits.press(test, "stop" if "stop:button" in [button.key for button in test.button] else "again")


def test_a_training_that_would_take_too_long_is_refused_in_a_sentence():
    test = opened(look="Trained side by side", run="here, now", steps_copy="900", length_copy="24")
    assert "would take more than about a minute; take 585" in visits.said(test, "info")


def test_attention_off_has_no_alignment():
    test = opened(look="Attention over an encoder", attention="false")
    assert "there is no alignment to draw" in test.info[0].value
    assert not opened(look="Attention over an encoder").info


def test_findings_of_what_ships_are_on_the_page():
    found = alike.held_out_accuracy(comparison.kept_comparison("copy"))
    assert found.values["accuracy"]["transformer"] == 1
    test = opened(look="Attention over an encoder")
    assert str(say.place_kept(alignment.kept_alignment_repeats("reverse"))) in words(test)


def test_passes_here(patience):
    test = opened(look="Time of one pass", timing="here, now", width="64")
    assert test.select_slider(key="width").value == 64
    assert "sequential" not in words(test) or "What to see." in words(test)


def test_of_work_that_is_done_the_last_result_is_drawn(monkeypatch):
    align, compare, measured = (
        [alignment.kept_alignment(order) for order in ("copy", "reverse")],
        [comparison.kept_comparison(task) for task in ("recall", "copy")],
        [Passes(PassConfig(), (), "no machine"), passes.kept_passes()],
    )
    monkeypatch.setattr(alignment, "align", lambda _: iter(align))
    monkeypatch.setattr(side_by_side, "compare", lambda _: iter(compare))
    monkeypatch.setattr(passes, "time_passes", lambda _: iter(measured))

    def drawn(figure, **address):
        test = opened(**address)
        wait_for_jobs()
        test = visits.run(test)
        return figures(test)[figure]

    _, spec = drawn("alignment", look="Attention over an encoder", aligned="here, now")
    cells = [array(trace["z"]) for trace in spec["data"] if trace.get("colorscale") == "@weights"]
    assert cells[0] == pytest.approx(align[-1].alignment, abs=1e-6)
    _, spec = drawn("course", look="Trained side by side", run="here, now")
    assert spec["data"][0]["x"][-1] == compare[-1].last.step
    head, _ = drawn("passes", look="Time of one pass", timing="here, now")
    assert f"on {measured[-1].machine}." in head["caption"]
