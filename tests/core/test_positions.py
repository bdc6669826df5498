"""The maths of positions, against the papers' formulas by hand, naive loops and transformers' LLaMA."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tfcore.part_configs import RopeScaling
from tfcore.positions import (
    alibi_bias,
    alibi_bias_by_key,
    alibi_slopes,
    apply_rope,
    inverse_frequencies,
    relative_bucket,
    rope_angles,
    rope_cos_sin,
    rope_frequencies,
    shift_matrix,
    sinusoidal,
)

even = st.integers(1, 32).map(lambda half: 2 * half)
bases = st.floats(2.0, 1e6)


def test_sinusoidal_by_hand():
    table = sinusoidal(torch.arange(6), 8)
    for p in range(6):
        for i in range(4):
            angle = p / 10_000 ** (2 * i / 8)
            assert table[p, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-7)
            assert table[p, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-7)


def test_sinusoidal_is_exact_far_out():
    p, i, d = 1_000_003, 1, 64
    angle = p / 10_000 ** (2 * i / d)
    assert sinusoidal(torch.tensor([p]), d)[0, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)


@given(even, bases)
def test_wavelengths_run_from_two_pi_to_just_below_base_times_two_pi(d, base):
    waves = 2 * math.pi / inverse_frequencies(d, base)
    assert waves[0].item() == pytest.approx(2 * math.pi)
    assert waves[-1].item() == pytest.approx(2 * math.pi * base ** (1 - 2 / d))
    assert waves[-1] < 2 * math.pi * base


@given(even, bases, st.integers(-200, 200), st.integers(0, 2000))
def test_one_matrix_moves_every_position(d, base, k, p):
    here, there = sinusoidal(torch.tensor([p, p + k]), d, base)
    assert torch.allclose(shift_matrix(k, d, base) @ here, there, atol=1e-6)


@given(even, bases, st.integers(-50, 50), st.integers(-50, 50))
def test_shift_matrices_are_rotations_that_add_up(d, base, j, k):
    both = shift_matrix(j, d, base) @ shift_matrix(k, d, base)
    assert torch.allclose(both, shift_matrix(j + k, d, base), atol=1e-5)
    assert torch.allclose(shift_matrix(k, d, base).T, shift_matrix(-k, d, base), atol=1e-6)


@given(even, st.integers(0, 500), st.integers(0, 500))
def test_products_depend_on_the_offset_alone(d, p, k):
    table = sinusoidal(torch.tensor([0, k, p, p + k]), d)
    assert torch.dot(table[0], table[1]).item() == pytest.approx(torch.dot(table[2], table[3]).item(), abs=1e-4)
    assert torch.dot(table[2], table[2]).item() == pytest.approx(d / 2, rel=1e-5)


def test_rotate_by_naive_loop():
    x = torch.randn(2, 5, 8)
    angles = rope_angles(torch.arange(5), 8)
    turned = torch.empty_like(x)
    for m in range(5):
        for i in range(4):
            theta = m * 10_000 ** (-2 * i / 8)
            a, b = x[:, m, i], x[:, m, i + 4]
            turned[:, m, i] = a * math.cos(theta) - b * math.sin(theta)
            turned[:, m, i + 4] = a * math.sin(theta) + b * math.cos(theta)
    assert torch.allclose(apply_rope(x, *rope_cos_sin(angles)), turned, atol=1e-6)


def test_rotate_equals_transformers_llama():
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    config = llama.LlamaConfig(
        hidden_size=64, num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=512
    )
    positions = torch.arange(500)
    q, k = torch.randn(2, 1, 4, 500, 16)
    cos, sin = llama.LlamaRotaryEmbedding(config)(q, positions[None])
    theirs = llama.apply_rotary_pos_emb(q, k, cos, sin)
    angles = rope_angles(positions, 16)
    # Their angles are rounded to float32 before whole turns are taken off: at 500 radians that is 3e-5 off.
    for ours, other in zip(
        (apply_rope(q, *rope_cos_sin(angles)), apply_rope(k, *rope_cos_sin(angles))), theirs, strict=True
    ):
        assert torch.allclose(ours, other, atol=2e-4)


@given(even, bases, st.integers(0, 100_000), st.integers(0, 300))
def test_rotated_products_depend_on_the_distance_alone_and_lengths_stay(d, base, start, distance):
    q, k = torch.nn.functional.normalize(torch.randn(2, d, generator=torch.Generator().manual_seed(d)), dim=-1)

    def score(m: int, n: int) -> float:
        at = rope_angles(torch.tensor([m, n]), d, base)
        return float(
            torch.dot(apply_rope(q[None], *rope_cos_sin(at[:1]))[0], apply_rope(k[None], *rope_cos_sin(at[1:]))[0])
        )

    assert score(start + distance, start) == pytest.approx(score(distance, 0), abs=2e-6)
    assert apply_rope(
        q[None], *rope_cos_sin(rope_angles(torch.tensor([start]), d, base))
    ).norm().item() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("n", [1, 2, 4, 8, 16, 32, 128])
def test_slopes_of_powers_of_two_are_a_geometric_sequence(n):
    expected = torch.tensor([2 ** (-8 * h / n) for h in range(1, n + 1)])
    assert torch.allclose(alibi_slopes(n), expected)


def _published_slopes(n: int) -> list[float]:
    """The recursion of the paper's code, github.com/ofirpress/attention_with_linear_biases, written anew."""
    if math.log2(n).is_integer():
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]
    lower = 2 ** math.floor(math.log2(n))
    return _published_slopes(lower) + _published_slopes(2 * lower)[0::2][: n - lower]


@given(st.integers(1, 200))
def test_slopes_are_those_of_the_authors_for_any_number_of_heads(n):
    assert torch.allclose(alibi_slopes(n), torch.tensor(_published_slopes(n)))
    assert torch.allclose(alibi_slopes(n, 16.0), torch.tensor(_published_slopes(n)).square())


def test_a_bias_by_key_is_alibi_but_for_a_number_of_each_query_and_what_is_rounded():
    slopes, query, key = alibi_slopes(4), torch.arange(3, 7), torch.arange(7)
    bias = alibi_bias_by_key(slopes, query, key, 0.5)
    exact = 0.5 * (alibi_bias(slopes, query, key) + slopes[:, None, None] * query[:, None])
    seen = key[None] <= query[:, None]
    assert torch.equal(bias[:, seen], exact[:, seen])  # slopes of a power of two, near keys: nothing is rounded
    far = torch.tensor([1000, 1001])
    assert alibi_bias_by_key(slopes, far, far, 1.0)[0].unique().numel() == 1  # 250 and 250.25 share one of 8 bits


def test_bias_by_naive_loop():
    slopes, query, key = alibi_slopes(6), torch.arange(3, 7), torch.arange(7)
    bias = alibi_bias(slopes, query, key)
    for h in range(6):
        for i in range(4):
            for j in range(7):
                assert bias[h, i, j].item() == pytest.approx(-slopes[h].item() * abs(query[i] - key[j]).item())


def buckets(n, n_buckets, distance, both_ways):
    place = torch.arange(n)
    return relative_bucket(place, place, n_buckets, distance, both_ways)


def test_near_tokens_have_a_bias_of_their_own_and_far_ones_share():
    back = buckets(300, 32, 128, both_ways=False)[-1].flip(0)  # by distance
    assert back[:17].tolist() == list(range(17))
    assert (back.diff() >= 0).all()
    assert torch.equal(back[128:], torch.full((172,), 31))
    assert back[127] == 31 or back[127] == 30
    widths = back[16:128].bincount()[16:31]
    assert widths[-1] > 3 * widths[0]  # logarithmic: the further, the coarser
    assert buckets(9, 32, 128, both_ways=False).triu().count_nonzero() == 0


def test_both_ways_later_keys_have_the_other_half_of_the_buckets():
    table = buckets(300, 32, 128, both_ways=True)
    assert torch.equal(table[0, 1:], table[1:, 0] + 16)
    assert table[1:, 0].max() == 15
    assert table.diagonal().count_nonzero() == 0


def test_scaled_frequencies():
    frequencies = inverse_frequencies(64, 500_000.0)
    assert torch.equal(rope_frequencies(64, 500_000.0), frequencies)
    linear = rope_frequencies(64, 500_000.0, RopeScaling(kind="linear", factor=4.0))
    assert torch.allclose(linear, frequencies / 4)
    scaling = RopeScaling(kind="llama3", factor=8.0, original_len=8192, low_freq=1.0, high_freq=4.0)
    llama = rope_frequencies(64, 500_000.0, scaling)
    wavelength = 2 * math.pi / frequencies
    short, long = wavelength < 8192 / 4, wavelength > 8192
    assert short.any()
    assert long.any()
    assert torch.equal(llama[short], frequencies[short])
    assert torch.allclose(llama[long], frequencies[long] / 8)
    between = ~short & ~long
    assert between.any()
    assert ((llama < frequencies) & (llama > frequencies / 8))[between].all()
    assert (llama.diff() < 0).all()


def test_yarn_keeps_what_turns_often_and_divides_what_turns_less_than_once():
    """Between, the share of the kept frequency falls evenly from pair to pair (arXiv:2309.00071, section 3.2)."""
    scaling = RopeScaling(kind="yarn", factor=8.0, original_len=4096, low_freq=1.0, high_freq=32.0)
    frequencies, yarn = inverse_frequencies(128), rope_frequencies(128, 10_000.0, scaling)
    turns = 4096 * frequencies / (2 * math.pi)
    first, last = int((turns >= 32).sum()) - 1, int((turns >= 1).sum())  # rounded outwards to whole pairs
    assert torch.equal(yarn[: first + 1], frequencies[: first + 1])
    assert torch.allclose(yarn[last:], frequencies[last:] / 8)
    kept = ((yarn / frequencies - 1 / 8) / (1 - 1 / 8))[first : last + 1]
    assert torch.allclose(kept, torch.linspace(1, 0, last - first + 1, dtype=torch.float64))
    assert scaling.stretch == pytest.approx(0.1 * math.log(8) + 1)
    assert RopeScaling(kind="linear", factor=8.0).stretch == 1
