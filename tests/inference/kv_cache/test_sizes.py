"""The size of a cache: what is quoted everywhere by hand, and what our own cache really takes."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.small import WIRINGS, config, ids, model
from tfcore.kv_cache import KVCache
from tfcore.measures.kv_bytes import (
    DEEPSEEK_V2,
    CacheShape,
    cache_bytes,
    cache_shape,
    grouped_heads,
    shared,
    token_bytes,
    ways,
)
from tfcore.measures.memory_use import memory
from tfcore.measures.precision import BITS
from tfcore.measures.quantities import both
from tfcore.part_configs import LayerConfig, MixerConfig
from tfcore.presets import PRESETS, bert_base, llama3_70b
from tfcore.views.inference import kv_cache as views
from tfcore.views.inference.kv_cache.measure.generation import cache_work
from tfcore.views.inference.kv_cache.measure.serving import Model
from tfcore.views.inference.kv_cache.say.sizes import CacheSizes, cache_range, cache_sizes, product_latex

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
        cache = KVCache(chosen, batch=2, capacity=tokens, device="meta")
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
    with pytest.raises(ValueError, match="tokens=1 and batch=-1 must be 0 or more"):
        cache_bytes(EIGHTY, 1, -1)
    assert cache_bytes(EIGHTY, 0) == cache_bytes(EIGHTY, 1, 0) == 0


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (EIGHTY, "MHA: 64 KV heads"),
        (shared(EIGHTY, "gqa"), "GQA: 8 KV heads"),
        (shared(EIGHTY, "mqa"), "MQA: 1 KV head"),
        (DEEPSEEK_V2, "MLA: 576 values"),
        (CacheShape(layers=1, heads=1, kv_heads=1, d_head=8), "MHA: 1 KV head"),
    ],
)
def test_a_shape_in_words(shape, words):
    assert str(shape) == words
    assert shape.kind == words[:3]


@pytest.mark.parametrize("window", [None, 5, 4_096])
def test_the_product_is_that_of_its_factors(window):
    shape = CacheShape(layers=4, heads=8, kv_heads=2, d_head=16, window=window, windowed=3 if window else 0)
    left, right = product_latex(shape, 1_024, 3, "int4").replace("{,}", "").split(" = ")
    product = 1.0
    for factor in left.split(r" \cdot "):
        product *= float(factor)
    assert product == int(right.removesuffix(r"\ \text{bytes}")) == cache_bytes(shape, 1_024, 3, "int4")


@given(SHAPES, st.integers(1, 10_000), st.integers(1, 9))
def test_every_way_to_share_is_there_once_the_largest_first(shape, tokens, batch):
    found = cache_sizes("It", shape, 4_096, tokens, batch, "int8")
    shapes = ways(shape)
    assert set(shapes) == {shape, *(shared(shape, way) for way in ("mha", "gqa", "mqa", "mla"))}
    assert len(found.sizes) == len(shapes)
    assert list(found.sizes.values()) == sorted(found.sizes.values(), reverse=True)
    assert found.sizes[f"{shape}, as built"] == cache_bytes(shape, tokens, batch, "int8")
    assert sum("as built" in name for name in found.sizes) == 1
    assert (found.token, found.sequence * batch) == (
        cache_bytes(shape, 1, 1, "int8"),
        found.sizes[f"{shape}, as built"],
    )
    every_head = 2 * shape.heads * shape.d_head
    assert found.share_of_mha == f"{shape.numbers / every_head:.1%}"


@pytest.mark.parametrize(
    ("kind", "mixer"),
    [
        ("conv", MixerConfig(width=3)),
        ("linear", MixerConfig(width=1)),
        ("linear", MixerConfig(decay="constant", n_heads=3, d_value=5)),
        ("delta", MixerConfig(n_heads=4, n_key_heads=2, d_key=6, d_value=9, decay="token")),
        ("ssm", MixerConfig(n_heads=4, n_key_heads=2, d_key=7, d_value=5, decay="token")),
    ],
)
def test_what_the_cache_of_a_hybrid_keeps_is_its_state_and_the_keys_and_values(kind, mixer):
    layers = tuple(LayerConfig(mixer=one) for one in (kind, "attention", kind))
    subject = model(n_layers=3, layers=layers, mixer=mixer, positions="rope")
    cache = KVCache(subject.config, 2, capacity=8, device=subject.device)
    subject(ids(2, 5), cache=cache)
    shape = cache_shape(subject.config)
    assert cache.bytes == cache_bytes(shape, 8, 2, "float32")
    assert token_bytes(shape, "float32") == 2 * 6 * 4 * 4  # a key and a value of six heads of four numbers, one layer
    work = cache_work(subject.config, 5, 2)
    assert work.parts["states"].tolist() == [shape.state * 4] * 2
    assert work.held.tolist() == [cache_bytes(shape, n, 1, "float32") for n in (5, 6)]
    found = cache_sizes("It", shape, 32, 1_000, 1, "float32")
    assert f"{both(shape.state * 4)} of a sequence are states of layers without keys." in str(found)
    terms = product_latex(shape, 1_000, 1, "float32").replace("{,}", "").split(" = ")[0].split(" + ")
    products = [prod(map(float, term.split(r" \cdot "))) for term in terms]
    assert sum(products) == cache_bytes(shape, 1_000, 1, "float32")


def test_the_sentence_of_sizes():
    shape = CacheShape(layers=80, heads=64, kv_heads=8, d_head=128, window=4_096, windowed=80)
    found = CacheSizes("It", shape, 32_768, 2, {"a": 85_899_345_920, "b": 1_000}, 1, 2, 8_192)
    assert str(found) == (
        "KV cache of It, 2 x 32,768 tokens: a 85.9 GB (80.0 GiB); b 1.00 kB (0.98 KiB). Its sliding window keeps 4,095 "
        "tokens per layer. Its own context is 8,192 tokens."
    )
    assert found.values == "2,048 values per layer"
    plain = CacheSizes("It", EIGHTY, 8_192, 2, {"a": 1}, 1, 2, 8_192)
    assert str(plain) == "KV cache of It, 2 x 8,192 tokens: a 1 B (1 B)."


def test_the_smallest_and_the_largest_of_several():
    found = cache_range({"b": 2_000, "a": 30, "c": 4 * 10**9}, 1_024, 3)
    assert [found.values[name] for name in ("models", "small", "least", "large", "most")] == [
        3,
        "a",
        30,
        "c",
        4 * 10**9,
    ]
    assert str(found) == "3 models, each with 3 x 1,024 tokens: from a with 30 B (30 B) to c with 4.00 GB (3.73 GiB)."


def test_what_is_kept_of_latents_and_what_heads_make_of_them():
    positions = 12
    subject = model(**WIRINGS["like DeepSeek-V3"])
    config = subject.config
    shape = cache_shape(config)
    names = ["blocks.1.attn.k", "blocks.1.attn.v", "blocks.1.attn.latent"]
    seen = subject.activations(ids(1, positions), names)
    keys, values, latent = (seen[name].numel() // positions for name in names)
    assert shape.of_all_heads == (keys, values)
    assert shape.latent - shape.rotated == latent
    shown = views.latents(Model("mine", 1, shape), positions, "float32")
    assert dict(zip(shown.table()["part"], shown.table()["numbers"], strict=True)) == {
        "keys of all heads": keys,
        "values of all heads": values,
        "latent": latent,
        "rotated key": config.positions.rotated,
    }
    cache = KVCache(config, capacity=positions, device="cpu")
    subject(ids(1, positions), cache=cache)
    full = positions * config.n_layers * (keys + values) * 4
    assert f"; 12 tokens leave {both(cache.bytes)} in place of {both(full)}." in str(shown)


def test_deepseek_v2_keeps_a_latent_of_512_and_a_key_of_64():
    said = str(views.latents(Model("DeepSeek-V2", 1, DEEPSEEK_V2), 32_768, "float16"))
    assert "a latent of 512 numbers and a rotated key of 64 for all 128 heads, 576 in place of the 40,960" in said
    assert "(71.1 times as many)" in said


def test_latents_are_of_latent_attention_alone():
    with pytest.raises(ValueError, match=r"llama keeps keys and values \(GQA: 8 KV heads\); take a model with latent"):
        views.latents(Model("llama", 1, shared(EIGHTY, "gqa")), 10, "float16")
