"""A cache changes the cost of the next token, and nothing else."""

import pytest
import torch

from tests.nightly import often
from tests.small import ALL_PATTERNS, difference, ids, kinds, model
from tfcore.kv_cache import KVCache


def in_chunks(subject, tokens, sizes):
    cache, parts, start = KVCache(subject.config, batch=len(tokens), device=subject.device), [], 0
    for size in sizes:
        parts.append(subject(tokens[:, start : start + size], cache=cache).logits)
        start += size
        assert cache.length == start
    return torch.cat(parts, dim=1)


@pytest.mark.parametrize("sizes", often([(1,) * 7, (3, 1, 1, 4), (9,), (1, 6)], [(3, 1, 1, 4)]), ids=str)
def test_cached_is_uncached(sizes):
    tokens = ids(seq=sum(sizes))
    for kind in kinds(n_kv_heads=(6, 2)):
        subject = model(**kind)
        assert difference(in_chunks(subject, tokens, sizes), subject(tokens).logits) < 1e-5, kind


def test_patterns_over_a_cache_are_the_last_rows_of_the_whole():
    for kind in kinds():
        subject = model(**kind)
        cache = KVCache(subject.config, batch=2, device=subject.device)
        subject(ids()[:, :9], cache=cache)
        part = subject(ids()[:, 9:], cache=cache, capture=ALL_PATTERNS).activations
        whole = subject(ids(), capture=ALL_PATTERNS).activations
        for name, pattern in whole.items():
            held = part[name].shape[-1]  # with a window, the earliest keys are gone: nobody looks at them any more
            assert held == (13 if kind["window"] is None else 7)
            assert difference(part[name], pattern[:, :, 9:, -held:]) < 1e-5, kind
            assert pattern[:, :, 9:, :-held].count_nonzero() == 0, kind


def test_a_cache_counts_its_room_and_refuses_what_does_not_fit():
    subject = model(max_seq_len=8)
    cache = KVCache(subject.config, batch=2, device=subject.device)
    subject(ids(seq=6), cache=cache)
    assert (cache.length, cache.remaining) == (6, 2)
    with pytest.raises(ValueError, match="9 tokens are more than max_seq_len=8"):
        subject(ids(seq=3), cache=cache)
    assert cache.length == 6
    with pytest.raises(ValueError, match="a cache made for batch=2 does not fit ids of batch=1"):
        subject(ids(batch=1, seq=1), cache=cache)
    with pytest.raises(ValueError, match="a cache goes with the model's own causal mask alone"):
        subject(ids(seq=1), cache=cache, padding_mask=torch.ones(2, 1, dtype=torch.bool))


def test_a_pass_that_failed_leaves_the_cache_as_it_was():
    subject = model().cpu()  # only there are ids checked before the pass
    cache = KVCache(subject.config, batch=2, device=subject.device)
    subject(ids(seq=5), cache=cache)
    with pytest.raises(ValueError, match="vocabulary"):
        subject(torch.full((2, 1), 99), cache=cache)
    rest = subject(ids()[:, 5:], cache=cache).logits
    assert difference(rest, torch.cat((subject(ids(seq=5)).logits, rest), 1)[:, 5:]) == 0


def test_a_cache_takes_the_precision_of_its_model():
    subject = model().double()
    cache = KVCache(subject.config, batch=2, dtype=torch.float64, device=subject.device)
    first = subject(ids()[:, :6], cache=cache).logits
    assert difference(torch.cat((first, subject(ids()[:, 6:], cache=cache).logits), 1), subject(ids()).logits) < 1e-12


def test_a_window_keeps_a_ring_of_what_can_still_be_seen():
    long = {"max_seq_len": 512, "n_layers": 3}
    whole, part = model(**long), model(**long, window=4, window_from=1)
    full, ring = (KVCache(m.config, batch=2, device=m.device) for m in (whole, part))
    one = 2 * 2 * 6 * 4 * 4  # keys and values, rows, heads, width, bytes
    assert full.bytes == 3 * 512 * one
    assert ring.bytes == (512 + 3 + 3) * one
    tokens = ids(seq=200)
    parts = [part(chunk, cache=ring).logits for chunk in tokens.split((1, 50, 3, 1, 1, 144), dim=1)]
    assert difference(torch.cat(parts, 1), part(tokens).logits) < 1e-5
    assert [ring.n_cached(i) for i in range(3)] == [200, 3, 3]


@pytest.mark.parametrize("window", [None, 1, 4])
def test_what_was_taken_back_leaves_no_trace(window):
    subject = model(window=window)
    cache = KVCache(subject.config, batch=2, rollback=3, device=subject.device)
    subject(ids()[:, :8], cache=cache)
    for taken in (1, 3, 2):
        subject(ids(2, taken, seed=9), cache=cache)
        cache.truncate(8)
    rest = torch.cat([subject(ids()[:, i : i + 1], cache=cache).logits for i in range(8, 13)], 1)
    assert difference(rest, subject(ids()).logits[:, 8:]) < 1e-5


def test_more_than_the_slack_cannot_be_taken_back_from_a_ring():
    subject = model(window=4)
    cache = KVCache(subject.config, batch=2, rollback=2, device=subject.device)
    subject(ids(), cache=cache)
    cache.truncate(11)
    with pytest.raises(
        ValueError, match="going back from 13 to 10 tokens needs rollback=3, this cache was made with rollback=2"
    ):
        cache.truncate(10)
    with pytest.raises(ValueError, match="length=12 must be between 0 and the 11 tokens held"):
        cache.truncate(12)


@pytest.mark.parametrize("both", [False, True])
def test_rows_can_be_chosen_and_repeated(both):
    subject, rows = model(architecture="encoder-decoder" if both else "decoder"), torch.tensor([1, 1, 0])
    real = torch.tensor([[True] * 13, [True] * 9 + [False] * 4])
    cache, whole = KVCache(subject.config, batch=2, device=subject.device), ids(2, 9, seed=4)

    def step(tokens, **given):
        if not both:
            return subject(tokens, cache=cache).logits
        return subject(ids()[[0] * len(tokens)], decoder_ids=tokens, cache=cache, **given).logits

    if both:
        subject(ids(), decoder_ids=whole[:, :6], padding_mask=real, cache=cache)
        expected = subject(ids()[rows], decoder_ids=whole[rows], padding_mask=real[rows]).logits[:, 6:]
    else:
        step(whole[:, :6])
        expected = subject(whole[rows]).logits[:, 6:]
    cache.select(rows)
    assert cache.batch == 3
    assert difference(step(whole[rows, 6:]), expected) < 1e-4


def test_capacity_may_be_less_than_the_context():
    subject = model(max_seq_len=512)
    cache = KVCache(subject.config, batch=2, capacity=14, device=subject.device)
    assert cache.bytes == KVCache(subject.config, batch=2, device=subject.device).bytes * 14 // 512
    subject(ids(), cache=cache)
    with pytest.raises(
        ValueError, match="2 tokens are more than the 1 that the cache has room for; make it with a larger capacity"
    ):
        subject(ids(seq=2), cache=cache)
    with pytest.raises(ValueError, match="capacity=513 must be between 1 and max_seq_len=512, or None"):
        KVCache(subject.config, capacity=513, device=subject.device)
