"""Whether it fits: one service by hand, and limits that are really the last to fit."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcore import presets
from tfcore.measures.kv_bytes import DEEPSEEK_V2, CacheShape, cache_shape, shared
from tfcore.measures.parameter_count import built_parameters, kv_head_parameters, parameters
from tfcore.views.inference.kv_cache.measure.serving import (
    ENDLESS,
    Budget,
    Model,
    Service,
    budget,
    budgets,
    held_tokens,
    regrouped,
    remedies,
    remedy_names,
    user_bytes,
)
from tfcore.views.inference.kv_cache.say.serving import ServiceFit, fit

EIGHTY = CacheShape(layers=80, heads=64, kv_heads=64, d_head=128)
USER = 85_899_345_920
ASKED = Service(
    parameters=70 * 10**9,
    weights="float16",
    shape=EIGHTY,
    cache="float16",
    users=16,
    tokens=32_768,
    filled=0.5,
    block=0,
    gpus=8,
    parallel=4,
    memory=80 * 10**9,
    spared=0.05,
)
SERVICES = st.builds(
    lambda heads, groups, users, tokens, filled, block, n, parallel, memory, parameters: replace(
        ASKED,
        shape=CacheShape(layers=8, heads=heads * groups, kv_heads=heads, d_head=64),
        users=users,
        tokens=tokens,
        filled=filled,
        block=block,
        gpus=n * parallel,
        parallel=parallel,
        memory=memory * 10**8,
        parameters=parameters,
    ),
    st.integers(1, 16),
    st.integers(1, 4),
    st.integers(1, 300),
    st.integers(1, 50_000),
    st.floats(0.05, 1.0),
    st.sampled_from([0, 1, 16, 256]),
    st.integers(1, 4),
    st.integers(1, 16),
    st.integers(10, 900),
    st.integers(10**6, 10**10),
)


def test_sixteen_users_on_eight_gpus_by_hand():
    found = budget(ASKED)
    assert found.weights == 140 * 10**9 / 4
    assert found.cache == 8 * USER / 4  # eight users in each of two groups, a quarter of each cache on a GPU
    assert found.spared == 4 * 10**9
    assert found.free == (80 - 35 - 4) * 10**9 - 2 * USER
    assert not found.fits
    assert found.most_users == 2 * (41 * 10**9 // (USER // 4)) == 2
    assert found.longest == int(41e9 / 8 / (USER / 4 / 32_768))


def test_each_remedy_by_hand():
    found = {name: budget(service) for name, service in remedies(ASKED).items()}
    assert list(found) == ["asked", "gqa", "int8 cache", "int8 weights", "paging", "tensor parallelism", "all"]
    assert found["gqa"].cache == 2 * USER / 8
    assert found["gqa"].fits
    assert found["int8 cache"].cache == found["paging"].cache == USER
    assert found["int8 weights"].weights == 70 * 10**9 / 4
    assert found["tensor parallelism"].weights == 140 * 10**9 / 8
    assert found["tensor parallelism"].cache == 16 * USER / 8
    assert found["all"].weights == 70 * 10**9 / 8
    assert found["all"].cache == 16 * USER / 8 / 8 / 2 / 2


def test_what_is_in_use_already_is_no_remedy():
    best = replace(ASKED, shape=shared(EIGHTY, "mqa"), cache="int4", weights="int8", block=16, parallel=8)
    assert list(remedies(best)) == ["asked"]
    assert list(remedies(replace(best, cache="float16"))) == ["asked", "int8 cache"], "one is all of them"
    assert "gqa" not in remedies(replace(ASKED, shape=DEEPSEEK_V2))


def test_heads_are_shared_out_and_what_cannot_be_is_kept_by_all():
    grouped = replace(ASKED, shape=shared(EIGHTY, "gqa"), gpus=16)
    sizes = {parallel: user_bytes(replace(grouped, parallel=parallel)) for parallel in (1, 2, 8, 16)}
    assert sizes == {1: USER // 8, 2: USER // 16, 8: USER // 64, 16: USER // 64}
    latent = replace(ASKED, shape=DEEPSEEK_V2)
    assert user_bytes(replace(latent, parallel=1)) == user_bytes(replace(latent, parallel=8))


def test_paging_takes_whole_blocks_of_what_is_there():
    assert held_tokens(ASKED) == 32_768
    assert held_tokens(replace(ASKED, block=16)) == 16_384
    assert held_tokens(replace(ASKED, block=256, tokens=300, filled=1.0)) == 512


@given(SERVICES)
def test_the_limits_are_the_last_that_fit(service):
    found = budget(service)
    assert found.weights + found.cache + found.spared + found.free == found.memory
    assert found.fits == (found.most_users >= service.users) == (found.longest >= service.tokens)
    if found.most_users:
        assert budget(replace(service, users=found.most_users)).fits
    assert not budget(replace(service, users=found.most_users + 1)).fits
    if found.longest:
        assert budget(replace(service, tokens=found.longest)).fits
    if found.longest < ENDLESS:
        assert not budget(replace(service, tokens=found.longest + 1)).fits


@given(SERVICES)
def test_smaller_numbers_and_fewer_heads_never_take_more(service):
    better = remedies(service)
    for name in {"gqa", "int8 cache", "int8 weights"} & set(better):
        assert budget(better[name]).free >= budget(service).free


def test_a_window_has_no_longest_text():
    ring = replace(EIGHTY, window=4_096, windowed=80)
    assert budget(replace(ASKED, shape=shared(ring, "gqa"))).longest == ENDLESS


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"parallel": 3}, "gpus=8 do not fall into groups of parallel=3; possible: 1, 2, 4, 8"),
        ({"users": 0}, "users=0 and tokens=32768 must be 1 or more"),
        ({"tokens": 0}, "tokens=0 must be 1 or more"),
        ({"block": -1}, "block=-1 0 or more"),
        ({"filled": 0.0}, "filled=0.0 above 0"),
        ({"filled": 1.01}, "filled=1.01 above 0"),
        ({"spared": -0.01}, "spared=-0.01 from 0"),
        ({"spared": 1.0}, "spared=1.0 from 0"),
        ({"parallel": 0}, "parallel=0; possible: 1, 2, 4, 8"),
    ],
)
def test_what_makes_no_sense_is_refused(values, said):
    replace(ASKED, users=1, tokens=1, block=0, filled=1.0, spared=0.0)
    with pytest.raises(ValueError, match=said):
        replace(ASKED, **values)


@pytest.mark.parametrize(
    ("build", "heads"), [("llama3_70b", 64), ("llama2_7b", 8), ("mistral_7b", 1), ("gpt2_small", 4), ("qwen2_7b", 28)]
)
def test_other_kv_heads_have_other_weights(build, heads):
    config = presets.PRESETS[build]()
    built = cache_shape(config)
    counted, head = built_parameters(config.changed(n_kv_heads=heads)), kv_head_parameters(config)
    assert regrouped(parameters(config).total, built, replace(built, kv_heads=heads), head) == counted
    assert regrouped(7, built, shared(built, "mla"), head) == 7
    asked = replace(ASKED, parameters=10**9, shape=EIGHTY, kv_head=1_000)
    assert remedies(asked)["gqa"].parameters == 10**9 - 1_000 * 56


MODEL = Model("It", 70 * 10**9, EIGHTY)


@pytest.mark.parametrize(
    ("free", "words"), [(15, "15 B too much"), (1, "1 B too much"), (-35, "fits, 35 B left"), (0, "fits, 0 B left")]
)
def test_a_verdict_says_by_how_much(free, words):
    assert Budget(30, 50 + free, 0, 80, 0, 0).verdict("decimal") == words


def test_limits_in_words():
    assert Budget(0, 0, 0, 1, 1_234, ENDLESS).most_users_words == "1,234"
    assert Budget(0, 0, 0, 1, 1_234, ENDLESS).longest_words == "16,777,216 and more"
    assert Budget(0, 0, 0, 1, 1_234, ENDLESS - 1).longest_words == "16,777,215"


@given(SERVICES)
def test_the_best_remedy_leaves_more_than_every_other_one_alone(service):
    found = budgets(service)
    assert {name: one for name, (one, _) in found.items()} == remedies(service)
    said, names = fit(MODEL, found, "decimal"), remedy_names(service)
    for name, (changed, need) in found.items():
        assert need == budget(changed)
        assert said.verdicts[names[name]] == need.verdict("decimal")
        if name not in ("asked", "all"):
            best = next(key for key, words in names.items() if words == said.best)
            assert found[best][1].free >= need.free
    assert (said.best == "") == (len(found) == 1)


def test_the_sentence_of_a_fit():
    best = replace(ASKED, shape=shared(EIGHTY, "mqa"), cache="int4", weights="int8", block=16, parallel=8)
    alone = ServiceFit(Model("It", 70 * 10**9, best.shape), best, {"as set above": "fits, 1.00 GB left"}, "")
    assert str(alone) == (
        "It (MQA: 1 KV head), 16 users x 32,768 tokens on 8 x 80.0 GB (74.5 GiB). as set above: fits, 1.00 GB left."
    )
    other = ServiceFit(MODEL, replace(best, parameters=69 * 10**9), {"a": "x", "b": "y"}, "b")
    assert str(other) == (
        "It, had it been built with MQA: 1 KV head (it has MHA: 64 KV heads; its weights 69,000,000,000 parameters), "
        "16 users x 32,768 tokens on 8 x 80.0 GB (74.5 GiB). a: x; b: y. The largest saving by itself: b."
    )
    assert "its weights" not in str(ServiceFit(MODEL, best, {"a": "x"}, ""))
