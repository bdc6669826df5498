"""Losses beyond the trained length, taken from the rows of a ladder."""

from dataclasses import replace

from tfcore.views.foundations.positions import say
from tfcore.views.foundations.positions.draw.lengths import length_losses_figure
from tfcore.views.foundations.positions.measure.effects import length_losses

ROWS = [
    {"name": "a-0", "scheme": "a", "seed": 0, "seq": 2, "loss_1": 3.0, "loss_2": 2.0, "loss_3": 4.0, "loss_4": 6.0},
    {"name": "a-1", "scheme": "a", "seed": 1, "seq": 2, "loss_1": 5.0, "loss_2": 4.0, "loss_3": 4.0, "loss_4": 7.0},
    {"name": "b-0", "scheme": "b", "seed": 0, "seq": 2, "loss_1": 1.0, "loss_2": 1.0, "loss_3": 1.0, "loss_4": 1.5},
]


def test_means_and_rises_are_those_of_the_rows():
    found = length_losses(ROWS)
    assert found is not None
    assert found.trained == 2
    assert [replace(found, trained=trained).within for trained in (1, 2, 3)] == [0, 1, 2]
    assert found.ends.tolist() == [1, 2, 3, 4]
    assert found.mean("a").tolist() == [4.0, 3.0, 4.0, 6.5]
    assert found.rise("a") == 3.5
    assert found.rise("b") == 0.5
    assert length_losses([]) is None


def test_the_drawing_starts_every_scheme_at_zero_when_it_shows_the_rise():
    found = length_losses(ROWS)
    assert found is not None
    names = {"a": "A", "b": "B"}
    plain, rise = (length_losses_figure(found, names, on, 300).data for on in (False, True))
    lines = [trace for trace in plain if trace.mode == "lines+markers"]
    assert [trace.name for trace in lines] == ["A", "B"]
    assert lines[0].y.tolist() == [4.0, 3.0, 4.0, 6.5]
    above = next(trace for trace in rise if trace.mode == "lines+markers")
    assert above.y.tolist() == [1.0, 0.0, 1.0, 3.5]
    band = plain[0].y
    assert band[:4].tolist() == [5.0, 4.0, 4.0, 7.0], "the worst seed"
    assert band[4:].tolist() == [6.0, 4.0, 2.0, 3.0], "the best, back from the end"


def test_the_sentence_has_the_losses_in_order_and_the_rises_in_order():
    found = length_losses(ROWS)
    assert found is not None
    said = say.losses_and_rises(found, {"a": "A", "b": "B"})
    assert (said.values["losses"], said.values["rises"]) == ({"B": 1.0, "A": 3.0}, {"B": 0.5, "A": 3.5})
    assert str(said) == "At position 2 the loss is: B 1.00, A 3.00. From there to 4 it changes by: B +0.50, A +3.50."


def test_the_smallest_and_the_largest_rise_are_those_of_the_schemes_shown():
    found = length_losses(ROWS)
    assert found is not None
    both = say.smallest_and_largest_rise(found, {"a": "A", "b": "B"})
    assert [both.values[name] for name in ("best", "best_rise", "worst", "worst_rise")] == ["B", 0.5, "A", 3.5]
    assert str(both) == "At position 4 B costs +0.50 nats per token against position 2, A +3.50."
    one = say.smallest_and_largest_rise(found, {"a": "A"})
    assert str(one) == "At position 4 A costs +3.50 nats per token against position 2."
