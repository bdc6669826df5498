"""Edges between heads against full runs with one input edited, small steps, and a circuit wired by hand."""

import numpy as np
import pytest
import torch

from tests import small
from tests.foundations.heads.measure.test_kinds import wired
from tests.nightly import nightly, often_named
from tests.real import real
from tfcore.attention import clipped
from tfcore.inspection.edits import Edit
from tfcore.loading.checkpoints import load
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.heads.induction_heads import head_kinds, random_rows
from tfcore.views.inside.circuits.measure.head_circuits import circuits_alone
from tfcore.views.inside.circuits.measure.head_edges import (
    INPUTS,
    Edge,
    cut_each,
    effect_of,
    estimate_edges,
    strongest_edges,
)

TEXT, OTHER = (small.ids(1, 9, seed=seed)[0].tolist() for seed in (0, 1))
DIFFERENCE = Quantity("difference", 7, 30)
BASELINES = ["zero", "mean", tuple(OTHER)]
WIRINGS = {
    "like stories": {"n_layers": 3},
    "like GPT-2": {**small.WIRINGS["like GPT-2"], "n_layers": 3},
    "parallel": {"parallel": True},
    "attention alone": small.WIRINGS["attention alone"],
    "ALiBi, window": {"positions": "alibi", "window": 4},
    "sinks": {"attn_sinks": True, "window": 4},
    "QK-norm": {"qk_norm": True, "positions": "rope"},
    "QK-norm of each head, cut off": {"qk_norm": "each", "attn_clip": 0.1},
    "ALiBi by key": {"positions": "alibi", "alibi_by_key": True},
}
named = pytest.mark.parametrize("baseline", BASELINES, ids=["zero", "mean", "another text"])


def every_edge(model):
    layers, heads = range(model.config.n_layers), range(model.config.attention.n_heads)
    pairs = [((a, h), (b, i)) for b in layers for a in range(b) for h in heads for i in heads]
    return [Edge(*pair, kind) for pair in pairs for kind in INPUTS]


def exact(model, ids, quantity, baseline, edges):
    cuts = list(cut_each(model, ids, quantity, baseline, edges))
    return {edge: effect for cut in cuts for edge, effect in zip(cut.edges, cut.effects, strict=True)}


def difference(model, edits=(), ids=TEXT, quantity=DIFFERENCE):
    logits = model(torch.tensor([ids]), edits=edits).logits[0, -1]
    return float(logits[quantity.token] - logits[quantity.against])


def taken_out(model, edge, baseline, share=1.0):
    """The edit of q, k or v when a share of the edge is cut: what the sender writes is taken from `attn.result`."""
    (below, sender), (layer, receiver), kind = edge.sender, edge.receiver, edge.input
    name = f"blocks.{below}.attn.result"
    found = model(torch.tensor([TEXT]), capture=(name, f"blocks.{layer}.resid_pre")).activations
    wrote = found[name][:, :, sender]
    if baseline == "mean":
        wrote = wrote - wrote.mean(1, keepdim=True)
    elif baseline != "zero":
        wrote = wrote - model(torch.tensor([list(baseline)]), capture=(name,)).activations[name][:, :, sender]
    block, config = model.decoder.blocks[layer], model.config
    x = block.ln1(found[f"blocks.{layer}.resid_pre"] - share * wrote)
    read = clipped(block.attn.qkv(x), config.attention.clip)
    parts = block.attn.heads(read, config.attention.n_heads, config.attention.kv_heads, config.attention.kv_heads)
    q, k, v = block.attn.q_norm(parts[0]), block.attn.k_norm(parts[1]), parts[2]
    value = {"query": q, "key": k, "value": v}[kind]
    return Edit.replace(f"blocks.{layer}.attn.{kind[0]}", value[:, [receiver]], heads=[receiver])


def made(**values):
    """A small model in float64, with biases that are no longer zeros."""
    model, drawn = small.model(**values).double(), torch.Generator().manual_seed(5)
    for name, weight in model.named_parameters():
        if name.endswith("bias"):
            weight += 0.3 * torch.randn(weight.shape, generator=drawn)
    return model


@pytest.mark.usefixtures("unchecked")  # so many runs
@named
@pytest.mark.parametrize("values", often_named(WIRINGS, "QK-norm", "ALiBi, window"))
def test_the_effect_is_that_of_a_full_run_with_one_input_edited(values, baseline):
    model = made(**values)
    edges = every_edge(model)
    found = exact(model, TEXT, DIFFERENCE, baseline, edges)
    assert set(found) == set(edges)
    for edge in edges[::13]:
        expected = difference(model) - difference(model, [taken_out(model, edge, baseline)])
        assert found[edge] == pytest.approx(expected, abs=1e-5)


@pytest.mark.usefixtures("unchecked")  # so many runs
@named
@pytest.mark.parametrize("values", often_named(WIRINGS, "QK-norm", "ALiBi, window"))
def test_the_estimate_is_the_slope_of_a_small_step(values, baseline):
    model, step = made(**values), 1e-4
    effects = estimate_edges(model, TEXT, DIFFERENCE, baseline)
    for edge in every_edge(model)[::19]:
        there, back = (difference(model, [taken_out(model, edge, baseline, share)]) for share in (step, -step))
        assert effect_of(effects, edge) == pytest.approx((back - there) / (2 * step), rel=2e-3, abs=2e-5)


def test_shared_keys_and_values_are_read_by_one_head_alone():
    """Grouped queries: the same as with the keys and values of each head written out."""
    grouped = small.model(n_kv_heads=3, n_layers=3)
    plain = small.model(n_layers=3)
    own = grouped.state_dict()
    for name, weight in own.items():
        if "qkv" in name:
            parts = weight.unflatten(0, (-1, 4)).split((6, 3, 3))
            own[name] = torch.cat([parts[0], *(part.repeat_interleave(2, 0) for part in parts[1:])]).flatten(0, 1)
    plain.load_state_dict(own)
    found, expected = (estimate_edges(model, TEXT, DIFFERENCE, "mean") for model in (grouped, plain))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    edges = every_edge(plain)[::5]
    cuts, known = (exact(model, TEXT, DIFFERENCE, "mean", edges) for model in (grouped, plain))
    assert cuts == pytest.approx(known, abs=1e-4)


@pytest.mark.parametrize("baseline", BASELINES, ids=["zero", "mean", "another text"])
@pytest.mark.parametrize("values", [{"n_layers": 3, "n_kv_heads": 3}, {"parallel": True, "norm": "layernorm"}])
def test_with_all_edges_a_circuit_is_the_whole_model(values, baseline):
    model = small.model(**values)
    edges = every_edge(model)
    all_of_them = circuits_alone(model, TEXT, DIFFERENCE, baseline, edges, [0, len(edges)])
    assert all_of_them[1] == pytest.approx(difference(model), abs=1e-3)
    assert abs(all_of_them[0] - all_of_them[1]) > 1e-2


def test_in_two_layers_all_but_one_edge_is_that_edge_cut_alone():
    model = small.model()
    edges = every_edge(model)
    for edge in edges[::13]:
        rest = [one for one in edges if one != edge]
        [left] = circuits_alone(model, TEXT, DIFFERENCE, "mean", rest, [len(rest)])
        assert difference(model) - left == pytest.approx(exact(model, TEXT, DIFFERENCE, "mean", [edge])[edge], abs=1e-3)


def test_each_row_has_its_own_circuit():
    model, edges = small.model(n_layers=3, n_kv_heads=3), every_edge(small.model(n_layers=3))[::4]
    together = circuits_alone(model, TEXT, DIFFERENCE, tuple(OTHER), edges, [0, 3, 9, 20])
    alone = [circuits_alone(model, TEXT, DIFFERENCE, tuple(OTHER), edges[:n], [n])[0] for n in (0, 3, 9, 20)]
    np.testing.assert_allclose(together, alone, atol=1e-4)


def test_the_strongest_are_those_of_a_loop():
    effects = estimate_edges(small.model(n_layers=3), TEXT, DIFFERENCE, "zero")
    by_hand = sorted(every_edge(small.model(n_layers=3)), key=lambda edge: -abs(effect_of(effects, edge)))
    assert strongest_edges(effects, 12) == by_hand[:12]
    assert len(strongest_edges(effects, 10_000)) == len(by_hand)
    assert strongest_edges(0 * effects, 12) == []
    assert effects[:, 0].any() == effects[:, 1, :, 1:].any() == effects[:, 2, :, 2:].any() == False  # noqa: E712


def soft_circuit():
    """Previous-token head and induction head, wired by hand, with attention that is not saturated; text, other text."""
    model = wired()
    model.decoder.blocks[1].attn.qkv.weight[:400] *= 0.03
    *row, spare = random_rows(200, 13, 1, 0)[0].tolist()
    text = row + row[:7]
    other = [*row[:6], spare, *row[7:], *row[:7]]  # what the last token is an induction from is not there
    return model, text, other, Quantity("difference", row[7], row[3])


@pytest.mark.parametrize("how", ["integrated gradients", "exact"])
def test_the_planted_circuit_is_found(how):
    """From the previous-token head to the induction head by K; nothing else reaches a tenth of it, of the estimate a
    quarter."""
    model, text, other, quantity = soft_circuit()
    edges = [Edge((0, 0), (1, 0), kind) for kind in INPUTS]
    estimate = estimate_edges(model, text, quantity, tuple(other), steps=8)
    found = exact(model, text, quantity, tuple(other), edges)
    effects = [effect_of(estimate, edge) if how != "exact" else found[edge] for edge in edges]
    assert np.argmax(np.abs(effects)) == 1
    assert effects[1] > 1
    assert max(abs(effects[0]), abs(effects[2])) < effects[1] / (10 if how == "exact" else 4)
    none, kept = circuits_alone(model, text, quantity, tuple(other), edges[1:2], [0, 1])
    assert none < 0.2 * difference(model, ids=text, quantity=quantity)
    assert kept == pytest.approx(difference(model, ids=text, quantity=quantity), rel=0.02)


def test_keys_of_the_shipped_model_read_its_previous_token_heads():
    """Over 12 texts: of the key edges, those from previous-token heads to induction heads come first."""
    model, _ = load("induction", device="cpu")
    kinds = head_kinds(model)
    edges = [edge for edge in every_edge(model) if edge.input == "key"]
    total = dict.fromkeys(edges, 0.0)
    for seed in range(12):
        *row, spare = random_rows(256, 26, 1, seed)[0].tolist()
        other = [*row[:12], spare, *row[13:], *row[:13]]
        found = exact(model, row + row[:13], Quantity("difference", row[13], row[17]), tuple(other), edges)
        total = {edge: total[edge] + found[edge] / 12 for edge in edges}
    first = sorted(edges, key=lambda edge: -abs(total[edge]))[:8]
    assert {edge.sender for edge in first} == set(kinds.previous) == {(0, 2), (0, 3)}
    assert {edge.receiver for edge in first} == set(kinds.induction)
    assert min(total[edge] for edge in first) > 3 * max(abs(total[edge]) for edge in edges if edge not in first)


def test_integrated_gradients_are_the_mean_over_mixed_embeddings():
    model = small.model(n_layers=3).double()
    here, there = model.embed.weight[TEXT].clone(), model.embed.weight[OTHER].clone()
    found = estimate_edges(model, TEXT, DIFFERENCE, tuple(OTHER), steps=2)
    edge = Edge((0, 2), (2, 4), "query")
    step, slopes = 1e-4, []
    name = "blocks.0.attn.result"
    wrote = [model(torch.tensor([ids]), capture=(name,)).activations[name][:, :, 2] for ids in (TEXT, OTHER)]
    for share in (0.25, 0.75):
        mixed = Edit.replace("embed", (there + share * (here - there))[None])
        stream = model(torch.tensor([TEXT]), capture=("blocks.2.resid_pre",), edits=[mixed]).activations

        def moved(by, mixed=mixed, stream=stream):
            block = model.decoder.blocks[2]
            x = block.ln1(stream["blocks.2.resid_pre"] + by * (wrote[0] - wrote[1]))
            q = block.attn.heads(block.attn.qkv(x), 6, 6, 6)[0][:, [4]]
            return difference(model, [mixed, Edit.replace("blocks.2.attn.q", q, heads=[4])])

        slopes.append((moved(step) - moved(-step)) / (2 * step))
    assert effect_of(found, edge) == pytest.approx(sum(slopes) / 2, rel=2e-3, abs=1e-5)


def test_what_has_no_edges_is_refused():
    for values, words in (({"norm_placement": "sandwich"}, "normalises"), ({"n_layers": 1}, "one layer")):
        with pytest.raises(ValueError, match=words):
            estimate_edges(small.model(**values), TEXT, DIFFERENCE, "zero")
    with pytest.raises(ValueError, match="5 steps of integrated gradients"):
        estimate_edges(small.model(), TEXT, DIFFERENCE, "zero", steps=5)
    with pytest.raises(ValueError, match="9 and 4 tokens"):
        estimate_edges(small.model(), TEXT, DIFFERENCE, (1, 2, 3, 4))


def test_nothing_stays_on_the_model():
    model = small.model()
    with torch.no_grad():
        one = estimate_edges(model, TEXT, DIFFERENCE, "mean")
    np.testing.assert_array_equal(one, estimate_edges(model, TEXT, DIFFERENCE, "mean"))
    assert all(p.grad is None and not p.requires_grad for p in model.parameters())


@nightly
def test_smollm2_copies_the_name_through_the_queries_of_its_name_movers(real_models):
    """Mary or John: 23.3 moves the name, and 20.0 tells its layer by Q which of the two came twice."""
    model, tokenizer = real("smollm2")
    john, mary = (
        tuple(tokenizer.encode(f"When Mary and John went to the store, {name} gave a drink to"))
        for name in ("John", "Mary")
    )
    quantity = Quantity("difference", *(tokenizer.encode(name)[0] for name in (" Mary", " John")))
    estimate = estimate_edges(model, john, quantity, mary)
    edges = strongest_edges(estimate, 24)
    found = exact(model, john, quantity, mary, edges)
    first = max(edges, key=lambda edge: found[edge])
    assert first == Edge((23, 3), (29, 1), "value")
    assert found[Edge((20, 0), (23, 2), "query")] > 1
    assert np.corrcoef([effect_of(estimate, edge) for edge in edges], [found[edge] for edge in edges])[0, 1] > 0.9
