"""Findings of a routed text: the experts of a token, the load of a layer, and whether equal tokens agree."""

import math
from dataclasses import dataclass

import numpy as np

from tfcore.measures.token_text import visible
from tfcore.views.experts.routing.measure.text_routing import GroupChoice, RoutedText, TextRouting, agreement
from tfcore.views.finding import Finding, Statement, state


@dataclass(frozen=True, slots=True)
class FirstExperts(Finding):
    """The experts with the largest weight for one token.

    Args:
        token: the token.
        tokens: of the text.
        experts: layer and expert, from 0 on; None where no expert takes the token.
    """

    token: str
    tokens: int
    experts: tuple[tuple[int, int | None], ...]

    @property
    def sentence(self) -> str:
        path = ", ".join(f"{_name(expert)} in layer {layer}" for layer, expert in self.experts)
        return (
            f"The expert with the largest weight for each of {self.tokens} tokens in {len(self.experts)} layers. "
            f"'{visible(self.token)}' goes first to {path}."
        )


def _name(expert: int | None) -> str:
    return "no expert" if expert is None else f"expert {expert + 1}"


def first_experts(text: RoutedText, position: int) -> FirstExperts:
    """The way of the token at a position through the layers."""
    first = text.routing.first[:, position].tolist()
    experts = tuple((layer, None if e < 0 else e) for layer, e in zip(text.routing.layers, first, strict=True))
    return FirstExperts(text.read.tokens[position], len(text.read.ids), experts)


def largest_load(routing: TextRouting, at: int) -> Statement:
    """The busiest expert of the layer at a place among those with experts."""
    load, chosen = routing.load[at], routing.chosen[at]
    expert = int(load.argmax())
    return state(
        "largest load",
        "In layer {layer}, expert {expert} has the largest load: {load} of {tokens} tokens, {share:.0%}, where an even "
        "load would be {even:.0%}.",
        layer=routing.layers[at],
        expert=expert + 1,
        load=int(load[expert]),
        tokens=len(chosen),
        share=int(load[expert]) / len(chosen),
        even=float(chosen.mean()),
    )


@dataclass(frozen=True, slots=True)
class EqualTokens(Finding):
    """How often equal tokens have the same first expert.

    Args:
        pairs: of equal tokens in the text.
        equal, any_two: share of the pairs of equal tokens, and of all pairs, in the chosen layer.
        by_layer: share of the pairs of equal tokens in each layer.
    """

    pairs: int
    equal: float
    any_two: float
    by_layer: tuple[float, ...]

    @property
    def sentence(self) -> str:
        if not self.pairs:
            return "No token comes twice in this text, so there are no equal tokens to compare."
        if self.pairs == 1:
            have = "the same first expert" if self.equal else "different first experts"
            each = ", ".join("the same" if share else "different ones" for share in self.by_layer)
            return (
                f"One token comes twice in this text, with {have}; of any two tokens {self.any_two:.0%} have the same. "
                f"Layer by layer, the two have {each}."
            )
        by_layer = ", ".join(f"{share:.0%}" for share in self.by_layer)
        return (
            f"Of {self.pairs} pairs of equal tokens, {self.equal:.0%} have the same first expert; of any two tokens "
            f"{self.any_two:.0%}. Layer by layer, equal tokens agree in {by_layer}."
        )


def equal_tokens(text: RoutedText, at: int) -> EqualTokens:
    """Agreement of equal tokens, in the layer at a place among those with experts and in all of them."""
    same = agreement(text.read.ids, text.routing.first)
    return EqualTokens(same.pairs, float(same.equal[at]), float(same.all[at]), tuple(same.equal.tolist()))


@dataclass(frozen=True, slots=True)
class TokenExperts(Finding):
    """The experts of one token in one layer.

    Args:
        layer, position, token: which token.
        n_experts: of the layer.
        chosen: expert from 0 on, probability and weight of each that the token goes to, the most probable first.
        normalised: whether the weights sum to 1.
        by_sigmoid: whether each score became a probability by itself.
        groups: from 0 on, those that experts are taken from, and n_groups, how many there are; empty where there are
            none.
    """

    layer: int
    position: int
    token: str
    n_experts: int
    chosen: tuple[tuple[int, float, float], ...]
    normalised: bool
    by_sigmoid: bool = False
    groups: tuple[int, ...] = ()
    n_groups: int = 1

    @property
    def sentence(self) -> str:
        names = (f"expert {i + 1} ({probability:.2f}, weight {weight:.2f})" for i, probability, weight in self.chosen)
        return (
            f"Token {self.position}, '{visible(self.token)}', goes in layer {self.layer} to "
            f"{' and '.join(names) or 'no expert'}: {self._probabilities}, then {self._groups}the chosen ones' "
            f"weights{' made to sum to 1' * self.normalised}."
        )

    @property
    def _probabilities(self) -> str:
        over = "the sigmoid of each score of" if self.by_sigmoid else "softmax over"
        return f"{over} all {self.n_experts}"

    @property
    def _groups(self) -> str:
        if not self.groups:
            return ""
        numbers = " and ".join(str(i + 1) for i in self.groups)
        best = f"group {numbers} as the best" if len(self.groups) == 1 else f"groups {numbers} as the best"
        return f"{best} of {self.n_groups}, then "


def token_experts(
    text: RoutedText, at: int, position: int, by_sigmoid: bool = False, choice: GroupChoice | None = None
) -> TokenExperts:
    """The router's choice for the token at a position.

    Args:
        by_sigmoid: whether each score becomes a probability by itself.
        choice: among groups, where there are some.
    """
    routing = text.routing
    probs, weights = routing.probs[at, position], routing.weights[at, position]
    chosen = sorted(np.flatnonzero(routing.chosen[at, position]).tolist(), key=lambda expert: -probs[expert])
    return TokenExperts(
        routing.layers[at],
        position,
        text.read.tokens[position],
        len(probs),
        tuple((expert, float(probs[expert]), float(weights[expert])) for expert in chosen),
        math.isclose(weights.sum(), 1, abs_tol=1e-3),
        by_sigmoid,
        choice.groups if choice else (),
        choice.n_groups if choice else 1,
    )


def token_titles(text: RoutedText, at: int) -> list[str]:
    """For each token its experts in a layer with their weights, the largest first, in words."""
    titles, routing = [], text.routing
    for token, chosen, dropped, weights in zip(
        text.read.tokens, routing.chosen[at], routing.dropped[at], routing.weights[at], strict=True
    ):
        experts = sorted(np.flatnonzero(chosen).tolist(), key=lambda i: -weights[i])
        words = [f"expert {i + 1} " + ("has no room" if dropped[i] else f"weighs {weights[i]:.2f}") for i in experts]
        titles.append(f"{visible(token)}: {', '.join(words) or 'no expert takes it'}")
    return titles


@dataclass(frozen=True, slots=True)
class LayerLoad(Finding):
    """The smallest and the largest load of the experts of a layer.

    Args:
        layer: its number.
        n_experts: of the layer.
        tokens: of the text.
        low, high: tokens that the least busy and the busiest expert compute.
        even: tokens of each expert if all choices were spread evenly.
        room: tokens an expert takes at most; None where there is no limit.
        dropped: choices beyond it.
    """

    layer: int
    n_experts: int
    tokens: int
    low: int
    high: int
    even: float
    room: int | None
    dropped: int

    @property
    def sentence(self) -> str:
        end = f"evenly {self.even:.1f}" if self.room is None else f"capacity {self.room}, {self.dropped} dropped"
        return (
            f"Load of {self.n_experts} experts in layer {self.layer}: from {self.low} to {self.high} of {self.tokens} "
            f"tokens, {end}."
        )


def layer_load(routing: TextRouting, at: int) -> LayerLoad:
    """How evenly the experts of the layer at a place among those with experts are loaded."""
    load, (tokens, n_experts) = routing.load[at], routing.chosen[at].shape
    return LayerLoad(
        routing.layers[at],
        n_experts,
        tokens,
        int(load.min()),
        int(load.max()),
        float(routing.chosen[at].sum() / n_experts),
        routing.room,
        int(routing.dropped[at].sum()),
    )


def expert_in_text(routing: TextRouting, at: int, expert: int) -> Statement:
    """How many tokens of a text one expert takes, of the layer at a place among those with experts."""
    return state(
        "expert in text",
        "In your text expert {expert} takes {taken} of {tokens} tokens in layer {layer}.",
        expert=expert + 1,
        taken=int(routing.load[at, expert]),
        tokens=routing.chosen.shape[1],
        layer=routing.layers[at],
    )
