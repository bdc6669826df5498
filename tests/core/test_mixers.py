"""Mixers: both forms against loops over single numbers, each other, and the layers of transformers."""

import math

import pytest
import torch
from torch import Tensor

from tests.small import difference
from tfcore.mixers import (
    Rule,
    chunked,
    convolution_matrix,
    implied_matrix,
    positive,
    recurrent,
    short_convolution,
    step,
    unit,
)

SEQ, D_KEY, D_VALUE = 11, 5, 4


def drawn(rule: Rule) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values; keys of length 1, or positive where a rule divides by the sum of their products."""
    generator = torch.Generator().manual_seed(0)
    sizes = (D_KEY, D_KEY, D_VALUE)
    q, k, v = (torch.randn(2, 3, SEQ, size, generator=generator, dtype=torch.float64) for size in sizes)
    return positive(q), positive(k) if rule.normalised else unit(k), v


def between(low: float, high: float, *shape: int) -> Tensor:
    share = torch.rand(shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    return low + (high - low) * share


RULES = {
    "linear": Rule(normalised=True),
    "decay": Rule(log_decay=torch.full((2, 3, SEQ, 1), math.log(0.8), dtype=torch.float64)),
    "gated": Rule(log_decay=between(0.1, 0.99, 2, 3, SEQ, D_KEY).log()),
    "ssm": Rule(log_decay=between(0.1, 1, 2, 3, SEQ, 1).log(), strength=between(0.01, 2, 2, 3, SEQ)),
    "delta": Rule(strength=between(0, 1, 2, 3, SEQ), erase=True),
    "gated delta": Rule(log_decay=between(0.1, 1, 2, 3, SEQ, 1).log(), strength=between(0, 1, 2, 3, SEQ), erase=True),
    "gated delta, by channel": Rule(
        log_decay=between(0.1, 1, 2, 3, SEQ, D_KEY).log(), strength=between(0, 1, 2, 3, SEQ), erase=True
    ),
    "erased whole, no strength": Rule(erase=True),
}


def by_numbers(q: Tensor, k: Tensor, v: Tensor, rule: Rule) -> tuple[list[list[float]], list[list[float]]]:
    """One head, number by number, as the papers' recurrences say it."""
    n, d_key, d_value = q.shape[0], q.shape[1], v.shape[1]
    state = [[0.0] * d_value for _ in range(d_key)]
    weights = [0.0] * d_key  # the sum of keys
    outputs = []
    for t in range(n):
        b = 1.0 if rule.strength is None else float(rule.strength[t])
        for i in range(d_key):
            a = 1.0 if rule.log_decay is None else math.exp(rule.log_decay[t][i if rule.log_decay.shape[-1] > 1 else 0])
            state[i] = [a * number for number in state[i]]
            weights[i] = a * weights[i] + b * float(k[t][i])
        held = [sum(float(k[t][i]) * state[i][j] for i in range(d_key)) for j in range(d_value)]
        for i in range(d_key):
            for j in range(d_value):
                new = float(v[t][j]) - (held[j] if rule.erase else 0.0)
                state[i][j] += b * float(k[t][i]) * new
        output = [sum(float(q[t][i]) * state[i][j] for i in range(d_key)) for j in range(d_value)]
        if rule.normalised:
            total = sum(float(q[t][i]) * weights[i] for i in range(d_key))
            output = [number / total for number in output]
        outputs.append(output)
    return outputs, state


@pytest.mark.parametrize("name", RULES)
def test_all_forms_are_the_loop_over_single_numbers(name):
    rule = RULES[name]
    q, k, v = drawn(rule)
    outputs, state = recurrent(q, k, v, rule)
    one = Rule(
        log_decay=None if rule.log_decay is None else rule.log_decay[1, 2],
        strength=None if rule.strength is None else rule.strength[1, 2],
        erase=rule.erase,
        normalised=rule.normalised,
    )
    by_hand, state_by_hand = by_numbers(q[1, 2], k[1, 2], v[1, 2], one)
    assert difference(outputs[1, 2], torch.tensor(by_hand, dtype=torch.float64)) < 1e-12
    assert difference(state[1, 2, :, :D_VALUE], torch.tensor(state_by_hand, dtype=torch.float64)) < 1e-12
    assert difference(implied_matrix(q, k, rule) @ v, outputs) < 1e-10
    for chunk in (1, 3, 4, SEQ, 64):
        in_chunks, last = chunked(q, k, v, rule, chunk=chunk)
        assert difference(in_chunks, outputs) < 1e-10
        assert difference(last, state) < 1e-10


@pytest.mark.parametrize("name", RULES)
def test_a_text_read_in_two_parts_gives_what_it_gives_at_once(name):
    rule = RULES[name]
    q, k, v = drawn(rule)
    whole, state = recurrent(q, k, v, rule)
    for form in (recurrent, chunked):
        first, before = form(q[..., :4, :], k[..., :4, :], v[..., :4, :], rule.part(0, 4))
        rest, after = form(q[..., 4:, :], k[..., 4:, :], v[..., 4:, :], rule.part(4, SEQ), before)
        assert difference(torch.cat((first, rest), -2), whole) < 1e-10
        assert difference(after, state) < 1e-10


def test_forms_agree_in_single_precision_over_hundreds_of_tokens():
    generator = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(1, 2, 300, 16, generator=generator) for _ in range(3))
    decay = 0.2 * torch.randn(1, 2, 300, 1, generator=generator).abs()
    rule = Rule(log_decay=-decay, strength=torch.rand(1, 2, 300, generator=generator), erase=True)
    rows = unit(q), unit(k), v
    outputs, _ = recurrent(*rows, rule)
    assert difference(chunked(*rows, rule)[0], outputs) < 1e-5
    assert difference(implied_matrix(*rows[:2], rule) @ v, outputs) < 1e-5


def test_a_strong_decay_does_not_overflow():
    """Over 64 tokens a factor of exp(-20) each is exp(-1280), and its inverse no number."""
    q, k, v = (torch.ones(1, 64, 2) for _ in range(3))
    for width in (1, 2):
        rule = Rule(log_decay=torch.full((1, 64, width), -20.0))
        outputs, _ = recurrent(q, k, v, rule)
        assert difference(chunked(q, k, v, rule)[0], outputs) < 1e-6
        assert difference(implied_matrix(q, k, rule) @ v, outputs) < 1e-6


def test_nothing_is_read_from_later_tokens():
    for rule in RULES.values():
        matrix = implied_matrix(*drawn(rule)[:2], rule)
        assert bool((matrix.triu(1) == 0).all())


def test_a_normalised_matrix_has_rows_that_sum_to_one():
    rule = RULES["linear"]
    sums = implied_matrix(*drawn(rule)[:2], rule).sum(-1)
    assert difference(sums, torch.ones_like(sums)) < 1e-12


def test_the_delta_rule_overwrites_what_stood_under_a_key():
    """Keys of length 1 and strength 1: a second value under the same key takes the place of the first."""
    key = torch.tensor([0.6, 0.8])
    first, second = torch.tensor([1.0, 2.0]), torch.tensor([-3.0, 0.5])
    for erase, wanted in ((True, second), (False, first + second)):
        state = torch.zeros(2, 2)
        for value in (first, second):
            state = step(state, key, value, Rule(erase=erase))
        assert difference(key @ state, wanted) < 1e-6


def test_a_short_convolution_is_its_loop_and_its_matrix_and_goes_on_from_its_state():
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(2, 7, 3, generator=generator)
    weight, bias = torch.randn(3, 4, generator=generator), torch.randn(3, generator=generator)
    mixed, state = short_convolution(x, weight, bias)
    for t in range(7):
        for channel in range(3):
            near = range(max(0, t - 3), t + 1)
            wanted = bias[channel] + sum(weight[channel, 3 - (t - s)] * x[:, s, channel] for s in near)
            assert difference(mixed[:, t, channel], wanted) < 1e-5
    matrix = convolution_matrix(weight, 7)
    assert difference(torch.einsum("cij,bjc->bic", matrix, x) + bias, mixed) < 1e-5
    first, before = short_convolution(x[:, :2], weight, bias)
    rest, after = short_convolution(x[:, 2:], weight, bias, before)
    assert difference(torch.cat((first, rest), 1), mixed) < 1e-5
    assert torch.equal(after, state)
    assert torch.equal(state, x[:, 4:])


# ---- against transformers ----


def test_the_gated_delta_rule_is_that_of_qwen3_next():
    from transformers.models.qwen3_next import modeling_qwen3_next as theirs

    generator = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(2, 70, 3, 8, generator=generator) for _ in range(3))
    decay, strength = -torch.rand(2, 70, 3, generator=generator), torch.rand(2, 70, 3, generator=generator)
    rule = Rule(log_decay=decay.transpose(1, 2)[..., None], strength=strength.transpose(1, 2), erase=True)
    rows = unit(q).transpose(1, 2) * 8**-0.5, unit(k).transpose(1, 2), v.transpose(1, 2)
    options = {"output_final_state": True, "use_qk_l2norm_in_kernel": True}
    for name in ("torch_recurrent_gated_delta_rule", "torch_chunk_gated_delta_rule"):
        wanted, state = getattr(theirs, name)(q, k, v, decay, strength, **options)
        for form in (recurrent, chunked):
            outputs, last = form(*rows, rule)
            assert difference(outputs.transpose(1, 2), wanted) < 1e-5
            assert difference(last, state) < 1e-5


def test_ssd_is_that_of_mamba2():
    from transformers.models.mamba2 import modeling_mamba2 as theirs

    generator = torch.Generator().manual_seed(4)
    x, (b, c) = torch.randn(2, 21, 3, 8, generator=generator), torch.randn(2, 2, 21, 1, 6, generator=generator)
    dt, rate = torch.rand(2, 21, 3, generator=generator), -torch.rand(3, generator=generator)
    wanted, state = theirs.mamba2_chunk_scan(x, dt, rate, b, c, chunk_size=8, return_final_states=True)
    rule = Rule(log_decay=(dt * rate).transpose(1, 2)[..., None], strength=dt.transpose(1, 2))
    q, k = (one.transpose(1, 2).expand(2, 3, 21, 6) for one in (c, b))
    for form in (recurrent, chunked):
        outputs, last = form(q, k, x.transpose(1, 2), rule)
        assert difference(outputs.transpose(1, 2), wanted) < 1e-5
        assert difference(last.mT, state) < 1e-5


def test_the_short_convolution_is_that_of_lfm2():
    from transformers.models.lfm2 import modeling_lfm2 as theirs

    generator = torch.Generator().manual_seed(5)
    x, weight = torch.randn(2, 9, 6, generator=generator), torch.randn(6, 3, generator=generator)
    assert difference(short_convolution(x, weight)[0], theirs.causal_conv1d_fn(x.mT, weight).mT) < 1e-6
