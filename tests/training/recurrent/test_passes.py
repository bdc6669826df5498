"""Times of one pass: every point comes, and the finding is read off them."""

import pytest

from tfcore.training.recurrent import passes
from tfcore.training.recurrent.networks import KINDS
from tfcore.training.recurrent.passes import LENGTHS, PassConfig, TimedPass
from tfcore.views.foundations.recurrence import say


def test_every_network_is_timed_at_every_length(monkeypatch):
    monkeypatch.setattr(passes, "LENGTHS", (2, 4))
    monkeypatch.setattr(passes, "REPEATS", 2)
    monkeypatch.setattr(passes, "SPENT", float("inf"))
    given = list(passes.time_passes(PassConfig(d_model=8)))
    assert [item is None for item in given] == [True, True, False] * 6, "each network twice at each length"
    found = passes.timed(PassConfig(d_model=8))
    assert [(point.n, point.kind) for point in found.points] == [(n, kind) for n in (2, 4) for kind in KINDS]
    assert all(point.seconds > 0 for point in found.points)


def test_the_finding_takes_the_length_where_the_transformer_is_best():
    seconds = {16: (0.001, 0.002, 0.004), 32: (0.01, 0.008, 0.002), 64: (0.02, 0.016, 0.008)}
    points = [TimedPass(n, kind, s) for n, times in seconds.items() for kind, s in zip(KINDS, times, strict=True)]
    found = say.parallel_gain(points)
    assert found.n == 32
    assert found.growth == (("rnn", 2.0), ("lstm", 2.0), ("transformer", 4.0))
    assert str(found) == (
        "At 32 tokens the Transformer compares best with the quicker recurrent network: 4.0 times as quick (the RNN "
        "10 ms, the LSTM 8 ms, the Transformer 2 ms). The last doubling of the length: the RNN × 2.0, the LSTM × 2.0, "
        "the Transformer × 4.0."
    )
    slow = [TimedPass(n, kind, 1.0 if kind == "transformer" else 0.5) for n in (16, 32) for kind in KINDS]
    assert "2.0 times slower" in str(say.parallel_gain(slow))
    quick = [TimedPass(n, kind, 1.0 if kind == "transformer" else 1.5) for n in (16, 32) for kind in KINDS]
    assert "1.5 times as quick" in str(say.parallel_gain(quick))
    for n in (2, 3):  # of one length all, at most
        assert str(say.parallel_gain(points[:n])) == "Nothing to compare yet."


def test_what_ships_is_whole():
    kept = passes.kept_passes()
    assert kept.config == PassConfig()
    assert [(point.n, point.kind) for point in kept.points] == [(n, kind) for n in LENGTHS for kind in KINDS]
    with pytest.raises(ValueError, match="d_model=512 must be between 8 and 256"):
        PassConfig(d_model=512)
