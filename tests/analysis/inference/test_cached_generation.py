"""With the cache and without: the same scores, the text that generate writes, operations as torch counts them."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tests.small import ALL_PATTERNS, config, ids, model
from tfcore.analysis.inference.cached_generation import both_ways, cache_work, next_scores
from tfcore.generation.generate import generate
from tfcore.generation.kv_cache import KVCache

PROMPT = ids(1, 5)[0].tolist()


@pytest.mark.parametrize("kind", [{}, {"n_kv_heads": 2, "positions": "alibi"}, {"window": 4}], ids=str)
@pytest.mark.parametrize(("exactness", "apart"), [("float32", 1e-4), ("float64", 1e-12)])
def test_both_ways_agree_and_write_what_generate_writes(kind, exactness, apart):
    subject = model(**kind)
    steps = list(both_ways(subject, PROMPT, 12, seed=3, exactness=exactness))
    assert max(step.difference for step in steps) < apart
    assert all(step.same and step.with_cache > 0 and step.without > 0 for step in steps)
    written = generate(subject, PROMPT, max_new_tokens=12, temperature=0.8, top_k=50, seed=3)
    assert [step.token for step in steps] == written
    assert subject.embed.weight.dtype == torch.float32, "the model itself was changed"


def test_a_wrong_cache_would_be_seen():
    subject = model()
    cache = KVCache(subject.config, capacity=9)
    next_scores(subject, [PROMPT[0] + 1, *PROMPT[1:]], cache)  # of another text
    assert (next_scores(subject, [7], cache) - next_scores(subject, [*PROMPT, 7])).abs().max() > 1e-3


def test_it_stops_where_the_context_ends():
    assert len(list(both_ways(model(max_seq_len=8), PROMPT, 50))) == 3


def test_all_steps_with_the_cache_cost_one_pass():
    work = cache_work(config(), 5, 20)
    assert work.length.tolist() == list(range(5, 25))
    assert work.with_cache[0] == work.without[0]
    assert work.with_cache.sum() == work.without[-1]


def test_a_step_with_the_cache_costs_what_torch_counts():
    subject = model(n_kv_heads=2)
    cache = KVCache(subject.config, capacity=9)
    subject(ids(1, 8), cache=cache)
    with FlopCounterMode(display=False) as counted:
        subject(ids(1, 1), cache=cache, capture=ALL_PATTERNS)  # one query sees all 9 keys
    assert counted.get_total_flops() == cache_work(subject.config, 5, 5).with_cache[-1]


@pytest.mark.parametrize(("exactness", "dtype"), [("float32", torch.float32), ("float64", torch.float64)])
@pytest.mark.parametrize("window", [None, 4])
def test_bytes_are_those_of_the_cache(exactness, dtype, window):
    chosen = config(window=window)
    work = cache_work(chosen, 3, 6, exactness)
    for length, keys, values in zip(work.length, work.keys, work.values, strict=True):
        assert keys == values
        assert keys + values == KVCache(chosen, capacity=int(length), dtype=dtype).bytes
