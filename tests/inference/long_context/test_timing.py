"""The race of plain and fused attention: the same result, honest bytes, bounded, in small steps."""

import math

import pytest
import torch

from tests.other_device import needs_the_cpu
from tfcore.views.inference.long_context.measure import timing
from tfcore.views.inference.long_context.measure.timing import Timed, TimingConfig
from tfcore.views.inference.long_context.say import timing as say

CPU = torch.device("cpu")
pytestmark = needs_the_cpu  # whose memory is counted


@pytest.fixture
def _short(monkeypatch):
    monkeypatch.setattr(timing, "LENGTHS", (16, 64, 128))
    monkeypatch.setattr(timing, "LARGEST", 4 * 2 * 2 * 64**2)
    monkeypatch.setattr(timing, "REPEATS", 2)
    monkeypatch.setattr(timing, "SPENT", math.inf)


@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize("causal", [False, True])
def test_both_ways_at_every_length(causal):
    config = TimingConfig(causal=causal)
    found = list(timing.race(config))
    points = [point for point in found if point is not None]
    assert [(p.n, p.way) for p in points] == [(n, way) for n in (16, 64, 128) for way in ("naive", "fused")]
    assert found.count(None) >= len(points)  # it can be stopped in between
    for p in points:
        left_out = p.way == "naive" and p.n == 128
        assert p.runs == (0 if left_out else 2)
        assert left_out == math.isnan(p.seconds) == (p.measured is None)
        assert p.computed == 4 * 2 * (2 * p.n**2 if p.way == "naive" else p.n * 64)
        if p.way == "fused" and p.n < 128:
            assert p.difference < 1e-5


def test_both_ways_are_attention():
    q, k, v = (torch.randn(1, 2, 37, 8) for _ in range(3))
    for causal in (False, True):
        plain, fused = timing.naive_attention(q, k, v, causal), timing.fused_attention(q, k, v, causal)
        assert torch.allclose(plain, fused, atol=1e-5)


def test_memory_is_what_was_there_at_once():
    def work():
        first = torch.ones(1000)  # 4,000 bytes
        second = first + 1
        del first
        return second * 2 + torch.zeros(1000)  # product, zeros, sum beside the second

    found, most = timing.allocated(work, CPU)
    assert len(found) == 1000
    assert most == 4 * 4000


def test_plain_memory_grows_with_the_square_and_fused_does_not():
    peaks = {}
    for n in (256, 512):
        vectors = [torch.randn(1, 2, n, 64) for _ in range(3)]
        for way, function in timing.WAYS.items():
            peaks[way, n] = timing.allocated(lambda f=function, v=vectors: f(*v, True), CPU)[1]
    assert peaks["naive", 512] / peaks["naive", 256] == pytest.approx(4, rel=0.05)
    assert peaks["fused", 512] / peaks["fused", 256] < 2.5
    config = TimingConfig()
    assert timing.computed_bytes(config, 512, "naive") <= peaks["naive", 512] < 8 * 512**2 * 4


def test_an_error_ends_the_record():
    with pytest.raises(ZeroDivisionError):
        timing.allocated(lambda: torch.ones(1 // 0), CPU)
    assert timing.allocated(lambda: torch.ones(10), CPU)[1] == 40


def test_where_memory_is_not_told_there_is_no_number(monkeypatch):
    monkeypatch.setattr(timing, "RECORDS", False)
    assert timing.allocated(lambda: torch.ones(3), CPU)[1] is None


@pytest.mark.parametrize("values", [{"heads": 0}, {"heads": 9}, {"d_head": 7}, {"d_head": 257}])
def test_too_much_is_refused(values):
    for heads, d_head in ((1, 8), (8, 256)):
        TimingConfig(heads=heads, d_head=d_head)
    with pytest.raises(ValueError, match="must be between"):
        TimingConfig(**values)


def test_the_machine_is_named():
    assert torch.__version__ in timing.where()


def point(n, way, seconds, measured=None, difference=None, runs=1):
    return Timed(n, way, seconds, runs, 100 * n, measured, difference)


def test_the_longest_text_of_both_is_compared():
    points = [
        *(point(128, "naive", 0.001, 1_000), point(128, "fused", 0.002, 500, 1e-7)),
        *(point(512, "naive", 0.16, 8_000), point(512, "fused", 0.02, 1_000, 3e-7)),
        *(point(1024, "naive", math.nan, runs=0), point(1024, "fused", 0.05, 2_000)),
    ]
    found = say.fused_speed(points)
    assert (found.n, found.plain, found.fused, found.memory, found.difference) == (512, 0.16, 0.02, 8.0, 3e-7)
    assert found.sentence == (
        "At 512 tokens fused attention is 8.0 times quicker and takes 8 times less memory: 160 ms and 20 ms; the "
        "results differ by 3e-07 at most."
    )
    slower = say.fused_speed(points[:2])
    assert "2.0 times slower and takes 2 times less memory: 1 ms and 2 ms" in slower.sentence
    for measured in ((None, None), (None, 500), (500, None)):
        told = [point(128, way, 0.1, size) for way, size in zip(("naive", "fused"), measured, strict=True)]
        assert say.fused_speed(told).memory is None
    assert say.fused_speed(points[:1]).sentence == "Nothing to compare yet."


def test_bytes_of_the_longest_text():
    points = [point(128, "fused", 0.1, 500), point(1024, "naive", math.nan, runs=0), point(1024, "fused", 0.05, 2_000)]
    assert say.bytes_at_once(points).sentence == (
        "Bytes at once beside Q, K, V, at 1,024 tokens: plain 102.4 kB computed, left out; fused 102.4 kB computed, "
        "2.0 kB measured."
    )
    assert say.bytes_at_once([]).sentence == "Bytes at once beside Q, K, V: nothing yet."


@pytest.mark.usefixtures("_short")
def test_a_race_to_its_end_has_every_point():
    found = timing.timed_points(TimingConfig())
    assert [(one.n, one.way) for one in found] == [(n, way) for n in (16, 64, 128) for way in ("naive", "fused")]
