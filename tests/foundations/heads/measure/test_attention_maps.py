"""Attention maps are the model's own patterns; pooling keeps every strong weight in sight."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests import small
from tests.nightly import nightly
from tests.small import ALL_PATTERNS, model
from tfcore import presets
from tfcore.config import ModelConfig
from tfcore.loading.checkpoints import load
from tfcore.measures.heads.kinds import score_heads
from tfcore.measures.heads.maps import attention_maps
from tfcore.measures.heads.part_texts import longest_text, parts
from tfcore.measures.translation import source_ids, written
from tfcore.part_configs import AttentionConfig, FeedForwardConfig
from tfcore.tokenizers.tokenizer import NamedTokenizer
from tfcore.views.foundations.heads.measure.attention_maps import (
    MapRange,
    head_mean,
    map_findings,
    map_range,
    map_table,
    overlap,
    pool,
    pool_keys,
    read_attention,
    rollout,
    sinks,
    strongest_key,
    token_table,
    without_sink,
)


@pytest.mark.parametrize("length", [1, 2, 13, 32])
def test_maps_are_the_patterns_of_one_pass(length):
    subject, ids = model(), torch.randint(0, 61, (length,)).tolist()
    found = attention_maps(subject, ids)
    assert found.ids.tolist() == ids
    assert found.patterns.shape == (2, 6, length, length)
    assert found.patterns.dtype == np.float32
    captured = subject(torch.tensor([ids]), capture=ALL_PATTERNS).activations
    for i in range(2):
        assert np.array_equal(found.patterns[i], captured[f"blocks.{i}.attn.pattern"][0].numpy())
    scores = score_heads(found.patterns, np.array(ids))
    assert np.array_equal(found.heads.kind, scores.kind)
    assert np.array_equal(found.heads.score, scores.score)


def test_no_token_and_too_many_are_refused():
    with pytest.raises(ValueError, match="there is no token to compute on"):
        attention_maps(model(), [])
    with pytest.raises(ValueError, match="33 tokens are more than max_seq_len=32"):
        attention_maps(model(), [0] * 33)


def test_every_part_of_an_encoder_decoder_has_its_maps():
    subject = model(architecture="encoder-decoder", n_encoder_layers=3)
    ids, written = [3, 1, 4, 1, 5], [0, 9, 2]
    shapes = {"encoder": (3, 6, 5, 5), "decoder": (2, 6, 3, 3), "cross": (2, 6, 3, 5)}
    assert parts(subject.config) == tuple(shapes)
    names = ("encoder.blocks.2.attn.pattern", "decoder.blocks.1.attn.pattern", "decoder.blocks.1.cross_attn.pattern")
    captured = subject(torch.tensor([ids]), decoder_ids=torch.tensor([written]), capture=names).activations
    for name, (part, shape) in zip(names, shapes.items(), strict=True):
        found = attention_maps(subject, ids, part=part, decoder_ids=written)
        assert found.patterns.shape == shape
        np.testing.assert_allclose(found.patterns[-1], captured[name][0].numpy(), atol=1e-5)
        assert len(found.ids) == shape[3]
    assert attention_maps(subject, ids, decoder_ids=written).patterns.shape == shapes["encoder"], "the first part"
    with pytest.raises(ValueError, match="give decoder_ids, too"):
        attention_maps(subject, ids, part="cross")


def test_an_encoder_looks_both_ways():
    found = attention_maps(model(architecture="encoder", head="mlm"), [3, 1, 4, 1])
    assert (found.patterns > 0).all()
    assert parts(model(architecture="encoder", head="mlm").config) == ("encoder",)


def test_rollout_is_the_product_of_half_attention_half_residual():
    patterns = attention_maps(model(), [3, 1, 4, 1, 5]).patterns
    first, second = (0.5 * patterns[layer].mean(0) + 0.5 * np.eye(5) for layer in range(2))
    np.testing.assert_allclose(rollout(patterns), [first, second @ first], atol=1e-6)
    np.testing.assert_allclose(rollout(patterns).sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(head_mean(patterns)[1], patterns[1].mean(0))


def test_learned_sinks_are_said_and_rows_are_not_called_whole():
    tokenizer = NamedTokenizer([f"w{i}" for i in range(61)])
    with_sinks = model(attn_sinks=True)
    for block in with_sinks.decoder.blocks:
        block.attn.sinks += torch.linspace(-1, 2, 6)
    text = "w3 w1 w4 w1 w5"
    read = read_attention(with_sinks, tokenizer, text)
    taken = 1 - read.maps.patterns[1, 4].sum(-1)
    assert 0.05 < taken.mean() < 0.95
    said = f"{taken.mean():.0%} of the weight of head 1.4 goes to a learned sink, which is no token; a row sums to what"
    assert [str(one) for one in sinks(read, 1, 4)] == [f"{said} it leaves."]
    assert str(map_findings(read, read.maps.patterns[1, 4], 2, None, 40)[1]) == (
        "Shape (query, key) = (5, 5); a row sums to 1 less what learned sinks take."
    )
    np.testing.assert_allclose(rollout(read.maps.patterns).sum(-1), 1, atol=1e-5)
    hidden = without_sink(read)
    np.testing.assert_allclose(hidden.maps.patterns[:, :, 1:].sum(-1), 1, atol=1e-5)
    first, learned = sinks(hidden, 1)
    assert str(first).startswith("Hidden: 'w3' (0), with ")
    assert str(learned) == (
        f"{1 - read.maps.patterns[1].sum(-1).mean():.0%} of the weight of the heads of layer 1 goes to a learned sink, "
        "which is no token, and is left out of these rows."
    )
    assert str(map_findings(hidden, hidden.maps.patterns[1, 4], 2, None, 40)[1]).endswith("each row sums to 1.")
    plain = read_attention(model(), tokenizer, text)
    assert sinks(plain) == ()
    assert str(map_findings(plain, plain.maps.patterns[1, 4], 2, None, 40)[1]).endswith("each row sums to 1.")


def test_overlap_is_one_for_equal_maps_and_zero_for_disjoint_ones():
    same = attention_maps(model(), [3, 1, 4]).patterns[0, 0]
    assert overlap(same, same) == pytest.approx(1)
    assert overlap(np.eye(4), np.roll(np.eye(4), 1, axis=1)) == 0
    assert overlap(np.eye(2), np.full((2, 2), 0.5)) == 0.5


def test_maps_of_two_texts_are_pooled_by_the_same_step_both_ways():
    pattern = np.random.default_rng(0).random((1, 1, 5, 9)).astype(np.float32)
    small = pool(pattern, 3)
    assert small.shape == (1, 1, 2, 3)
    assert small[0, 0, 1, 2] == pattern[0, 0, 3:, 6:].max()
    np.testing.assert_array_equal(pool(pattern.swapaxes(2, 3), 3), small.swapaxes(2, 3))


@given(n=st.integers(1, 40), size=st.integers(1, 40), seed=st.integers(0, 100))
def test_pooling_fits_and_keeps_the_largest_weight_of_every_square(n, size, seed):
    pattern = np.random.default_rng(seed).random((2, 3, n, n)).astype(np.float32)
    small = pool(pattern, size)
    side = small.shape[-1]
    assert small.shape == (2, 3, side, side)
    assert side <= max(size, 1)
    step = -(-n // size)
    for row in range(side):
        for column in range(side):
            square = pattern[..., row * step : (row + 1) * step, column * step : (column + 1) * step]
            assert np.array_equal(small[..., row, column], square.max((-2, -1)))


def test_small_maps_come_back_as_they_are():
    pattern = np.random.default_rng(0).random((1, 1, 6, 6)).astype(np.float32)
    assert pool(pattern, 6) is pattern


N = 7
TOKENS = ["a", " b", "a", "<b>", "$x$", '"', "\n"]


@pytest.fixture(scope="module")
def found():
    return attention_maps(model(), small.ids(1, N)[0].tolist())


def test_map_table_holds_every_weight_that_is_not_zero(found):
    pattern = found.patterns[1, 3]
    table = map_table(pattern, TOKENS, TOKENS)
    assert len(table) == N * (N + 1) // 2, "causal: no row for a token that is not seen"
    rebuilt = np.zeros_like(pattern)
    rebuilt[table["query"], table["key"]] = table["weight"]
    np.testing.assert_array_equal(rebuilt, pattern)
    assert table["query token"].tolist() == [TOKENS[i] for i in table["query"]]
    assert table["key token"].tolist() == [TOKENS[i] for i in table["key"]]


def test_token_table_is_one_row_of_every_map(found):
    places = [(1, 5), (0, 2), (1, 0)]
    table = token_table(found, 4, TOKENS, places)
    assert len(table) == 3 * N
    assert [tuple(place) for place in table[["layer", "head"]].to_numpy()[::N]] == places
    for row in table.to_dict("records"):
        assert row["weight"] == found.patterns[row["layer"], row["head"], 4, row["key"]]
        assert row["key token"] == TOKENS[row["key"]]


def test_any_token_survives_the_way_through_csv(found):
    table = map_table(found.patterns[0, 0], TOKENS, TOKENS)
    again = pd.read_csv(io.StringIO(table.to_csv(index=False)), keep_default_na=False)
    assert again["key token"].tolist() == table["key token"].tolist()


def test_one_token_has_tables_too():
    found = attention_maps(model(), [5])
    assert map_table(found.patterns[0, 0], ["x"], ["x"]).to_dict("records") == [
        {"query": 0, "key": 0, "query token": "x", "key token": "x", "weight": 1.0}
    ]
    assert (token_table(found, 0, ["x"], [(0, 0), (1, 1)])["weight"] == 1).all()


def test_the_strongest_key_is_that_of_the_query():
    pattern = np.array([[1, 0, 0], [0.1, 0.9, 0], [0.5, 0.2, 0.3]])
    most = strongest_key(pattern, 2, ["x", "y", "z"], ["a", "b", "c"])
    assert (most.query, most.key, most.weight, most.query_token, most.key_token) == (2, 0, 0.5, "z", "a")
    other = strongest_key(pattern, 1, ["x", "y", "z"], [" a", " b", "c"])
    assert str(other) == "'y' attends most to '·b' (1), with weight 0.90."


@given(n=st.integers(1, 60), keys=st.integers(1, 60), seed=st.integers(0, 99))
def test_the_strongest_key_has_no_larger_weight_beside_it(n, keys, seed):
    pattern = np.random.default_rng(seed).random((n, keys))
    query = seed % n
    most = strongest_key(pattern, query, [str(i) for i in range(n)], [f"k{i}" for i in range(keys)])
    assert all(pattern[query, key] <= most.weight for key in range(keys))
    assert (pattern[query, most.key], most.key_token, most.query_token) == (most.weight, f"k{most.key}", str(query))


def test_a_range_says_how_much_weight_lies_outside():
    pattern = np.array([[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.6, 0.1, 0.3, 0], [0.2, 0.2, 0.2, 0.4]])
    part = map_range(pattern, (2, 4), 8)
    assert (part.first, part.last) == (2, 3)
    assert part.outside == pytest.approx((0.7 + 0.4) / 2)
    assert str(part) == "Shape (query, key) = (4, 4); tokens 2 to 3; 55% of their weight lies outside."
    assert part.token(1) == 3
    assert map_range(pattern / 8, (2, 4), 8).outside == pytest.approx(part.outside)
    assert map_range(0 * pattern, (2, 4), 8).outside == 0
    whole = map_range(pattern, (0, 4), 8)
    assert str(whole) == "Shape (query, key) = (4, 4); each row sums to 1."
    assert [whole.token(row) for row in (0, 2)] == [0, 2]
    pooled = map_range(pattern, None, 2)
    assert str(pooled) == (
        "Shape (query, key) = (4, 4); pooled: a cell shows the largest weight of 2 by 2; choose a range of tokens "
        "for all of them."
    )
    assert [pooled.token(row) for row in (0, 1, 5)] == [0, 2, 3]
    assert [MapRange(shape, pooled=2).token(2) for shape in ((3, 5), (5, 3))] == [2, 4]


def test_a_text_is_read_as_far_as_the_context_goes():
    subject, tokenizer = load("stories", device="cpu")
    text = "A cat sat. " * 200
    found = read_attention(subject, tokenizer, text)
    assert found is not None
    ids = tokenizer.encode(text)
    assert found.queries == found.keys == tokenizer.tokens(ids[-256:])
    assert found.dropped == len(ids) - 256 > 0
    assert found.within
    np.testing.assert_array_equal(found.maps.patterns, attention_maps(subject, ids[-256:]).patterns)
    assert read_attention(subject, tokenizer, "") is None


@pytest.mark.parametrize(
    ("name", "heads", "tokens"),
    [("gpt2_small", 144, 702), ("bert_large", 384, 512), ("gpt2_xl", 1_200, 512), ("llama_7b", 1_024, 512)],
)
def test_512_tokens_are_read_where_maps_are_small_beside_the_model(name, heads, tokens):
    config = getattr(presets, name)()
    assert config.n_layers * config.attention.n_heads == heads
    assert longest_text(config) == tokens


def test_maps_of_many_heads_are_not_larger_than_those_of_a_real_model():
    config = ModelConfig(
        vocab_size=64,
        d_model=64,
        n_layers=32,
        attention=AttentionConfig(n_heads=32),
        feed_forward=FeedForwardConfig(d_ff=64),
        max_seq_len=512,
    )
    assert longest_text(config) == 263  # 1,024 heads of 263 x 263 weights: 70.8 million
    assert longest_text(replace(config, max_seq_len=100)) == 100


@nightly
def test_a_translator_reads_what_it_writes():
    subject, tokenizer = load("translate", device="cpu")
    text = "a man in a blue shirt is standing on a ladder ."
    found = {part: read_attention(subject, tokenizer, text, part) for part in parts(subject.config)}
    source, target = found["encoder"].keys, found["decoder"].keys
    assert source == [*tokenizer.tokens(tokenizer.encode(text)), "<end>"]
    ids = source_ids(tokenizer, text)
    assert target == ["<start>", *tokenizer.tokens(written(subject, tokenizer, ids)[:-1])]
    assert (found["cross"].queries, found["cross"].keys) == (target, source)
    assert (found["encoder"].queries, found["decoder"].queries) == (source, target)
    assert [one.within for one in found.values()] == [True, True, False]
    assert all(one.maps.patterns.shape[2:] == (len(one.queries), len(one.keys)) for one in found.values())
    long = read_attention(subject, tokenizer, "a man . " * 200)
    assert len(long.maps.ids) == longest_text(subject.config)
    assert long.within, "the first part is the encoder"
    assert long.keys[-1] == "<end>"
    assert long.dropped == len(source_ids(tokenizer, "a man . " * 200)) - longest_text(subject.config)


@pytest.mark.parametrize(("n", "size", "step"), [(5, 8, 1), (8, 8, 1), (10, 4, 3), (30, 8, 4)])
def test_pooled_rows_keep_the_largest_weight_of_each_column(n, size, step):
    weights = np.random.default_rng(n).random((3, n)).astype(np.float32)
    found, of = pool_keys(weights, size)
    assert of == step
    for head in range(3):
        assert found[head].tolist() == [max(weights[head, i : i + step]) for i in range(0, n, step)]
