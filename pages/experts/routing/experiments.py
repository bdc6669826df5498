"""The experiments of the page on routing."""

from tfcore import load
from tfcore.analysis.experts.expert_scan import load_scan, of_text, preferred
from tfcore.analysis.experts.expert_sizes import expert_sizes, finer
from tfcore.analysis.experts.routing_rules import cost
from tfcore.analysis.experts.shared_experts import shared_work
from tfcore.analysis.experts.text_routing import RouterChange, agreement, route
from tfcore.config import ModelConfig
from tfcore.figures.experts.expert_sizes import weights_figure
from tfcore.figures.experts.routing import overview_figure, preferred_figure
from tfcore.figures.experts.routing_rules import loss_changes_figure
from tfcore.figures.experts.shared_experts import missed_figure
from tfcore.figures.theme import Figure
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.training.recipes.stories import STORIES_MOE


def mixture(model_name: str) -> tuple[Transformer, Tokenizer | None]:
    """A mixture of experts with its tokenizer; "untrained" is one with random weights."""
    if model_name != "untrained":
        return load(model_name)
    return Transformer(STORIES_MOE.model, seed=0).eval().requires_grad_(False), load("stories")[1]


def who_takes_what(model_name: str, text: str, tokens: int, layer: int, token: int) -> Figure:
    """A text through a mixture of experts: the expert with the largest weight for each token in every layer."""
    model, tokenizer = mixture(model_name)
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    found, first_layer = route(model, ids), model.config.experts.dense_layers
    for i, load_of_layer in enumerate(found.load):
        print(f"layer {first_layer + i}: tokens of each expert {load_of_layer.tolist()}")
    pairs = agreement(ids, found.first)
    print(f"of {pairs.pairs} pairs of equal tokens, the same first expert by layer: {pairs.equal.round(2).tolist()}")
    layers = range(first_layer, model.config.n_layers)

    return overview_figure(
        found.first, found.first_weight, tokenizer.tokens(ids), layers, (layer - first_layer, token), height=240
    )


def likings(model_name: str, at: int, expert: int, by: str) -> Figure:
    """The tokens that an expert likes, counted over stories that the model was not trained on."""
    scan, tokenizer = load_scan(model_name), load(model_name)[1]
    print(f"{scan.tokens:,} tokens; this expert takes {scan.choices[at, expert]:.1%} of all choices")
    load_of_it = int(scan.load[at, expert])
    found = preferred(scan.ids, scan.sent[at, :, expert], scan.seen, load_of_it, by, 16)

    return preferred_figure(found, tokenizer.tokens(found.ids.tolist()), expert, by, height=430)


def likings_in_a_text(model_name: str, text: str, tokens: int, at: int, expert: int, by: str) -> Figure:
    """The tokens of a text that an expert takes."""
    model, tokenizer = mixture(model_name)
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    taken = route(model, ids).taken[at]
    seen_ids, seen, sent = of_text(ids, taken)
    print(f"{int(taken[:, expert].sum())} of {len(ids)} tokens go to this expert")
    found = preferred(seen_ids, sent[:, expert], seen, int(taken[:, expert].sum()), by, 16)

    return preferred_figure(found, tokenizer.tokens(found.ids.tolist()), expert, by, height=430)


def other_rules(model_name: str, text: str, tokens: int, at: int, change: RouterChange) -> Figure:
    """The same routers under other rules, the whole model run again: what each token's prediction loses."""
    model, tokenizer = mixture(model_name)
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    before, after = route(model, ids), route(model, ids, change)
    print(f"loss {before.loss:.3f} as trained, {after.loss:.3f} nats per token now")
    print(f"{int(after.dropped.sum())} of {int(after.chosen.sum())} choices dropped for want of room")
    # A token is predicted from the one before it: did that one lose its expert?
    difference, lost = cost(before, after, at)

    return loss_changes_figure(tokenizer.tokens(ids), difference, lost, height=300)


def without_the_shared(model_name: str, text: str, tokens: int) -> Figure:
    """A text through a mixture with a shared expert, then without it, then with it alone."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    found = shared_work(model, ids)
    for layer, share in zip(found.layers, found.share, strict=True):
        print(f"layer {layer}: the shared expert writes {share.mean():.0%} of what the layer writes")
    print(f"loss {found.losses.mean():.3f} as trained, {found.without_shared.mean():.3f} without the shared expert")
    print(f"and {found.without_routed.mean():.3f} nats per token without the chosen ones")

    return missed_figure(
        tokenizer.tokens(ids), found.without_shared - found.losses, found.without_routed - found.losses, height=300
    )


def sizes(config: ModelConfig, split: int, shared: int) -> Figure:
    """What a mixture of experts has in memory and what a token uses, its experts cut finer and some of them shared."""
    found = expert_sizes(finer(config, split, shared))
    total, active = found.count.total, found.count.active
    print(f"{total:,} parameters, {active:,} at work for a token: {active / total:.1%}")
    print(f"{found.n_experts} experts of width {found.width:,}, {found.top_k} for a token: {found.combinations:,} sets")

    return weights_figure(found, height=250)
