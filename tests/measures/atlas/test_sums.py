"""A pass over texts against plain loops over the attention maps of transformers."""

from functools import cache

import numpy as np
import pytest
import torch
import transformers as hf

from benchmarks.gpt2_shape import peer
from tests import small
from tests.measures.atlas.loops import by_loops, by_position
from tests.nightly import nightly
from tests.real import real
from tfcore.measures.atlas.atlas import atlas_of
from tfcore.measures.atlas.examples import GAP, LENGTH, excerpt
from tfcore.measures.atlas.sums import ExamplePlaces, HeadSums, by_distance, cut_windows, joined
from tfcore.measures.atlas.token_kinds import token_kinds
from tfcore.measures.heads.sink import sink_tokens
from tfcore.measures.one_text import pieces_of
from tfcore.tokenizers.tokenizer import BPETokenizer

TEXT = (
    "The dog (a small one) saw the cat. The cat ran [fast] up a tree {2}, and the dog (a small one) barked. Then "
    "Anna and her dog went home. She gave the dog a bone (it was old)."
)
SETTINGS = {
    "vocab_size": 400,
    "n_heads": 3,
    "max_seq_len": 40,
    "positions": "learned",
    "norm": "layernorm",
    "bias": True,
}
SETTINGS |= {"activation": "gelu_tanh", "d_ff": 40, "tie_embeddings": True}


@cache
def tokenizer():
    return BPETokenizer.train([TEXT], 300)


@cache
def subject():
    return small.model(**SETTINGS)


def windows(length=20, most=3):
    return cut_windows(tokenizer(), [TEXT], length, most)


def read(model, words, texts, parts=1):
    """The atlas of texts, read in so many passes that are joined."""
    each = []
    for part in np.array_split(np.arange(len(texts)), parts):
        own = [texts[i] for i in part]
        sums = HeadSums(model.config, len(texts[0]), ExamplePlaces.drawn(own, 30))
        for first in range(0, len(own), 2):
            sums.add(model, words, own[first : first + 2])
        each.append(sums)
    architecture = model.config.architecture
    whole = joined(each, model.config)
    return atlas_of(whole, texts, model="", architecture=architecture, sources={}, ranks={})


def agree(found, words, texts, maps, tolerance):
    around = found.architecture == "encoder"
    kinds = [token_kinds(words, ids) for ids in texts]
    sinks = [sink_tokens(words, ids, around) for ids in texts]
    pieces = [pieces_of(words, ids) for ids in texts]
    measures, pairs, distances, ahead = by_loops(pieces, maps, kinds, sinks)
    for name, expected in measures.items():
        np.testing.assert_allclose(
            found.measures[name], expected, atol=tolerance * max(1, expected.max()), err_msg=name
        )
    np.testing.assert_allclose(found.pairs, pairs, atol=tolerance)
    np.testing.assert_allclose(found.distances, distances, atol=tolerance)
    np.testing.assert_allclose(found.ahead, ahead, atol=tolerance)
    return kinds, sinks


def test_against_loops_over_the_maps_of_transformers():
    model, texts = subject(), windows()
    assert [len(ids) for ids in texts] == [20, 20, 20]
    attentions = peer(model)(torch.tensor(texts), output_attentions=True).attentions
    maps = list(torch.stack(attentions, 1).detach().numpy())
    found = read(model, tokenizer(), texts)
    kinds, sinks = agree(found, tokenizer(), texts, maps, 1e-5)
    assert found.tokens == 3 * 19
    np.testing.assert_allclose(found.by_position, by_position(maps, kinds, sinks), atol=1e-5)
    assert np.isfinite(found.measures["bracket"]).all()
    z = model.activations(torch.tensor(texts), ["blocks.1.attn.z"])["blocks.1.attn.z"]
    np.testing.assert_allclose(found.means[1], z[:, :, 1:].mean((0, 2)), atol=1e-6)


def test_passes_that_are_joined_are_one_pass():
    whole, parts = (read(subject(), tokenizer(), windows(), parts) for parts in (1, 3))
    for name in whole.measures:
        np.testing.assert_allclose(whole.measures[name], parts.measures[name], atol=1e-6)
    assert parts.tokens == whole.tokens
    assert parts.examples.query.shape == whole.examples.query.shape


def test_a_pass_goes_on_where_it_was_stopped():
    texts = windows()
    half = HeadSums(subject().config, 20, ExamplePlaces.drawn(texts, 30))
    half.add(subject(), tokenizer(), texts[:1])
    rest = HeadSums(subject().config, 20, ExamplePlaces.drawn(texts, 30))
    rest.go_on(half.state())
    for one in (half, rest):
        one.add(subject(), tokenizer(), texts[1:])
    assert all((half.totals[name] == rest.totals[name]).all() for name in half.totals)
    with pytest.raises(ValueError, match=r"got \[19, 20\]"):
        rest.add(subject(), tokenizer(), [texts[0], texts[1][:19]])


def test_examples_say_what_the_head_does_there():
    texts = windows()
    found = read(subject(), tokenizer(), texts)
    maps = subject().activations(torch.tensor(texts), ["blocks.1.attn.pattern"])["blocks.1.attn.pattern"]
    one = found.examples.of(1, 2, 9)[0]
    places = [(i, q) for i, ids in enumerate(texts) for q in range(20) if ids[q] == one.ids[one.query]]
    weights = {(i, q, k): float(maps[i, 2, q, k]) for i, q in places for k in range(1, q)}
    assert min(abs(weight - one.weight) for weight in weights.values()) < 1e-6
    assert 0 < one.distance == one.query - one.key
    assert one.weight <= one.activity
    assert (np.diff(found.deciles, axis=-1) >= 0).all()


@pytest.mark.parametrize(("query", "key"), [(1, 0), (50, 48), (99, 1), (60, 43), (2, 70), (0, 99)])
def test_an_excerpt_has_both_tokens(query, key):
    ids = list(range(100, 200))
    cut, at_query, at_key = excerpt(ids, query, key)
    assert len(cut) <= LENGTH
    assert (cut[at_query], cut[at_key]) == (ids[query], ids[key])
    assert (GAP in cut) == (abs(query - key) > LENGTH - 4)


def test_sums_by_distance_are_those_of_diagonals():
    weights = torch.rand(3, 7, 7)
    found = by_distance(weights)
    for away in range(7):
        before, after = (weights.diagonal(side * away, -2, -1).sum(-1) for side in (-1, 1))
        torch.testing.assert_close(found["before"][:, away], before)
        torch.testing.assert_close(found["after"][:, away], after if away else torch.zeros(3))


def test_windows_are_cut_from_texts_and_short_ones_are_joined():
    words = tokenizer()
    ids = words.encode(TEXT)
    assert cut_windows(words, [TEXT, TEXT], 24, 9) == [ids[i : i + 24] for i in range(0, len(ids) - 23, 24)] * 2
    joined_ids = words.encode("The dog\n") + words.encode("a cat")
    (one,) = cut_windows(words, ["The dog", "a cat", "home", "home", "home"], len(joined_ids), 1)
    assert words.decode(one) == "The dog\na cat"


@nightly
@pytest.mark.parametrize("name", ["smollm2", "minilm"])
def test_real_models_against_loops_over_2_000_tokens(name, real_models):
    model, words = real(name)
    if name == "smollm2":
        file = "SmolLM2-135M-Instruct.Q4_1.gguf"
        options = {"gguf_file": file, "dtype": torch.float32, "attn_implementation": "eager"}
        theirs = hf.AutoModelForCausalLM.from_pretrained(real_models / name, **options).eval()
    else:
        theirs = hf.AutoModel.from_pretrained(real_models / name, attn_implementation="eager").eval()
    texts = cut_windows(words, [TEXT * 60], 64, 32)
    assert sum(map(len, texts)) > 2_000
    with torch.no_grad():
        maps = [torch.stack(theirs(torch.tensor([ids]), output_attentions=True).attentions, 1)[0] for ids in texts]
    layers = [0, model.config.n_layers // 2]  # of all, loops take an hour
    found = read(model, words, texts)
    some = {**found.measures, **{key: getattr(found, key) for key in ("pairs", "distances", "ahead")}}
    kinds = [token_kinds(words, ids) for ids in texts]
    sinks = [sink_tokens(words, ids, name == "minilm") for ids in texts]
    pieces = [pieces_of(words, ids) for ids in texts]
    expected, *arrays = by_loops(pieces, [one[layers, :2].numpy() for one in maps], kinds, sinks)
    expected |= dict(zip(("pairs", "distances", "ahead"), arrays, strict=True))
    for key, value in expected.items():
        close = 2e-4 * max(1, np.nanmax(value))
        np.testing.assert_allclose(some[key][layers][:, :2], value, atol=close, err_msg=key)
