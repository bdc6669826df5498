"""With the cache and without: the same scores, the text that generate writes, operations as torch counts them."""

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tests.nightly import nightly
from tests.small import ALL_PATTERNS, WIRINGS, config, ids, model
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.kv_cache import KVCache
from tfcore.tokenizers.tokenizer import BPETokenizer
from tfcore.views.inference.kv_cache.measure.generation import (
    BothWays,
    CacheWork,
    both_ways,
    cache_work,
    generated,
    next_scores,
)
from tfcore.views.inference.kv_cache.say.generation import Measured, measured, step_costs

PROMPT = ids(1, 5)[0].tolist()


@pytest.mark.parametrize("kind", [{}, {"n_kv_heads": 2, "positions": "alibi"}, {"window": 4}], ids=str)
@pytest.mark.parametrize(("exactness", "apart"), [("float32", 1e-4), pytest.param("float64", 1e-12, marks=nightly)])
def test_both_ways_agree_and_write_what_generate_writes(kind, exactness, apart):
    subject = model(**kind)
    steps = list(both_ways(subject, PROMPT, 12, seed=3, exactness=exactness))
    assert max(step.difference for step in steps) < apart
    assert all(step.same and step.with_cache > 0 and step.without > 0 for step in steps)
    written = generate(subject, PROMPT, Sampling(temperature=0.8, top_k=50), max_new_tokens=12, seed=3)
    assert [step.token for step in steps] == written
    assert subject.embed.weight.dtype == torch.float32, "the model itself was changed"


def test_a_wrong_cache_would_be_seen():
    subject = model()
    cache = KVCache(subject.config, capacity=9, device=subject.device)
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
    cache = KVCache(subject.config, capacity=9, device=subject.device)
    subject(ids(1, 8), cache=cache)
    with FlopCounterMode(display=False) as counted:
        subject(ids(1, 1), cache=cache, capture=ALL_PATTERNS)  # one query sees all 9 keys
    assert counted.get_total_flops() == cache_work(subject.config, 5, 5).with_cache[-1]


@pytest.mark.parametrize(("exactness", "dtype"), [("float32", torch.float32), ("float64", torch.float64)])
@pytest.mark.parametrize("window", [None, 4])
def test_bytes_are_those_of_the_cache(exactness, dtype, window):
    chosen = config(window=window)
    work = cache_work(chosen, 3, 6, exactness)
    np.testing.assert_array_equal(work.parts["keys"], work.parts["values"])
    for length, held in zip(work.length, work.held, strict=True):
        assert held == KVCache(chosen, capacity=int(length), device="meta", dtype=dtype).bytes


def test_latents_are_held_and_no_keys():
    chosen = config(**WIRINGS["like DeepSeek-V3"])
    work = cache_work(chosen, 3, 6)
    for length, latents, rotated in zip(work.length, *work.parts.values(), strict=True):
        assert latents * chosen.positions.rotated == rotated * chosen.attention.kv_latent
        assert latents + rotated == KVCache(chosen, capacity=int(length), device="meta").bytes


WORK = CacheWork(
    length=np.array([5, 6, 7]),
    with_cache=np.array([900, 10, 20]),
    without=np.array([900, 1_000, 1_100]),
    parts={"keys": np.array([50, 60, 70]), "values": np.array([51, 61, 71])},
)
DONE = [BothWays(7, 0.5, 1.0, 1e-6, True), BothWays(8, 0.25, 2.0, 3e-6, False)]


def test_what_the_last_measured_step_costs():
    assert [*step_costs(WORK, DONE).values.values()] == [6, 10, 1_000, 121, 2]
    assert [*step_costs(WORK, []).values.values()] == [5, 900, 900, 101, 0]
    assert str(step_costs(WORK, DONE)) == (
        "At 6 tokens each step costs 10 operations with the cache and 1.00 k without; the cache holds 121 B. Measured "
        "for 2 steps."
    )


def test_all_steps_so_far_are_added_up():
    found = measured(WORK, DONE)
    assert found == Measured(2, 0.75, 3.0, 910, 1_900, 3e-6, 1)
    assert (found.times, found.seconds) == ("4.0 times as long", ("0.75 s", "3.00 s"))
    assert str(found) == (
        "All steps so far: 0.75 s and 910 operations with the cache, 3.00 s and 1.90 k without, 4.0 times as long. "
        "Logits differ by 3.0e-06 at most; same token 1 of 2."
    )
    assert str(measured(WORK, [])) == (
        "All steps so far: 0.00 s and 0 operations with the cache, 0.00 s and 0 without. Logits differ by 0.0e+00 at "
        "most; same token 0 of 0."
    )


def test_a_text_leaves_room_for_what_is_generated():
    tokenizer = BPETokenizer.train(["a dog and a cat"], 270)
    subject = model(vocab_size=270, max_seq_len=12)
    text = "a dog and a cat and a dog and a bird"
    assert len(tokenizer.encode(text)) > 8
    done = generated(subject, tokenizer, text, 4, 4, 1, "float32")
    expected = list(both_ways(subject, tokenizer.encode(text)[:8], 4, 1))
    assert [step.token for step in done] == [step.token for step in expected]
    assert len(done) == 4
