"""Every scheme on one head: RoPE's weights are the model's own, ALiBi's change is its bias. Shuffled words: only a
bidirectional Transformer without positions gives the same outputs."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.small import difference, ids, model
from tfcore.part_configs import RopeScaling
from tfcore.positions import alibi_bias, alibi_slopes, sinusoidal
from tfcore.views.foundations.positions import say
from tfcore.views.foundations.positions.measure.effects import (
    MOST_WORDS,
    SCHEMES,
    SchemeEffect,
    position_effects,
    shuffle_experiment,
    shuffled_places,
)

IDS = ids(1, 13)[0].tolist()
PLACES = torch.arange(13)


STRETCHED = RopeScaling(kind="yarn", factor=4.0, original_len=16)


@pytest.mark.parametrize("values", [{}, {"n_kv_heads": 2}, {"attn_scale": 1.0}, {"rope_scaling": STRETCHED}])
@pytest.mark.parametrize("head", [0, 5])
def test_rope_is_what_the_model_does_and_alibi_its_bias(values, head):
    subject = model(**values)
    found = position_effects(subject, IDS, head)
    name = "blocks.0.attn.pattern"
    own = subject(torch.tensor([IDS]), capture=(name,)).activations[name][0, head]
    assert difference(torch.tensor(found["rope"].weights), own) < 1e-5
    assert not found["none"].added.any()
    bias = alibi_bias(alibi_slopes(6), PLACES, PLACES)[head]
    assert difference(torch.tensor(found["alibi"].added), bias) < 1e-5
    for effect in found.values():
        np.testing.assert_allclose(effect.weights.sum(-1), 1, atol=1e-5)
        assert effect.previous == pytest.approx(np.diagonal(effect.weights, -1).mean())


@pytest.mark.parametrize("scaled", [False, True])
def test_vectors_are_added_to_the_embeddings_at_their_size(scaled):
    subject, tokens = model(scale_embeddings=scaled), torch.tensor([IDS])
    table = sinusoidal(PLACES, 24)
    embedded = subject.embed(tokens) * (24**0.5 if scaled else 1)
    moved = embedded + table * embedded.square().mean().sqrt() / table.square().mean().sqrt()
    names = ("blocks.0.attn.q", "blocks.0.attn.k")
    q, k, _ = by_hand(subject.decoder.blocks[0], moved)
    plain = subject(tokens, capture=names).activations
    added = q @ k.T / 2 - plain[names[0]][0, 2] @ plain[names[1]][0, 2].T / 2
    found = position_effects(subject, IDS, 2)
    assert "learned" not in found
    np.testing.assert_allclose(found["sinusoidal"].added, added.numpy(), atol=1e-4)


def test_learned_vectors_are_what_a_model_that_has_them_does():
    subject = model(positions="learned")
    found, name = position_effects(subject, IDS, 3), "blocks.0.attn.pattern"
    own = subject(torch.tensor([IDS]), capture=(name,)).activations[name][0, 3]
    assert difference(torch.tensor(found["learned"].weights), own) < 1e-5
    without = model(positions="none")
    without.load_state_dict({k: v for k, v in subject.state_dict().items() if "pos_embed" not in k})
    plain = without(torch.tensor([IDS]), capture=(name,)).activations[name][0, 3]
    assert difference(torch.tensor(found["none"].weights), plain) < 1e-5


def by_hand(block, x):
    """Queries, keys and values of head 2 from RMSNorm and W_QKV written out."""
    normed = x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * block.ln1.weight
    return tuple(part[0, 2] for part in block.attn.heads(normed @ block.attn.qkv.weight.T, 6, 6, 6))


def test_one_token_has_no_token_before():
    found = position_effects(model(), [7], 0)
    assert all((effect.previous, effect.distance) == (0, 0) for effect in found.values())


def test_of_two_tokens_the_second_has_one_before():
    for effect in position_effects(model(), [7, 8], 0).values():
        assert effect.previous == effect.distance == pytest.approx(effect.weights[1, 0]) != 0


WORDS = ("the", "dog", "bites", "the", "man", "and", "runs", "away")


@pytest.mark.parametrize("shuffle", [1, 2, 20])
def test_only_none_does_not_notice(shuffle):
    largest = shuffle_experiment(WORDS, shuffle).largest
    assert largest["none"] < 1e-5
    assert all(largest[scheme] > 0.1 for scheme in SCHEMES if scheme != "none")


def test_a_causal_mask_gives_the_order_away():
    assert min(shuffle_experiment(WORDS, 1, is_causal=True).largest.values()) > 0.1


def test_differences_are_those_of_the_same_word():
    result = shuffle_experiment(WORDS, 3)
    for scheme in range(len(SCHEMES)):
        for new, old in enumerate(result.permutation):
            change = abs(result.shuffled[scheme, new] - result.outputs[scheme, old]).max()
            assert change == pytest.approx(result.differences[scheme, old])


def test_equal_words_have_equal_outputs_without_positions():
    result = shuffle_experiment(("no", "yes", "no"), 1)
    none = result.outputs[SCHEMES.index("none")]
    assert abs(none[0] - none[2]).max() < 1e-5
    assert abs(none[0] - none[1]).max() > 0.1


@pytest.mark.parametrize("words", [(), ("one",)])
def test_nothing_to_shuffle(words):
    assert set(shuffle_experiment(words, 1).largest.values()) == {0.0}


def test_too_many_words_are_refused():
    assert len(shuffle_experiment(("word",) * MOST_WORDS, 1).permutation) == 64
    with pytest.raises(ValueError, match="65 words are more than 64"):
        shuffle_experiment(("word",) * (MOST_WORDS + 1), 1)


@given(st.integers(2, 40), st.integers(0, 1000))
def test_shuffles_are_permutations_that_move_something(n, shuffle):
    places = shuffled_places(n, shuffle)
    assert torch.equal(places.sort().values, torch.arange(n))
    assert not torch.equal(places, torch.arange(n))


def test_the_mean_distance_is_that_of_loops_over_the_weights():
    found = position_effects(model(), IDS, 4)
    distances = say.mean_distances(found, 4).values["distances"]
    for scheme, effect in found.items():
        rows = [sum(effect.weights[q, k] * (q - k) for k in range(q + 1)) for q in range(1, 13)]
        assert distances[say.NAMES[scheme]] == pytest.approx(np.mean(rows), abs=1e-4)
    made_up = {name: SchemeEffect(np.eye(2), np.eye(2), 0.0, far) for name, far in (("none", 3.96), ("rope", 2.0))}
    assert str(say.mean_distances(made_up, 4)) == (
        "Attention weights of head 4 under every scheme and the causal mask. Mean distance in tokens: none 4.0, "
        "RoPE 2.0."
    )


def test_the_largest_change_of_a_score_has_either_sign_and_no_later_key():
    added = np.array([[0.0, 99.0], [-3.0, 2.0]])
    assert SchemeEffect(added, np.eye(2), 0.0, 0.0).largest == 3


def test_what_is_said_of_a_shuffle_names_each_scheme_with_its_own_change():
    result = shuffle_experiment(WORDS, 3)
    back = [list(result.permutation).index(i) for i in range(len(WORDS))]
    changes = say.shuffle_changes(result).values["changes"]
    for i, scheme in enumerate(SCHEMES):
        change = max(abs(result.shuffled[i, back[w]] - result.outputs[i, w]).max() for w in range(len(WORDS)))
        assert changes[say.TITLES[scheme]] == pytest.approx(change)
        assert say.output_change(result, scheme).values["change"] == result.largest[scheme]
        tested = say.shuffle_test(result, "a b", scheme).values
        assert (tested["change"], tested["without"]) == (result.largest[scheme], result.largest["none"])
    made_up = replace(result, differences=np.array([[0.5], [0.25], [0.93], [0.125], [1.2e-6]]).repeat(len(WORDS), 1))
    assert str(say.shuffle_changes(made_up)) == (
        "Largest change of a word's output when the words are shuffled: Sinusoidal 5.0e-01, Learned 2.5e-01, "
        "RoPE 9.3e-01, ALiBi 1.2e-01, None 1.2e-06."
    )
    assert str(say.output_change(made_up, "rope")) == "Positions: RoPE; left and right differ by up to 9.3e-01."
    assert str(say.shuffle_test(made_up, "a b", "rope")) == (
        "Shuffle “a b”, run it through a bidirectional Transformer with RoPE positions, and a word's output changes by "
        "up to 0.93. Without positions: 1e-06, rounding."
    )
    assert "with sinusoidal positions" in str(say.shuffle_test(made_up, "a b", "sinusoidal"))
