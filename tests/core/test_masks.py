"""Every mask against its definition written as a loop over single pairs."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError

from tfcore import masks
from tfcore.measures.mask_patterns import (
    FUNCTIONS,
    MaskConfig,
    block_sparse,
    build,
    dilated,
    prefix_lm,
    window_and_global,
)

SIZE = st.integers(1, 20)
KINDS = list(FUNCTIONS)


def by_hand(n, rule):
    return torch.tensor([[bool(rule(q, k)) for k in range(n)] for q in range(n)])


def configs():
    small = st.integers(1, 9)
    return st.builds(
        MaskConfig,
        kind=st.sampled_from(KINDS),
        prefix=st.integers(0, 25),
        padded=st.integers(0, 25),
        padded_first=st.booleans(),
        and_causal=st.booleans(),
        window=small,
        n_global=st.integers(0, 9),
        dilation=small,
        block=small,
        stride=small,
        every=small,
    )


def rule_of(c: MaskConfig, n: int):
    """Whether query q may see key k, from the sentence that describes the mask."""

    def is_padding(k):
        return k < c.padded if c.padded_first else k >= n - c.padded

    def seen_blocks(own):
        return range(own - c.stride, -1, -c.stride)

    return {
        "causal": lambda q, k: k <= q,
        "bidirectional": lambda q, k: q >= 0 and k >= 0,
        "prefix": lambda q, k: k <= q or (q < c.prefix and k < c.prefix),
        "padding": lambda q, k: (not is_padding(k) or q == k) and (k <= q or not c.and_causal),
        "window": lambda q, k: k in range(q - c.window + 1, q + 1),
        "window_global": lambda q, k: k in range(q - c.window + 1, q + 1) or (k <= q and k < c.n_global),
        "alternating": lambda q, k: k <= q and (c.every == 1 or k > q - c.window or k < c.n_global),  # the first layer
        "dilated": lambda q, k: k in [q - i * c.dilation for i in range(c.window)],
        "blocks": lambda q, k: (q // c.block == k // c.block and k <= q) or k // c.block in seen_blocks(q // c.block),
    }[c.kind]


@given(n=SIZE, config=configs())
def test_every_mask_is_what_its_sentence_says(n, config):
    assert torch.equal(build(config, n), by_hand(n, rule_of(config, n)))


@given(n=SIZE, config=configs())
def test_every_token_sees_itself(n, config):
    assert build(config, n).diagonal().all()


@pytest.mark.parametrize("make", [masks.causal, masks.bidirectional, lambda q, k: masks.sliding_window(q, 3, k)])
@given(n_query=st.integers(0, 12), earlier=st.integers(0, 12))
def test_with_a_cache_the_queries_are_the_last_rows(make, n_query, earlier):
    n = n_query + earlier
    assert torch.equal(make(n_query, n), make(n, n)[earlier:])


@given(n=SIZE, window=st.integers(1, 9))
def test_a_window_of_an_encoder_reaches_both_ways(n, window):
    assert torch.equal(masks.sliding_window(n, window, is_causal=False), by_hand(n, lambda q, k: abs(q - k) < window))


def test_padding_of_a_batch_is_that_of_each_row():
    rows = torch.rand(3, 7, generator=torch.Generator().manual_seed(0)) < 0.5
    assert torch.equal(masks.padding(rows), torch.stack([masks.padding(row) for row in rows]))


@given(real=st.lists(st.booleans(), min_size=1, max_size=12))
def test_padding_takes_any_pattern_of_real_tokens(real):
    mask = masks.padding(torch.tensor(real))
    assert torch.equal(mask, by_hand(len(real), lambda q, k: real[k] or q == k))


def test_dilated_reaches_further_at_the_price_of_a_window():
    n = 64
    assert dilated(n, 4, 3)[-1].sum() == masks.sliding_window(n, 4)[-1].sum() == 4
    assert dilated(n, 4, 3)[-1].nonzero().min() == n - 1 - 3 * 3


def test_special_cases_agree_with_each_other():
    n = 17
    causal = masks.causal(n)
    assert torch.equal(prefix_lm(n, 0), causal)
    assert torch.equal(prefix_lm(n, n), masks.bidirectional(n))
    assert torch.equal(masks.sliding_window(n, n), causal)
    assert torch.equal(window_and_global(n, 3, 0), masks.sliding_window(n, 3))
    assert torch.equal(dilated(n, 5, 1), masks.sliding_window(n, 5))
    assert torch.equal(block_sparse(n, 4, 1), causal)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: masks.causal(3, 2), "n_query=3"),
        (lambda: prefix_lm(3, -1), "prefix=-1"),
        (lambda: masks.sliding_window(3, 0), "window=0"),
        (lambda: window_and_global(3, 1, -1), "n_global=-1"),
        (lambda: dilated(3, 2, 0), "dilation=0"),
        (lambda: block_sparse(3, 0, 1), "block=0"),
        (lambda: block_sparse(3, 1, 0), "stride=0"),
        (lambda: MaskConfig(window=0), "window=0"),
        (lambda: MaskConfig(padded=-1), "padded=-1"),
    ],
)
def test_impossible_parameters_are_named(make, named):
    with pytest.raises(ValueError, match=named):
        make()


def test_an_unknown_kind_is_refused():
    with pytest.raises((ValueError, TypeCheckError), match="casual"):  # the shape checker of the tests comes first
        MaskConfig(kind="casual")
