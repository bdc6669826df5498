"""Routing in a mixture of experts: who takes which token, other rules, shared experts, and what experts cost."""

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from tfcore import routing as routers
from tfcore.config import ModelConfig
from tfcore.experts import Experts, mix
from tfcore.files import CheckpointError
from tfcore.loading.checkpoints import shipped
from tfcore.measures import expert_scan, parameter_count
from tfcore.measures.expert_scan import ExpertScan, load_scan
from tfcore.measures.one_text import UsedTokens, last_tokens
from tfcore.measures.quantities import counted
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.presets import PRESETS
from tfcore.training.recipes.stories import STORIES_MOE
from tfcore.views.experts.routing.draw.routing import load_figure, overview_figure, preferred_figure, probs_figure
from tfcore.views.experts.routing.draw.rules import loss_changes_figure, sweep_figure
from tfcore.views.experts.routing.draw.shared import missed_figure, share_figure
from tfcore.views.experts.routing.draw.sizes import at_work, expert_strips_figure, weights_figure
from tfcore.views.experts.routing.measure import rules, text_routing, tokens
from tfcore.views.experts.routing.measure import sizes as measure_sizes
from tfcore.views.experts.routing.measure.rules import RoutingSweep
from tfcore.views.experts.routing.measure.shared import SharedWork, shared_work
from tfcore.views.experts.routing.measure.sizes import ExpertSizes
from tfcore.views.experts.routing.measure.text_routing import RoutedText, RouterChange, route
from tfcore.views.experts.routing.measure.tokens import ExpertTokens, Order
from tfcore.views.experts.routing.say import rules as say_rules
from tfcore.views.experts.routing.say import shared as say_shared
from tfcore.views.experts.routing.say import sizes as say_sizes
from tfcore.views.experts.routing.say import text as say
from tfcore.views.experts.routing.say.tokens import specialisation
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, Source, opened
from tfcore.views.view import View, view

PAPERS = (
    "The router and its top k: arXiv:1701.06538, equation 5. One expert per token and the capacity: arXiv:2101.03961, "
    "equations 2 and 3. Mixtral: arXiv:2401.04088. Expert choice: arXiv:2202.09368. Shared and finer experts: "
    "arXiv:2401.06066."
)
TRAINED = "stories-moe"
SHARED = "stories-shared"
UNTRAINED = "untrained"
TOKENS = 128  # of a text, that are read

# ---- models, texts and what was counted ----


@lru_cache(maxsize=1)
def _random_weights() -> Transformer:
    return Transformer(STORIES_MOE.model, seed=0).eval().requires_grad_(False)


def untrained() -> Any:
    """A model of TRAINED's shape with random weights, and the tokenizer it would have."""
    return _random_weights(), opened("stories")[1]


def network(model: Source) -> Any:
    """A mixture of experts, by the name UNTRAINED the one with random weights, and its tokenizer."""
    return untrained() if model == UNTRAINED else opened(model)


def _experts(model: Source) -> Any:
    return network(model)[0].config.experts


def routed_layers(model: Source) -> tuple[int, ...]:
    """The blocks that have experts."""
    config: ModelConfig = network(model)[0].config
    return config.routed_layers


def _read(reading: Reading) -> UsedTokens:
    model, tokenizer = network(reading.model)
    return last_tokens(model, tokenizer, reading.text, TOKENS)


def _routed(reading: Reading, change: RouterChange | None = None) -> RoutedText:
    read = read_of(reading)
    return RoutedText(read, route(network(reading.model)[0], read.ids, change))


def _scan() -> ExpertScan | str:
    """The counts of TRAINED over the held-out stories, or why they are not there."""
    try:
        scanned = load_scan(TRAINED)
    except CheckpointError:
        return (
            "The counts over the held-out stories are not here (experts.safetensors, beside the model); "
            "`make train RECIPE=experts` makes them in a minute. Shown instead is your text alone."
        )
    if scanned.load.shape[1] != _experts(TRAINED).n_experts:
        return "The counts over the held-out stories belong to another model. Shown instead is your text alone."
    return scanned


read_of = kept(_read, entries=128)
routed_of = kept(_routed, entries=96)
kept_scan = kept(_scan, entries=1)


def scan_of(model: Source) -> ExpertScan | None:
    """The counts over the held-out stories of a model, if there are any."""
    scanned = kept_scan() if model == TRAINED else None
    return scanned if isinstance(scanned, ExpertScan) else None


def formula(model: Source) -> str:
    """The output of a layer with experts, LaTeX: weights that sum to 1 as in Mixtral, or probabilities as they are."""
    experts = _experts(model)
    biased, own = " + b" if experts.bias_rate else "", " + b_r" if experts.bias else ""
    shared = r" + \sum_j E^{\mathrm{shared}}_j(x)" if experts.n_shared else ""
    whole = experts.softmax == "after" or experts.renormalize
    scores = r"\sigma" if experts.scores == "sigmoid" else r"\mathrm{softmax}"
    grouped = experts.kept_groups < experts.n_groups
    among = rf"_{{\text{{{experts.kept_groups} of {experts.n_groups} groups}}}}" if grouped else ""
    weight = r"\frac{p_i}{\sum_{j \in T} p_j}" if whole else "p_i"
    return (
        rf"p = {scores}(W_r x{own}), \quad T = \mathrm{{top}}_k(p{biased}){among}, \quad "
        rf"y = \sum_{{i \in T}} w_i\, E_i(x){shared}, \quad w_i = {weight}"
    )


# ---- in a text ----


@view
def who_takes_what(reading: Reading, layer: int, token: int) -> View:
    """A text through a mixture of experts: the expert with the largest weight for each token in every layer.

    Args:
        reading: the last TOKENS tokens of a text; its model a mixture of experts, or UNTRAINED.
        layer: that is marked, one of those with experts.
        token: that is marked, by its position.
    """
    routed = routed_of(reading)
    routing, at = routed.routing, routed.routing.layers.index(layer)
    labels = tick_labels(routed.read.tokens)
    height = 200 + max(0, len(routing.layers) - 4) * 22
    return View(
        key="overview",
        title="Who takes what",
        result=routed,
        chart=overview_figure(routing.first, routing.first_weight, labels, routing.layers, (at, token), height),
        min_width=max(520, 13 * len(labels)),
        findings=(say.first_experts(routed, token),),
        conclusions=(say.largest_load(routing, at), say.equal_tokens(routed, at)),
        note=f"(layer, token) = {routing.first.shape}; one column is one token on its way up.",
        table=lambda: _choices(routed),
        formula=formula(reading.model),
        papers=PAPERS,
        code=(routers.choose_experts, routers.expert_weights, mix, text_routing.route),
    )


def _choices(routed: RoutedText) -> pd.DataFrame:
    """One row for each token and expert that came together."""
    routing = routed.routing
    at, position, expert = routing.chosen.nonzero()
    return pd.DataFrame(
        {
            "layer": np.asarray(routing.layers)[at],
            "position": position,
            "token": [routed.read.tokens[i] for i in position],
            "expert": expert + 1,
            "probability": routing.probs[at, position, expert],
            "weight": routing.weights[at, position, expert],
            "dropped": routing.dropped[at, position, expert],
        }
    )


@view
def probabilities(reading: Reading, layer: int, token: int) -> View:
    """The router's distribution for one token, and how often it goes to each expert elsewhere. See who_takes_what."""
    routed, scan = routed_of(reading), scan_of(reading.model)
    routing, at = routed.routing, routed.routing.layers.index(layer)
    logits, probs, weights, chosen = (
        part[at, token] for part in (routing.logits, routing.probs, routing.weights, routing.chosen)
    )
    usual = None if scan is None else scan.share_of(at, routed.read.ids[token])
    choice = text_routing.group_choice(network(reading.model)[0], routing, at, token)
    experts = _experts(reading.model)
    by_sigmoid = experts.scores == "sigmoid"
    biased = "Each expert also has a fixed bias that counts only for the choice and keeps the load even."
    best = f"the sum of their {experts.group_best} highest dashes" if experts.group_best > 1 else "their highest dash"
    framed = f"Frames: groups that are open, the best by {best}; a dash is what is compared, the bias included."
    dots = "Diamonds: how often it goes there in the held-out stories."
    return View(
        key="probs",
        title="The router's probabilities",
        result=routed,
        chart=probs_figure(probs, weights, chosen, usual, 290, choice),
        findings=(say.token_experts(routed, at, token, by_sigmoid, choice),),
        note=" ".join(
            [biased] * (experts.bias_rate > 0) + [framed] * (choice is not None) + [dots] * (usual is not None)
        ),
        table=lambda: pd.DataFrame(
            {"expert": np.arange(1, len(probs) + 1), "score": logits, "probability": probs, "weight": weights}
        ),
    )


@view
def load(reading: Reading, layer: int, expert: int) -> View:
    """The tokens that each expert of a layer computes, beside those of its usual share of all choices.

    Args:
        reading, layer: see who_takes_what.
        expert: that is marked, from 0; -1 is none.
    """
    routing, scan = routed_of(reading).routing, scan_of(reading.model)
    at = routing.layers.index(layer)
    taken, dropped = routing.load[at], routing.dropped[at].sum(0)
    usual = None if scan is None else scan.choices[at] * taken.sum()
    dots = " Diamonds: by its share of the held-out stories." if scan is not None else ""
    return View(
        key="load",
        title="The load",
        result=routing,
        chart=load_figure(taken, dropped, routing.room, expert, usual, height=290),
        findings=(say.layer_load(routing, at),),
        note=f"A token goes to {counted(_experts(reading.model).top_k, 'expert')}.{dots}",
        table=lambda: pd.DataFrame({"expert": np.arange(1, len(taken) + 1), "tokens": taken}),
    )


# ---- the tokens of an expert ----


def tokens_of(reading: Reading, layer: int, expert: int, by: Order) -> ExpertTokens:
    """The tokens of an expert, over the held-out stories or, where these were not counted, in the text."""
    at, scan = routed_layers(reading.model).index(layer), scan_of(reading.model)
    if scan is not None:
        taken = int(scan.load[at, expert])
        counts = tokens.preferred(scan.ids, scan.sent[at, :, expert], scan.seen, taken, by, 16)
        return ExpertTokens(counts, network(reading.model)[1].tokens(counts.ids.tolist()))
    routed = routed_of(reading)
    taken_here, pieces = routed.routing.taken[at], dict(zip(routed.read.ids, routed.read.tokens, strict=True))
    ids, seen, sent = tokens.count_text(routed.read.ids, taken_here)
    counts = tokens.preferred(ids, sent[:, expert], seen, int(taken_here[:, expert].sum()), by, 16)
    return ExpertTokens(counts, [pieces[token] for token in counts.ids.tolist()])


@view
def likings(reading: Reading, layer: int, expert: int, by: Order) -> View:
    """The tokens that are most typical of an expert, which takes at least one.

    Args:
        reading, layer: see who_takes_what.
        expert: from 0.
        by: what the tokens are ordered by.
    """
    listed = tokens_of(reading, layer, expert, by)
    counts = listed.counts
    pale = " Pale: most of its occurrences go elsewhere." if by == "work" else ""
    return View(
        key="preferred",
        title="The tokens of an expert",
        result=listed,
        chart=preferred_figure(counts, tick_labels(listed.tokens), expert, by, height=430),
        findings=(specialisation(listed, layer, expert, by),),
        note=f"A token goes to {counted(_experts(reading.model).top_k, 'expert')}.{pale}",
        table=lambda: pd.DataFrame(
            {
                "token": listed.tokens,
                "goes to it": counts.sent,
                "seen": counts.seen,
                "share": counts.share,
                "of its load": counts.work,
            }
        ),
        formula=formula(reading.model),
        papers="Specialisation in larger models: arXiv:2401.04088, section 5; arXiv:2202.08906, section 7.",
        code=(tokens.preferred, expert_scan.routing_accuracy, expert_scan.scan),
    )


# ---- other rules ----

CAPACITIES = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
NOISES = (0.5, 1.0, 2.0, 4.0)


def _sweep(reading: Reading, seed: int) -> RoutingSweep:
    return rules.sweep(network(reading.model)[0], read_of(reading).ids, CAPACITIES, NOISES, seed)


sweep_of = kept(_sweep, entries=24)


@view
def changed_load(reading: Reading, change: RouterChange, layer: int) -> View:
    """The tokens that each expert of a layer computes under changed rules.

    Args:
        reading, layer: see who_takes_what.
        change: of the rules.
    """
    routing = routed_of(reading, change).routing
    at = routing.layers.index(layer)
    taken, dropped = routing.load[at], routing.dropped[at].sum(0)
    return View(
        key="load",
        title="The load",
        result=routing,
        chart=load_figure(taken, dropped, routing.room, -1, None, height=300),
        findings=(say.layer_load(routing, at),),
        table=lambda: pd.DataFrame({"expert": np.arange(1, len(taken) + 1), "tokens": taken, "dropped": dropped}),
        formula=formula(reading.model),
        papers=PAPERS,
        code=(
            routers.over_capacity,
            routers.choose_tokens,
            routers.expert_capacity,
            text_routing.rerouted,
            text_routing.noisy_scores,
        ),
    )


@view
def other_rules(reading: Reading, change: RouterChange, layer: int) -> View:
    """The same routers under other rules: by how much each token is predicted worse. See changed_load."""
    before, after = routed_of(reading), routed_of(reading, change)
    at = before.routing.layers.index(layer)
    growth, lost = rules.loss_changes(before.routing, after.routing, at)
    words = before.read.tokens
    return View(
        key="cost",
        title="Change of each token's loss",
        result=(before, after),
        chart=loss_changes_figure(tick_labels(words), growth, lost, height=300),
        min_width=420,
        findings=(say_rules.largest_loss_change(before, after),),
        note=f"Shaded: the token before it, from which it is predicted, has no expert in layer {layer}.",
        table=lambda: pd.DataFrame({"token": words, "change": growth}),
    )


@view
def one_at_a_time(reading: Reading, change: RouterChange) -> View:
    """The loss of a text, of at least two tokens, with one routing rule changed at a time. See changed_load."""
    swept, before, after = sweep_of(reading, change.seed), routed_of(reading), routed_of(reading, change)
    loss = before.routing.loss
    return View(
        key="sweep",
        title="One rule changed at a time",
        result=swept,
        chart=sweep_figure(swept, loss, after.routing.loss, height=330),
        min_width=560,
        findings=(say_rules.sweep_ends(swept, _experts(reading.model).top_k, loss),),
        table=lambda: _curves(swept),
    )


def _curves(swept: RoutingSweep) -> pd.DataFrame:
    """The numbers behind the curves."""
    rows: list[tuple[str, float, float]] = []
    rows += [("token choice, k", *pair) for pair in zip(swept.top_k, swept.tokens, strict=True)]
    rows += [("expert choice, k", *pair) for pair in zip(swept.top_k, swept.experts, strict=True)]
    rows += [("capacity factor", *pair) for pair in zip(swept.capacity, swept.cut, strict=True)]
    rows += [("noise", *pair) for pair in zip(swept.noise, swept.noisy, strict=True)]
    return pd.DataFrame(rows, columns=["changed", "to", "loss"])


# ---- shared experts ----


def _shared(reading: Reading) -> SharedWork:
    return shared_work(network(reading.model)[0], read_of(reading).ids)


shared_of = kept(_shared, entries=48)


@view
def shares(reading: Reading, layer: int) -> View:
    """The part of the shared expert in what a layer writes, token by token.

    Args:
        reading: the last TOKENS tokens of a text; its model has shared experts.
        layer: one of those with experts.
    """
    work, words, top_k = shared_of(reading), read_of(reading).tokens, _experts(reading.model).top_k
    at = work.layers.index(layer)
    share = work.share[at]
    return View(
        key="shares",
        title="The shared expert's part",
        result=work,
        chart=share_figure(tick_labels(words), share, 1 / (1 + top_k), height=280),
        min_width=max(420, 9 * len(share)),
        findings=(say_shared.shared_shares(work, words, at, top_k),),
        note="Its part along the sum of both; dotted: one of the active experts.",
        table=lambda: pd.DataFrame({"token": words, "shared": share, "chosen": 1 - share}),
        formula=(
            r"y = E^{\mathrm{shared}}(x) + \sum_{i \in \mathrm{top}_k} p_i(x)\, E_i(x), \qquad p = "
            r"\mathrm{softmax}(W_r\, x)"
        ),
        papers="Shared experts: DeepSeekMoE, arXiv:2401.06066, section 3.2.",
        code=(Experts.forward, shared_work),
    )


@view
def without_the_shared(reading: Reading) -> View:
    """A text, of at least two tokens, through a mixture with a shared expert, without it, and with it alone."""
    work, words = shared_of(reading), read_of(reading).tokens
    return View(
        key="missed",
        title="Without one of the two",
        result=work,
        chart=missed_figure(tick_labels(words), work.missing_shared, work.missing_routed, height=320),
        min_width=max(520, 12 * len(words)),
        findings=(say_shared.ablations(work, words),),
        table=lambda: pd.DataFrame(
            {"token": words[1:], "without shared": work.missing_shared, "without chosen": work.missing_routed}
        ),
    )


# ---- sizes ----

BASES = {"mixtral_8x7b": "Mixtral 8x7B", "deepseek_moe_16b": "DeepSeekMoE 16B", "ours": "our stories-moe"}
NAMED = {  # what the papers say
    "mixtral_8x7b": "The paper says 47 B and 13 B (arXiv:2401.04088, section 3).",
    "deepseek_moe_16b": "The paper says 16.4 B and about 2.8 B (arXiv:2401.06066, section 5).",
}


def config_of(base: str) -> ModelConfig:
    """The config of one of BASES, which is split and counted."""
    if base != "ours":
        return PRESETS[base]()
    config: ModelConfig = network(TRAINED if TRAINED in shipped() else UNTRAINED)[0].config
    return config


def _sizes(base: str, split: int, shared: int) -> ExpertSizes:
    return measure_sizes.expert_sizes(measure_sizes.finer(config_of(base), split, shared))


sizes_of = kept(_sizes, entries=64)


@view
def strips(base: str, split: int, shared: int) -> View:
    """The experts of one layer side by side, as wide as they are.

    Args:
        base: one of BASES.
        split: parts that every expert is cut into.
        shared: experts that every token goes to, taken from those it is routed to.
    """
    plain, now = sizes_of(base, 1, 0), sizes_of(base, split, shared)
    rows = [("as published", plain)] + ([("cut finer", now)] if now != plain else [])
    return View(
        key="strips",
        title="The experts of one layer",
        result=rows,
        chart=expert_strips_figure(rows, height=210),
        min_width=350,
        findings=(say_sizes.LayerOfExperts(BASES[base], tuple(rows)),),
        note="Which of the routed ones are active differs from token to token.",
        table=lambda: pd.DataFrame(
            [
                {
                    "": name,
                    "routed": sizes.n_experts,
                    "a token": sizes.top_k,
                    "shared": sizes.n_shared,
                    "width": sizes.width,
                    "sets": str(sizes.combinations),
                }
                for name, sizes in rows
            ]
        ),
        formula=say_sizes.count_latex(config_of(base), now),
        papers=PAPERS,
        code=(measure_sizes.finer, measure_sizes.expert_sizes, parameter_count.parameters, Experts),
    )


@view
def weights(base: str, split: int, shared: int) -> View:
    """The parameters of a mixture in memory and at work for a token, its experts cut finer. See strips."""
    plain, now = sizes_of(base, 1, 0), sizes_of(base, split, shared)
    return View(
        key="weights",
        title="Parameters in memory and at work",
        result=now,
        chart=weights_figure(now, height=270),
        findings=(say_sizes.active_parameters(now, plain),),
        note=NAMED.get(base, ""),
        table=lambda: pd.DataFrame(
            {
                "component": list(now.count.by_component),
                "in memory": list(now.count.by_component.values()),
                "at work": [at_work(now, *pair) for pair in now.count.by_component.items()],
            }
        ),
    )
