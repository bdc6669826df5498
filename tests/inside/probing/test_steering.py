"""Steering beside plain generation with an edit; repeated runs, cross-entropy and collapse beside loops."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.nightly import nightly
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.inspection.edits import Edit
from tfcore.loading.checkpoints import load
from tfcore.loading.transcoders import load_transcoders
from tfcore.tokenizers.tokenizer import NamedTokenizer
from tfcore.views.inside.probing import say
from tfcore.views.inside.probing.measure import steering
from tfcore.views.inside.probing.measure.steering import FACTORS, Steered
from tfcore.views.inside.probing.measure.two_classes import Direction

NEW = 6


@pytest.fixture(scope="module")
def stories():
    return load("stories", device="cpu")


@pytest.fixture(scope="module")
def along():
    return steering.feature_direction("stories", 622)


@pytest.fixture(scope="module")
def ids(stories):
    return stories[1].encode("One day, Tom went to the park. He was")


@pytest.fixture(scope="module")
def grown(stories, ids, along):
    return list(steering.steer(stories[0], ids, along, NEW))


def test_a_feature_is_what_it_writes_at_its_largest(along):
    row = load_transcoders("stories").each[4].W_dec[622].detach().numpy()
    assert along.layer == 3
    assert along.title == "feature stream/622"
    ratio = along.vector / row
    assert np.allclose(ratio, ratio[0], rtol=1e-4)
    assert ratio[0] > 1


@nightly
def test_each_row_is_generated_as_alone(stories, ids, along, grown):
    model = stories[0]
    assert [one.tokens.shape[1] for one in grown] == [1, 2, 3, 4, 5, 6, 6]
    assert all(one.nats is None for one in grown[:-1])
    for factor in (-3.0, 0.0, 2.0):
        row = FACTORS.index(factor)
        edits = [Edit.add("blocks.2.resid_post", factor * torch.from_numpy(along.vector))]
        alone = generate(model, ids, Sampling(temperature=0), max_new_tokens=NEW, edits=edits)
        assert grown[-1].tokens[row].tolist() == list(alone)
        expected = model(torch.tensor([ids]), edits=edits).logits[0, -1].softmax(-1)
        assert np.allclose(grown[0].probabilities[row], expected, atol=1e-5)


def test_cross_entropy_is_by_the_model_as_it_is(stories, ids, grown):
    model, last = stories[0], grown[-1]
    row = FACTORS.index(4.0)
    text = [*ids, *last.tokens[row].tolist()]
    p = model(torch.tensor([text])).logits[0].softmax(-1)
    losses = [-math.log(float(p[i - 1, text[i]])) for i in range(len(ids), len(text))]
    assert last.nats[row] == pytest.approx(sum(losses) / NEW, abs=1e-3)


def test_nothing_fits_a_full_context(stories, along):
    full = [5] * stories[0].config.max_seq_len
    last = list(steering.steer(stories[0], full, along, NEW))[-1]
    assert last.tokens.shape == (len(FACTORS), 0)
    assert last.nats.tolist() == [0] * len(FACTORS)


def test_repeated_runs():
    assert steering.repeated_share([1, 2, 3, 1, 2, 3, 1]) == pytest.approx(2 / 5)  # 123 231 312 123 231
    assert steering.repeated_share([7] * 8) == pytest.approx(5 / 6)
    assert steering.repeated_share([1, 2]) == 0


def made(nats, rows):
    """Continuations with these numbers of nats per token and these tokens, by factor."""
    probabilities = np.full((len(FACTORS), 4), 0.1)
    probabilities[:, 0] = 0.5
    probabilities[FACTORS.index(2.0)] = (0.2, 0.1, 0.6, 0.1)
    return Steered("difference of means at layer 1", probabilities, np.array(rows), np.array(nats))


NAMES = NamedTokenizer(("a", "b", "c", "d"))


def test_where_it_collapses():
    rows = [[1, 2, 3, 0, 1, 3, 2, 0]] * len(FACTORS)
    nats = [1.0] * len(FACTORS)
    found = made(nats, rows)
    assert str(say.collapse(found)).startswith("The text collapses at none of the factors from -8 to 8: more than")
    rows = [list(row) for row in rows]
    rows[FACTORS.index(-4.0)] = [1] * 8
    nats[FACTORS.index(3.0)], nats[FACTORS.index(8.0)] = 4.1, 9.0
    said = say.collapse(made(nats, rows))
    assert [said.values[name] for name in ("at", "nats", "repeated")] == ["-4 and +3", 1.0, 0.0]
    assert str(said).startswith("The text first collapses at factor -4 and +3")
    with pytest.raises(ValueError, match="still being written"):
        steering.collapsed(replace(found, nats=None))


def test_a_text_at_its_limits_has_not_collapsed():
    """Two different runs of five, and four nats; at the factors next to 0 it has, which without steering is no side."""
    rows, nats = [[1, 2] * 3 + [1]] * len(FACTORS), [4.0] * len(FACTORS)
    assert not any(steering.collapsed(made(nats, rows)))
    for factor in (-1.0, 0.0, 1.0):
        nats[FACTORS.index(factor)] = 4.25
    said = say.collapse(made(nats, rows))
    assert (said.values["at"], said.values["repeated"]) == ("-1 and +1", pytest.approx(0.6))


def test_what_is_said_of_the_next_token():
    found = made([1.0] * len(FACTORS), [[1] * 3] * len(FACTORS))
    assert str(say.steered_next(found, 2.0, NAMES)) == (
        "Difference of means at layer 1, added with factor +2: the most probable next token is 'c', 60.0% instead of "
        "10.0%; 'a' goes from 50.0% to 20.0%."
    )
    assert "is still 'a', 50.0% instead of 50.0%" in str(say.steered_next(found, 3.0, NAMES))
    assert str(say.steered_next(found, 0.0, NAMES)) == (
        "Without steering, the most probable next token is 'a' (50.0%)."
    )
    assert steering.followed_tokens(found, 2) == [2, 0]


def test_operations(stories):
    assert steering.operations(stories[0].config, 10) > 4 * 1e6 * len(FACTORS) * 30
    assert Direction("a", 1, np.zeros(2)).half == 1.0
