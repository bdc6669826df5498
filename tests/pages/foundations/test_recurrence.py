"""The page on recurrence: every panel from its address, with what it says."""

from functools import partial

from tests.pages import visits
from tfcore.analysis.foundations.recurrence import alignment, alignment_findings, comparison, comparison_findings

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
    assert test.button(key="stop").label == "Stop" or test.button(key="again").label == "Another seed"
    visits.press(test, "stop" if "stop" in [button.key for button in test.button] else "again")


def test_a_training_that_would_take_too_long_is_refused_in_a_sentence():
    test = opened(look="Trained side by side", run="here, now", steps_copy="900", length_copy="24")
    assert "would take more than about a minute; take 585" in visits.said(test, "info")


def test_attention_off_has_no_alignment():
    test = opened(look="Attention over an encoder", attention="false")
    assert "there is no alignment to draw" in test.info[0].value
    assert not opened(look="Attention over an encoder").info


def test_findings_of_what_ships_are_on_the_page():
    found = comparison_findings.held_out_accuracy(comparison.kept_comparison("copy"))
    assert dict(found.accuracy)["transformer"] == 1
    test = opened(look="Attention over an encoder")
    assert str(alignment_findings.place_kept(alignment.kept_alignment_repeats("reverse"))) in words(test)


def test_passes_here(patience):
    test = opened(look="Time of one pass", timing="here, now", width="64")
    assert test.select_slider(key="width").value == 64
    assert "sequential" not in words(test) or "What to see." in words(test)
