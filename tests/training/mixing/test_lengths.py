"""Time by length: equal forms, and what is kept."""

import pytest
import torch

from tfcore.training.mixing import lengths
from tfcore.training.mixing.lengths import FORMS, LengthConfig


def test_all_forms_of_the_state_are_equal_and_attention_is_another_thing():
    outputs = {form: run() for form, run in lengths.forms(LengthConfig(n_heads=2, d_head=16), 70).items()}
    assert float((outputs["chunked"] - outputs["recurrent"]).abs().max()) < 1e-5
    assert float((outputs["matrix"] - outputs["recurrent"]).abs().max()) < 1e-5
    assert float((outputs["attention"] - outputs["recurrent"]).abs().max()) > 0.1


def test_points_come_in_order(monkeypatch):
    monkeypatch.setattr(lengths, "LENGTHS", (4, 8))
    monkeypatch.setattr(lengths, "REPEATS", 1)
    timed = lengths.timed(LengthConfig(n_heads=1, d_head=8))
    assert [(point.n, point.form) for point in timed.points] == [(n, form) for n in (4, 8) for form in FORMS]
    assert all(point.seconds > 0 for point in timed.points)
    assert timed.difference < 1e-5


def test_a_state_is_as_large_for_every_length():
    config = LengthConfig(n_heads=3, d_head=10)
    assert config.kept_numbers("attention", 7) == 3 * 2 * 7 * 10
    assert config.kept_numbers("recurrent", 7) == config.kept_numbers("chunked", 70) == 300
    with pytest.raises(ValueError, match="d_head=7 must be"):
        LengthConfig(d_head=7)


def test_what_ships_was_measured_and_its_forms_were_equal():
    kept = lengths.kept_lengths()
    assert len(kept.points) == len(lengths.LENGTHS) * len(FORMS)
    assert kept.difference < 1e-5
    assert torch.__version__.split("+")[0].split(".")[0] in kept.machine
