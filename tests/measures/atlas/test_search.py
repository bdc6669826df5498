"""Heads by kinds and by behaviour, in an atlas with planted heads."""

import numpy as np
import pytest

from tests.measures.atlas.test_sums import read, subject, tokenizer, windows
from tfcore.measures.atlas import search
from tfcore.measures.atlas.search import behaviour_distances, bracket_heads, nearest_heads, search_heads


@pytest.fixture
def planted():
    """An atlas in which one head goes from nouns to verbs, and another does so at the distances that it always has."""
    found = read(subject(), tokenizer(), windows())
    noun, verb = found.kinds.index("noun"), found.kinds.index("verb")
    found.counts[[noun, verb]] = search.LEAST
    found.pairs[:, :, noun, verb], found.by_position[:, :, noun, verb] = 0.1, 0.1
    found.pairs[1, 2, noun], found.pairs[1, 2, noun, verb] = 0.8, 0.4
    found.pairs[0, 1, noun, verb], found.by_position[0, 1, noun, verb] = 0.5, 0.5
    return found


def test_the_head_that_position_does_not_explain_comes_first(planted):
    first, *rest = search_heads(planted, "noun", "verb")
    assert (first.layer, first.head) == (1, 2)
    assert (first.weight, first.by_position, first.share) == pytest.approx((0.4, 0.1, 0.5))
    assert first.more == pytest.approx(0.3)
    assert len(rest) == 5
    assert len(search_heads(planted, "noun", "verb", most=2)) == 2


def test_rare_kinds_say_nothing_and_unknown_ones_are_refused(planted):
    planted.counts[planted.kinds.index("noun")] = search.LEAST - 1
    assert search_heads(planted, "noun", "verb") == []
    with pytest.raises(ValueError, match="no kind of token 'nouns' in this atlas; it has any, noun"):
        search_heads(planted, "nouns", "verb")


def test_brackets_have_a_measure_of_their_own(planted):
    planted.measures["bracket"][1, 0], planted.measures["bracket_by_position"][1, 0] = 0.9, 0.1
    first = bracket_heads(planted)[0]
    assert (first.layer, first.head, first.weight) == (1, 0, 0.9)
    planted.measures["bracket"][:] = np.nan
    assert bracket_heads(planted) == []


def test_the_nearest_head_is_the_one_that_does_the_same(planted):
    for name in ("distances", "pairs"):
        getattr(planted, name)[1, 1] = getattr(planted, name)[0, 0]
    for value in planted.measures.values():
        value[1, 1] = value[0, 0]
    near = nearest_heads(planted, 0, 0)
    assert (near[0].layer, near[0].head) == (1, 1)
    assert near[0].distance == pytest.approx(0, abs=1e-9)
    assert [one.distance for one in near] == sorted(one.distance for one in near)
    assert (0, 0) not in [(one.layer, one.head) for one in near]
    with pytest.raises(ValueError, match="layer=2 and head=0 must be below 2 and 3"):
        nearest_heads(planted, 2, 0)


def test_distances_are_symmetric_and_between_0_and_1():
    found = read(subject(), tokenizer(), windows())
    distances = np.array([behaviour_distances(found, *at).ravel() for at in np.ndindex(2, 3)])
    np.testing.assert_allclose(distances, distances.T, atol=1e-9)
    assert (distances.diagonal() == 0).all()
    assert (distances <= 1).all()
