"""The KV cache: sizes by hand and of our own cache; with and without it, the same scores and text, and operations as
torch counts them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from tests.small import ALL_PATTERNS, config, ids, model
from tfcore.analysis.inference.kv_cache import (
    DEEPSEEK_V2,
    CacheShape,
    both_ways,
    cache_bytes,
    cache_shape,
    cache_work,
    grouped_heads,
    next_scores,
    shared,
)
from tfcore.analysis.model.memory_use import memory
from tfcore.analysis.precision import BITS
from tfcore.generation.generate import generate
from tfcore.generation.kv_cache import KVCache
from tfcore.presets import PRESETS, bert_base, llama3_70b

PROMPT = ids(1, 5)[0].tolist()
EIGHTY = CacheShape(layers=80, heads=64, kv_heads=64, d_head=128)
SHAPES = st.builds(
    lambda layers, group, kv_heads, half, window: CacheShape(
        layers=layers,
        heads=group * kv_heads,
        kv_heads=kv_heads,
        d_head=2 * half,
        window=window,
        windowed=layers if window else 0,
    ),
    st.integers(1, 100),
    st.integers(1, 16),
    st.integers(1, 16),
    st.integers(1, 64),
    st.none() | st.integers(1, 5_000),
)


@pytest.mark.parametrize(
    ("sharing", "numbers", "size"),
    [
        ("mha", 16_384, 85_899_345_920),  # 85.9 GB, 80 GiB
        ("gqa", 2_048, 10_737_418_240),  # 10.7 GB, 10 GiB
        ("mqa", 256, 1_342_177_280),
        ("mla", 576, 3_019_898_880),  # 4 * 128 + 64 numbers
    ],
)
def test_eighty_layers_and_32768_tokens(sharing, numbers, size):
    shape = shared(EIGHTY, sharing)
    assert shape.numbers == numbers
    assert cache_bytes(shape, 32_768) == size
    assert cache_bytes(shape, 32_768, 3, "int4") == 3 * size / 4


def test_llama3_70b_is_that_shape_with_eight_heads():
    assert cache_shape(llama3_70b()) == shared(EIGHTY, "gqa")


def test_a_token_of_deepseek_v2():
    assert cache_bytes(DEEPSEEK_V2, 1) == 60 * (512 + 64) * 2
    assert shared(DEEPSEEK_V2, "mla") == shared(DEEPSEEK_V2, "built") == DEEPSEEK_V2
    assert shared(DEEPSEEK_V2, "mha").numbers == 2 * 128 * 128
    # table 1 of arXiv:2405.04434: as much as grouped queries with 2.25 groups would
    assert DEEPSEEK_V2.numbers / (2 * DEEPSEEK_V2.d_head) == 2.25


@pytest.mark.parametrize("name", [name for name in PRESETS if PRESETS[name]().architecture != "encoder"])
def test_presets_are_counted_as_the_accounting_does(name):
    chosen = PRESETS[name]()
    seq = min(500, chosen.max_seq_len)
    use = memory(chosen, batch=3, seq=seq, dtype="bfloat16")
    assert cache_bytes(cache_shape(chosen), seq, 3) == use.kv_cache


@pytest.mark.parametrize(
    "window", [{}, {"window": 5}, {"window": 5, "window_from": 1}, {"window": 5, "window_from": 9}]
)
@pytest.mark.parametrize("kv_heads", [6, 2, 1])
def test_our_own_cache_takes_as_much(window, kv_heads):
    chosen = config(n_kv_heads=kv_heads, **window)
    for tokens in (1, 4, 5, 30):
        cache = KVCache(chosen, batch=2, capacity=tokens)
        assert cache_bytes(cache_shape(chosen), tokens, 2, "float32") == cache.bytes


@given(SHAPES, st.integers(1, 100_000), st.integers(1, 64))
def test_it_grows_with_all_it_is_made_of(shape, tokens, batch):
    for precision, bits in BITS.items():
        size = cache_bytes(shape, tokens, batch, precision)
        assert size == batch * shape.numbers * shape.kept(tokens) * bits // 8
        assert size <= cache_bytes(shape, tokens + 1, batch, precision)
    if shape.window is None:
        assert cache_bytes(shape, 2 * tokens, batch) == 2 * cache_bytes(shape, tokens, batch)
    ways = [shared(shape, way).numbers for way in ("mqa", "gqa", "mha")]
    assert ways == sorted(ways)


def test_grouped_is_eight_or_what_divides():
    assert [grouped_heads(n) for n in (64, 25, 12, 7, 1)] == [8, 5, 6, 7, 1]


def test_what_has_no_cache_is_refused():
    with pytest.raises(ValueError, match="keeps no cache; take a decoder"):
        cache_shape(bert_base())
    with pytest.raises(ValueError, match="tokens=-1 and batch=1 must be 0 or more"):
        cache_bytes(EIGHTY, -1)


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
