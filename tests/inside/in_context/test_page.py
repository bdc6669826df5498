"""The page on in-context learning: tasks, numbers of examples, labels, and models that cannot read a task."""

from functools import partial

import pytest

from pages.ui import cache
from tests.pages import visits
from tfcore.views.inside import in_context as views
from tfcore.views.inside.in_context.measure import accuracy, one_prompt, steps
from tfcore.views.inside.in_context.measure.accuracy import kept
from tfcore.views.inside.in_context.measure.steps import kept_steps

opened = partial(visits.opened, "inside/in_context/page.py")


def words(test):
    return visits.said(test, "markdown", "caption", "info")


def test_the_prompt_is_shown_as_it_is():
    test = opened(model="induction", task="code", k="3")
    found = one_prompt.answer(*cache.model("induction"), "code", "right", 3, 0)
    assert found.text in [element.value for element in test.code]
    assert found.text.count("\n") == 3
    assert test.metric[0].value == f"{found.probability:.1%}"


def test_random_labels():
    text = opened(task="code", k="8", labels="random").code[0].value
    assert text == one_prompt.answer(*cache.model("stories"), "code", "random", 8, 0).text
    assert text != one_prompt.answer(*cache.model("stories"), "code", "right", 8, 0).text


def test_a_model_that_cannot_read_a_task_says_why():
    said = words(opened(model="induction", task="antonyms"))
    assert "begin with the same token for this model; choose another task" in said
    assert "has not been measured" in said


@pytest.mark.parametrize("labels", ["right", "random", "order"])
def test_the_curve_is_what_was_kept(labels):
    shown = views.by_examples("smollm2", "antonyms", labels, 4).chart
    curve = accuracy.kept()["smollm2", "antonyms"].curve(labels)
    names = {"right": "right", "random": "random", "order": "right, another order"}
    line = next(trace for trace in shown.data if trace.name == names[labels])
    assert line.y == pytest.approx([one / 60 for one in curve.right], abs=1e-6)
    assert line.line.width == 3
    ring = shown.data[-1]
    assert ring.x[0] == 4
    assert ring.y[0] == pytest.approx(curve.right[4] / 60)


def test_steps_are_shown_as_they_were_kept():
    test = opened(show="Thinking in tokens", problem="7", way="after steps")
    assert steps.problem(7).question in words(test)
    assert "this model reads 256; choose smollm2" in words(test)
    shown = views.by_steps("direct").chart.data[0]
    right = [
        one.text.strip() == f"The answer is {steps.problem(one.seed).answer}." for one in steps.kept_steps().direct
    ]
    assert shown.y[0] == pytest.approx(sum(right) / len(right))


def test_what_smollm2_takes_from_examples():
    def right(task: str, labels: str, examples: int) -> float:
        (curve,) = (one for one in kept()["smollm2", task].curves if one.labels == labels)
        return curve.right[examples] / curve.prompts

    assert right("capitals", "random", 16) > 0.85
    assert right("capitals", "right", 0) < 0.15
    assert abs(right("code", "random", 16) - kept()["smollm2", "code"].guess) < 0.1
    assert kept_steps().model == "smollm2"
    assert all("The answer is" in one.text and one.text.count("=") == 2 for one in kept_steps().steps)
    assert sum(one.right for one in kept_steps().steps) < 0.1 * len(kept_steps().steps)
