"""Pictures of mistakes: valid for plotly from the first look on, with remarks that point at the numbers."""

import math

import pytest

from tfcore.charts import theme
from tfcore.charts.twins import Axis, loss_figure, symptom_figure
from tfcore.training import pitfalls
from tfcore.training.pitfalls import KINDS, PitfallConfig, PitfallEvaluation
from tfcore.views.block import pitfalls as views
from tfcore.views.block.pitfalls.say import half_precision, of_both
from tfcore.views.finding import Statement
from tfcore.views.pitfall_remarks import remarks

FIRST, LAST = PitfallEvaluation(0, (3.3, 3.3), (0.5, 0.4)), PitfallEvaluation(100, (0.05, 0.5), (1e-9, 0.7))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("looks", [[FIRST], [FIRST, LAST]])
def test_curves_grow_and_remarks_point_at_them(kind, looks):
    config = PitfallConfig(kind=kind)
    found = remarks(config, looks)
    loss = loss_figure(looks, found.loss, found.marks, config.steps, 300)
    theme.check(loss)
    assert [list(trace.y) for trace in loss.data] == [[k.loss[1] for k in looks], [k.loss[0] for k in looks]]
    remark = loss.layout.annotations[-1]
    assert (remark.x, remark.y) == (found.loss.step, found.loss.value)
    for log in (False, True):
        figure = symptom_figure(looks, found.symptom, config.steps, Axis("number", log), 300)
        theme.check(figure)
        low, high = figure.layout.yaxis.range
        assert low <= figure.layout.annotations[0].y <= high
        assert low < high


def test_numbers_at_the_edge_are_drawn_too():
    looks = [PitfallEvaluation(0, (3.3, 3.3), (0.0, 0.0)), PitfallEvaluation(5, (50.0, 3.0), (0.0, 0.0))]
    found = remarks(PitfallConfig(kind="half"), looks)
    loss = loss_figure(looks, found.loss, found.marks, 100, 300)
    assert loss.layout.yaxis.range[1] > 50
    for log in (False, True):
        figure = symptom_figure(looks, found.symptom, 100, Axis("number", log, None if log else 1.0), 300)
        theme.check(figure)
        assert all(math.isfinite(bound) for bound in figure.layout.yaxis.range)


@pytest.mark.parametrize("kind", KINDS)
def test_the_last_numbers_of_both_models(kind):
    config, looks = PitfallConfig(kind=kind), [FIRST, PitfallEvaluation(50, (2.8, 2.0), (4.0, 0.2)), LAST]
    found = remarks(config, looks)
    losses, symptom = (show(config, "a mistake", so_far=looks) for show in (views.losses, views.symptom))
    for shown, what, broken, baseline, note in (
        (losses, "training loss", 0.05, 0.5, found.loss),
        (symptom, views.SYMPTOMS[kind].title, 1e-9, 0.7, found.symptom),
    ):
        (said,) = shown.findings
        assert isinstance(said, Statement)
        assert (said.values["step"], said.values["mistake"]) == (100, "a mistake")
        assert (said.values["broken"], said.values["baseline"]) == (broken, baseline)
        assert said.values["what"].lower() == what.lower()
        assert said.values["remark"].lower() == note.text.lower()
    assert losses.numbers().equals(symptom.numbers())
    assert losses.numbers().to_numpy().tolist() == [[k.step, *k.loss, *k.symptom] for k in looks]


def test_what_is_said_of_both_models():
    assert str(of_both("training loss", "no mask", 40, (0.05, 1.2345), "below the floor")) == (
        "Training loss after 40 steps, no mask: 0.05 with the mistake, 1.23 without. Below the floor."
    )


def test_float16_is_emulated_with_the_batches_of_the_dose(monkeypatch):
    monkeypatch.setattr(pitfalls, "ROWS", 24)
    monkeypatch.setattr(pitfalls, "SEQ", 32)
    assert str(half_precision(PitfallConfig(kind="half", dose=4096))).endswith(
        "One batch of 768 letters stands for each of the 4,096 of a step (3,145,728 letters), so the loss is divided "
        "by 4,096 before the backward pass and the weights' gradients are multiplied by it afterwards, as if all of "
        "them had been summed. The baseline multiplies the loss by 65,536 first."
    )
