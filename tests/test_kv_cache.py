"""A cache changes the cost of the next token, and nothing else."""

import pytest
import torch

from tests.small import ALL_PATTERNS, difference, ids, kinds, model
from tfcore.kv_cache import KVCache


def in_chunks(subject, tokens, sizes):
    cache, parts, start = KVCache(subject.config, batch=len(tokens)), [], 0
    for size in sizes:
        parts.append(subject(tokens[:, start : start + size], cache=cache).logits)
        start += size
        assert cache.length == start
    return torch.cat(parts, dim=1)


@pytest.mark.parametrize("sizes", [(1,) * 7, (3, 1, 1, 4), (9,), (1, 6)], ids=str)
def test_cached_is_uncached(sizes):
    tokens = ids(seq=sum(sizes))
    for kind in kinds(n_kv_heads=(6, 2)):
        subject = model(**kind)
        assert difference(in_chunks(subject, tokens, sizes), subject(tokens).logits) < 1e-5, kind


def test_patterns_over_a_cache_are_the_last_rows_of_the_whole():
    for kind in kinds():
        subject = model(**kind)
        cache = KVCache(subject.config, batch=2)
        subject(ids()[:, :9], cache=cache)
        part = subject(ids()[:, 9:], cache=cache, capture=ALL_PATTERNS).activations
        whole = subject(ids(), capture=ALL_PATTERNS).activations
        assert all(difference(part[name], whole[name][:, :, 9:]) < 1e-5 for name in whole), kind


def test_a_cache_counts_its_room_and_refuses_what_does_not_fit():
    subject = model(max_seq_len=8)
    cache = KVCache(subject.config, batch=2)
    subject(ids(seq=6), cache=cache)
    assert (cache.length, cache.room) == (6, 2)
    with pytest.raises(ValueError, match="9 tokens are more than max_seq_len=8"):
        subject(ids(seq=3), cache=cache)
    assert cache.length == 6
    with pytest.raises(ValueError, match="a cache made for batch=2 does not fit ids of batch=1"):
        subject(ids(batch=1, seq=1), cache=cache)
    with pytest.raises(ValueError, match="a cache goes with the model's own causal mask alone"):
        subject(ids(seq=1), cache=cache, padding_mask=torch.ones(2, 1, dtype=torch.bool))


def test_a_pass_that_failed_leaves_the_cache_as_it_was():
    subject = model()
    cache = KVCache(subject.config, batch=2)
    subject(ids(seq=5), cache=cache)
    with pytest.raises(ValueError, match="vocabulary"):
        subject(torch.full((2, 1), 99), cache=cache)
    rest = subject(ids()[:, 5:], cache=cache).logits
    assert difference(rest, torch.cat((subject(ids(seq=5)).logits, rest), 1)[:, 5:]) == 0


def test_a_cache_takes_the_precision_of_its_model():
    subject = model().double()
    cache = KVCache(subject.config, batch=2, dtype=torch.float64)
    first = subject(ids()[:, :6], cache=cache).logits
    assert difference(torch.cat((first, subject(ids()[:, 6:], cache=cache).logits), 1), subject(ids()).logits) < 1e-12
