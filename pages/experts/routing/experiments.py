"""The experiments of the page on routing."""

from collections.abc import Sequence

from jaxtyping import Float
from numpy import ndarray

from tfcore import load
from tfcore.analysis.experts.expert_sizes import ExpertSizes, LayerOfExperts, active_parameters
from tfcore.analysis.experts.expert_tokens import ExpertTokens, Order, count_text, preferred, specialisation
from tfcore.analysis.experts.routing_findings import (
    equal_tokens,
    first_experts,
    largest_load,
    layer_load,
    token_experts,
)
from tfcore.analysis.experts.routing_rules import (
    RoutingSweep,
    largest_loss_change,
    loss_changes,
    rule_effect,
    sweep_ends,
)
from tfcore.analysis.experts.shared_experts import SharedWork, ablations, shared_shares, shared_work
from tfcore.analysis.experts.text_routing import RoutedText, RouterChange, TextRouting, route
from tfcore.figures.experts.expert_sizes import expert_strips_figure, weights_figure
from tfcore.figures.experts.routing import load_figure, overview_figure, preferred_figure, probs_figure
from tfcore.figures.experts.routing_rules import loss_changes_figure, sweep_figure
from tfcore.figures.experts.shared_experts import missed_figure, share_figure
from tfcore.figures.shown import Shown
from tfcore.measures.expert_scan import ExpertScan
from tfcore.measures.one_text import FirstTokens, first_tokens
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.training.recipes.stories import STORIES_MOE


def mixture(model_name: str) -> tuple[Transformer, Tokenizer]:
    """A mixture of experts with its tokenizer; "untrained" is one with random weights."""
    model, tokenizer = load("stories" if model_name == "untrained" else model_name)
    assert tokenizer is not None
    if model_name == "untrained":
        model = Transformer(STORIES_MOE.model, seed=0).eval().requires_grad_(False)
    return model, tokenizer


def routed(
    network: tuple[Transformer, Tokenizer], text: str, limit: int, change: RouterChange | None = None
) -> RoutedText:
    """The first tokens of a text, and what the routers do with them, as trained or with a change."""
    model, tokenizer = network
    read = first_tokens(model, tokenizer, text, limit)
    return RoutedText(read, route(model, read.ids, change))


def who_takes_what(found: RoutedText, at: int, token: int) -> Shown:
    """A text through a mixture of experts: the expert with the largest weight for each token in every layer."""
    routing, layers = found.routing, found.routing.layers
    height = 200 + max(0, len(layers) - 4) * 22
    labels = tick_labels(found.read.tokens)
    figure = overview_figure(routing.first, routing.first_weight, labels, layers, (at, token), height)
    return Shown(figure, (first_experts(found, token), largest_load(routing, at), equal_tokens(found, at)))


def probabilities(found: RoutedText, usual: Float[ndarray, " expert"] | None, at: int, token: int) -> Shown:
    """The router's distribution for one token, and how often it goes to each expert elsewhere."""
    probs, weights, chosen = (
        part[at, token] for part in (found.routing.probs, found.routing.weights, found.routing.chosen)
    )
    return Shown(probs_figure(probs, weights, chosen, usual, height=290), (token_experts(found, at, token),))


def loads(
    routing: TextRouting, at: int, expert: int, choices: Float[ndarray, "layer expert"] | None, height: int
) -> Shown:
    """The tokens that each expert of a layer computes, beside those of its usual share of all choices."""
    taken, dropped = routing.load[at], routing.dropped[at].sum(0)
    usual = None if choices is None else choices[at] * taken.sum()
    return Shown(load_figure(taken, dropped, routing.room, expert, usual, height), (layer_load(routing, at),))


def counted_stories(tokenizer: Tokenizer, scan: ExpertScan, at: int, expert: int, by: Order) -> ExpertTokens:
    """The tokens of an expert, counted over stories that the model was not trained on."""
    counts = preferred(scan.ids, scan.sent[at, :, expert], scan.seen, int(scan.load[at, expert]), by, 16)
    return ExpertTokens(counts, tokenizer.tokens(counts.ids.tolist()))


def counted_text(found: RoutedText, at: int, expert: int, by: Order) -> ExpertTokens:
    """The tokens of an expert, counted in one text."""
    taken, pieces = found.routing.taken[at], dict(zip(found.read.ids, found.read.tokens, strict=True))
    ids, seen, sent = count_text(found.read.ids, taken)
    counts = preferred(ids, sent[:, expert], seen, int(taken[:, expert].sum()), by, 16)
    return ExpertTokens(counts, [pieces[token] for token in counts.ids.tolist()])


def likings(found: ExpertTokens, layer: int, expert: int, by: Order) -> Shown:
    """The tokens that are most typical of an expert."""
    figure = preferred_figure(found.counts, tick_labels(found.tokens), expert, by, height=430)
    return Shown(figure, (specialisation(found, layer, expert, by),))


def compared(
    network: tuple[Transformer, Tokenizer], text: str, limit: int, change: RouterChange
) -> tuple[RoutedText, RoutedText]:
    """The same text routed as trained and under changed rules, the whole model run again."""
    return routed(network, text, limit), routed(network, text, limit, change)


def other_rules(runs: tuple[RoutedText, RoutedText], change: RouterChange, at: int) -> Shown:
    """The same routers under other rules: by how much each token is predicted worse."""
    before, after = runs
    growth, lost = loss_changes(before.routing, after.routing, at)
    figure = loss_changes_figure(tick_labels(before.read.tokens), growth, lost, height=300)
    effect = rule_effect(before.routing, after.routing, change, at)
    return Shown(figure, (largest_loss_change(before, after), effect))


def one_at_a_time(found: RoutingSweep, before: float, after: float, top_k: int) -> Shown:
    """The loss of a text with one routing rule changed at a time."""
    return Shown(sweep_figure(found, before, after, height=330), (sweep_ends(found, top_k, before),))


def shared_in(model: Transformer, tokenizer: Tokenizer, text: str, limit: int) -> SharedWork:
    """What the shared expert does for the first tokens of a text."""
    return shared_work(model, first_tokens(model, tokenizer, text, limit).ids)


def shares(work: SharedWork, read: FirstTokens, at: int, top_k: int) -> Shown:
    """The part of the shared expert in what a layer writes, token by token."""
    figure = share_figure(tick_labels(read.tokens), work.share[at], 1 / (1 + top_k), height=280)
    return Shown(figure, (shared_shares(work, read.tokens, at, top_k),))


def without_the_shared(work: SharedWork, read: FirstTokens) -> Shown:
    """A text through a mixture with a shared expert, then without it, then with it alone."""
    figure = missed_figure(tick_labels(read.tokens), work.missing_shared, work.missing_routed, height=320)
    return Shown(figure, (ablations(work, read.tokens),))


def strips(model: str, rows: Sequence[tuple[str, ExpertSizes]]) -> Shown:
    """The experts of one layer side by side, as wide as they are."""
    return Shown(expert_strips_figure(rows, height=210), (LayerOfExperts(model, tuple(rows)),))


def sizes(found: ExpertSizes, published: ExpertSizes) -> Shown:
    """The parameters of a mixture in memory and at work for a token, its experts cut finer and some of them shared."""
    return Shown(weights_figure(found, height=270), (active_parameters(found, published),))
