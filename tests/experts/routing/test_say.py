"""What is said of a routed text is what loops over its tokens find."""

import numpy as np
import pytest

from tests.experts.routing.random_routing import IDS, LAYERS, N_EXPERTS, TOKENS, routed
from tfcore.views.experts.routing.say.text import (
    EqualTokens,
    FirstExperts,
    LayerLoad,
    TokenExperts,
    equal_tokens,
    expert_in_text,
    first_experts,
    largest_load,
    layer_load,
    token_experts,
    token_titles,
)


def experts_of(text, at, token):
    """The experts that compute a token, and their probabilities."""
    routing = text.routing
    taken = [e for e in range(N_EXPERTS) if routing.chosen[at, token, e] and not routing.dropped[at, token, e]]
    return {e: float(routing.probs[at, token, e]) for e in taken}


@pytest.mark.parametrize("seed", range(4))
def test_the_first_experts_of_a_token(seed):
    text = routed(seed, drop=0.5)
    for token in range(len(IDS)):
        wanted = []
        for at, layer in enumerate(LAYERS):
            taken = experts_of(text, at, token)
            wanted.append((layer, max(taken, key=taken.get) if taken else None))
        assert first_experts(text, token) == FirstExperts(TOKENS[token], len(IDS), tuple(wanted))


@pytest.mark.parametrize("seed", range(4))
def test_the_loads_of_a_layer(seed):
    text = routed(seed, room=3, drop=0.3)
    for at, layer in enumerate(LAYERS):
        load = [sum(e in experts_of(text, at, token) for token in range(len(IDS))) for e in range(N_EXPERTS)]
        found = largest_load(text.routing, at)
        share = f"{max(load)} of {len(IDS)} tokens, {max(load) / len(IDS):.0%}"
        assert str(found) == (
            f"In layer {layer}, expert {load.index(max(load)) + 1} has the largest load: {share}, where an even load "
            "would be 50%."
        )
        dropped = int(text.routing.dropped[at].sum())
        wanted = LayerLoad(layer, N_EXPERTS, len(IDS), min(load), max(load), 2 * len(IDS) / N_EXPERTS, 3, dropped)
        assert layer_load(text.routing, at) == wanted
        for expert in range(N_EXPERTS):
            one = expert_in_text(text.routing, at, expert)
            assert str(one) == (
                f"In your text expert {expert + 1} takes {load[expert]} of {len(IDS)} tokens in layer {layer}."
            )


def test_equal_tokens_are_compared_in_the_chosen_layer():
    text = routed(3, drop=0.2)
    pairs = [(i, j) for j in range(len(IDS)) for i in range(j)]
    first = [[first_experts(text, token).experts[at][1] for token in range(len(IDS))] for at in range(3)]

    def share(at, some):
        return sum(first[at][i] == first[at][j] is not None for i, j in some) / len(some)

    equal = [(i, j) for i, j in pairs if IDS[i] == IDS[j]]
    for at in range(3):
        found = equal_tokens(text, at)
        assert found.pairs == len(equal)
        assert (found.equal, found.any_two) == (pytest.approx(share(at, equal)), pytest.approx(share(at, pairs)))
        assert found.by_layer == pytest.approx([share(at, equal) for at in range(3)])
    assert len(set(found.by_layer)) > 1


def test_the_experts_of_one_token():
    text = routed(1)
    probs = text.routing.probs[2, 6]
    best, second = sorted(range(N_EXPERTS), key=lambda e: -probs[e])[:2]
    chosen = tuple((e, pytest.approx(probs[e]), pytest.approx(text.routing.weights[2, 6, e])) for e in (best, second))
    assert token_experts(text, 2, 6) == TokenExperts(3, 6, TOKENS[6], N_EXPERTS, chosen, False)
    text.routing.weights[2, 6] /= text.routing.weights[2, 6].sum()
    assert token_experts(text, 2, 6).normalised


def test_titles_name_experts_by_weight_and_those_without_room():
    text = routed()
    text.routing.chosen[1, :2] = [[True, False, True, False], [False] * 4]
    text.routing.dropped[1, :2] = [[False, False, True, False], [False] * 4]
    text.routing.weights[1, :2] = [[0.75, 0, 0, 0], [0] * 4]
    titles = token_titles(text, 1)
    assert titles[:2] == ["·t5: expert 1 weighs 0.75, expert 3 has no room", "·t9: no expert takes it"]
    assert len(titles) == len(IDS)


def test_sentences():
    assert str(FirstExperts(" dog", 80, ((0, 2), (1, None)))) == (
        "The expert with the largest weight for each of 80 tokens in 2 layers. '·dog' goes first to expert 3 in layer "
        "0, no expert in layer 1."
    )
    assert str(EqualTokens(30, 0.5, 0.25, (0.75, 0.5))) == (
        "Of 30 pairs of equal tokens, 50% have the same first expert; of any two tokens 25%. Layer by layer, equal "
        "tokens agree in 75%, 50%."
    )
    assert str(EqualTokens(1, 1.0, 0.25, (1.0, 0.0))) == (
        "One token comes twice in this text, with the same first expert; of any two tokens 25% have the same. Layer by "
        "layer, the two have the same, different ones."
    )
    assert str(EqualTokens(0, np.nan, 0.25, (np.nan,))) == (
        "No token comes twice in this text, so there are no equal tokens to compare."
    )
    assert str(TokenExperts(1, 7, "a", 8, ((2, 0.5, 0.625), (0, 0.25, 0.375)), True)) == (
        "Token 7, 'a', goes in layer 1 to expert 3 (0.50, weight 0.62) and expert 1 (0.25, weight 0.38): softmax over "
        "all 8, then the chosen ones' weights made to sum to 1."
    )
    assert str(TokenExperts(1, 7, "a", 8, (), False)) == (
        "Token 7, 'a', goes in layer 1 to no expert: softmax over all 8, then the chosen ones' weights."
    )
    assert str(TokenExperts(1, 7, "a", 8, ((2, 0.5, 0.5),), False, True, (0, 2), 4)) == (
        "Token 7, 'a', goes in layer 1 to expert 3 (0.50, weight 0.50): the sigmoid of each score of all 8, then "
        "groups 1 and 3 as the best of 4, then the chosen ones' weights."
    )
    assert str(LayerLoad(1, 8, 80, 3, 40, 20.0, None, 0)) == (
        "Load of 8 experts in layer 1: from 3 to 40 of 80 tokens, evenly 20.0."
    )
    assert str(LayerLoad(1, 8, 80, 3, 10, 20.0, 10, 31)) == (
        "Load of 8 experts in layer 1: from 3 to 10 of 80 tokens, capacity 10, 31 dropped."
    )
