"""Switches after 2023: what is read from the ladder's table, and what is said of it."""

import numpy as np
import pytest
from scipy import stats

from tfcore.training.ladder import SHIPPED, read_table
from tfcore.training.multi_token import SecondGuesses
from tfcore.training.recipes.ladder_second_wave import CONNECTIONS, GUESSES, TABLE
from tfcore.views.model import modern as views
from tfcore.views.model.modern.measure import connections, read_second_wave, second_guesses, second_wave_trained
from tfcore.views.model.modern.say import (
    ClearDifferences,
    SwitchDifference,
    clear_differences,
    guesses_confirmed,
    second_wave_models,
    streams_mixed,
    switch_difference,
    switch_sizes,
)


def rows(**losses):
    sizes = {"score": 12.0, "first": 0.01, "sunk": 0.0, "stream": 3.0, "tokens": 1_000, "seq": 4}
    return [
        {"switch": name.replace("_", " "), "seed": seed, "loss": loss, **sizes}
        for name, of_seeds in losses.items()
        for seed, loss in enumerate(of_seeds)
    ]


def test_differences_are_taken_seed_by_seed():
    wave = read_second_wave(rows(base=(4.0, 5.0, 6.0), sink=(3.9, 4.88, 5.92), gate=(4.5, 4.6, 6.1)))
    assert [one.version.name for one in wave.switches] == ["base", "sink", "gate"]
    table = rows(base=(4.0, 5.0, 6.0), sink=(3.9, 4.88, 5.92), gate=(4.5, 4.6, 6.1))
    assert read_second_wave(table[::-1]) == wave, "whatever their order"
    sink, gate = wave.switches[1:]
    assert sink.differences == pytest.approx((-0.1, -0.12, -0.08))
    low, high = stats.t.interval(0.95, 2, -0.1, np.std([-0.1, -0.12, -0.08], ddof=1) / 3**0.5)
    assert (sink.difference.low, sink.difference.high) == pytest.approx((low, high), rel=1e-6)
    assert sink.difference.is_clear
    assert not gate.difference.is_clear
    assert clear_differences(wave) == ClearDifferences({"sink": pytest.approx(-0.1)}, ("gate",))


def test_a_switch_that_is_not_trained_with_all_seeds_is_left_out():
    wave = read_second_wave(rows(base=(4.0, 5.0), sink=(3.9,), soft_cap=(4.1, 5.2)))
    assert [one.version.name for one in wave.switches] == ["base", "soft cap"]


def test_a_difference_is_named_or_said_to_be_none():
    assert str(SwitchDifference("a", -0.05, -0.07, -0.03, 3)) == (
        "a: the loss differs from the base's by -0.050 nats per token (95 % interval -0.070 to -0.030, 3 seeds)."
    )
    assert str(SwitchDifference("a", 0.01, -0.02, 0.04, 3)) == (
        "a: no difference of the loss at this size (+0.010 nats per token, 95 % interval -0.020 to +0.040, 3 seeds)."
    )
    assert str(ClearDifferences({"a": -0.05}, ("b", "c"))) == (
        "Loss, nats per token, where the interval leaves 0 out: a (-0.050). No difference at this size: b, c."
    )
    assert str(ClearDifferences({}, ("b",))) == "No switch changes the loss by more than chance at this size."


def test_sizes_are_said_beside_those_of_the_base():
    table = rows(base=(4.0, 5.0), sink=(3.9, 4.9))
    for row in table[2:]:
        row.update(score=9.0, first=0.004, sunk=0.2, stream=2.5)
    wave = read_second_wave(table)
    said = switch_sizes(wave, wave.switches[1])
    assert said.values["even"] == pytest.approx((1 / 3 + 1 / 4) / 2)
    assert str(said) == (
        "The largest score of a text is 9.0 (12.0 in the base); the first token has 0.4% of the weight of the queries "
        "in the second half (1.0%; an even share would be 29.2%). 20.0% of their weight is on no token of the text. "
        "The stream after the last layer has an rms of 2.50 (3.00)."
    )
    assert "no token of the text" not in str(switch_sizes(wave, wave.base))


def test_the_table_that_ships_is_what_is_drawn():
    wave, table = second_wave_trained(), read_table(SHIPPED / TABLE)
    assert sum(len(one.losses) for one in wave.switches) == len(table)
    for one in wave.switches:
        own = [row for row in table if row["switch"] == one.version.name]
        assert list(one.losses) == [row["loss"] for row in own]
        assert one.sizes.score == pytest.approx(np.mean([row["score"] for row in own]))
        assert {row["parameters"] for row in own} <= {one.version.parameters}
    assert f"{len(wave.base.losses)} seeds each" in str(second_wave_models(wave))


def test_a_switch_that_there_is_not_is_a_sentence():
    with pytest.raises(ValueError, match="'dropout' is no switch of the second wave; there are base, QK-norm, "):
        views.second_wave("dropout")


@pytest.mark.parametrize("switch", ["MLA", "Muon"])
def test_the_view_says_it_of_its_switch(switch):
    shown, wave = views.second_wave(switch), second_wave_trained()
    one = next(one for one in wave.switches if one.version.name == switch)
    assert str(switch_difference(one)) in shown.caption
    assert shown.chart.to_dict()["layout"]["yaxis"]["ticktext"].count(f"<b>{switch}</b>") == 1
    table = shown.table()
    assert list(table["difference to the base"]) == [each.difference.mean for each in wave.switches]


# ---- two tokens ahead, several streams ----


def test_guesses_are_means_over_the_seeds_of_the_table():
    table, said = read_table(SHIPPED / GUESSES), guesses_confirmed(second_guesses())
    assert sorted(row["seed"] for row in table) == [0, 1, 2]
    names = {
        "second": "second_loss",
        "first": "first_loss",
        "confirmed": "confirmed",
        "constant": "constant",
        "written": "written",
        "measured": "per_pass",
    }
    for value, column in names.items():
        assert said.values[value] == pytest.approx(np.mean([row[column] for row in table]), rel=1e-6)
    assert said.values["formula"] == pytest.approx(1 + said.values["written"])
    assert said.values["measured"] == pytest.approx(said.values["formula"], rel=0.05), "the formula and the count"
    assert all(1 <= one.per_pass <= 2 for one in second_guesses())


def test_what_is_said_of_guesses():
    one = SecondGuesses(5.0, 4.9, 0.5, 0.2, 0.7, 1.65)
    other = SecondGuesses(5.2, 5.1, 0.6, 0.2, 0.9, 1.85)
    assert str(guesses_confirmed((one, other))) == (
        "Means over 2 seeds: the second prediction has a loss of 5.00 nats per token on held-out texts, the decoder "
        "5.10 on the same tokens, of which it has read as many, with one block less. The decoder then finds the same "
        "token likeliest in 55% of the places (20% for one fixed token), and in 80% of what it writes itself. With one "
        "guess per pass that is 1 + 0.80 = 1.80 tokens per pass by formula; 1.75 were measured."
    )


def test_the_picture_of_guesses_has_a_row_for_each_seed():
    shown = views.second_guesses()
    assert list(shown.chart.layout.yaxis.ticktext) == ["seed 0", "seed 1", "seed 2"]
    assert list(shown.chart.data[-1].x) == [one.per_pass for one in shown.result]
    assert list(shown.table()["seed"]) == [0, 1, 2]


def test_the_weights_between_streams_are_those_of_the_table():
    learned, table = connections(), read_table(SHIPPED / CONNECTIONS)
    assert learned.shape == (3, 4, 5, 5)
    assert len(table) == 3 * 4 * 5
    row = next(row for row in table if (row["seed"], row["place"], row["source"]) == (2, 1, 3))
    assert list(learned[2, 1, 3]) == [row[str(to)] for to in range(5)]
    assert not learned[:, :, 0, 0].any(), "what a layer writes does not go into what it reads"
    for seed in range(3):
        shown = views.connections(seed)
        drawn = [np.array(trace.z, "float64") for trace in shown.chart.data]
        assert np.allclose(np.nan_to_num(drawn), learned[seed], atol=1e-6)
    with pytest.raises(ValueError, match="seed=3 must be between 0 and 2"):
        views.connections(3)


def test_what_is_said_of_mixed_streams():
    at_first = np.zeros((2, 2, 5, 5))
    at_first[..., 0, 1:], at_first[..., 1:, 1:] = 1, np.eye(4)
    at_first[1, 1, 1 + 2, 1 + 0] = -0.48  # stream 2 into stream 0, at the feed-forward layer of layer 0
    at_first[1, 0, 0, 4] = 1.5
    assert str(streams_mixed(at_first, 1)) == (
        "From row to column. A stream keeps 1.00 of itself through a layer in the mean (1 at first), and 0.02 of it "
        "goes into each other one, in absolute value (0 at first; 0.00 to 0.02 over the seeds). The largest such "
        "weight is -0.48, of stream 2 into 0 at layer 0, feed-forward. Layers write 1.00 to 1.50 of their output to a "
        "stream (1 at first)."
    )
