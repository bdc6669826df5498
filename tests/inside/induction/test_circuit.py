"""Composition scores against the large products written out, and path patching of a circuit wired by hand."""

import numpy as np
import pytest
import torch

from tests import small
from tests.foundations.heads.measure.test_kinds import wired
from tfcore.measures.heads.compositions import (
    INPUTS,
    Composition,
    compose,
    composition,
    frobenius,
    head_weights,
    random_composition,
    random_draws,
    theory,
)
from tfcore.measures.heads.induction_heads import copying, random_rows, twice, zeroed_heads
from tfcore.views.inside.induction.measure.circuit import PatchedRun, drawn_every, edits_of_receivers, patch_paths
from tfcore.views.inside.induction.say.circuit import (
    circuit_composition,
    decisive_input,
    drawn_pairs,
    highest_composition,
    patched_losses,
)


def by_hand(model, later, head, earlier, other):
    """||A B|| / (||A|| ||B||) from d_model x d_model matrices, head by head, straight from the parameters."""
    c = model.config

    def circuits(layer, h):
        attn, gain = model.decoder.blocks[layer].attn, model.decoder.blocks[layer].ln1.weight
        d, group = c.head_size, c.attention.n_heads // c.attention.kv_heads
        w, kv = attn.qkv.weight, h // group
        q = w[h * d : (h + 1) * d] * gain
        k = w[(c.attention.n_heads + kv) * d : (c.attention.n_heads + kv + 1) * d] * gain
        v = (
            w[
                (c.attention.n_heads + c.attention.kv_heads + kv) * d : (
                    c.attention.n_heads + c.attention.kv_heads + kv + 1
                )
                * d
            ]
            * gain
        )
        return q.T @ k, attn.out.weight[:, h * d : (h + 1) * d] @ v

    (qk, ov), (_, wrote) = circuits(later, head), circuits(earlier, other)
    products = {"query": (qk.T, wrote), "key": (qk, wrote), "value": (ov, wrote)}
    return {kind: float((a @ b).norm() / (a.norm() * b.norm())) for kind, (a, b) in products.items()}


@pytest.mark.parametrize("kv_heads", [6, 3, 1])
def test_scores_equal_the_products_written_out(kv_heads):
    model = small.model(n_layers=3, n_kv_heads=kv_heads)
    for block in model.decoder.blocks:
        block.ln1.weight.uniform_(0.5, 2.0)
    found = composition(model, 2)
    for head, earlier, other in ((0, 0, 0), (5, 1, 2), (3, 0, 4)):
        for kind, score in by_hand(model, 2, head, earlier, other).items():
            assert found.scores[kind][head, earlier, other] == pytest.approx(score, rel=1e-4)
    assert all(found.scores[kind].shape == (6, 2, 6) for kind in INPUTS)


def test_a_centred_norm_hides_what_all_directions_share():
    model = small.model(norm="layernorm", n_layers=2)
    assert float(head_weights(model, 1).k.sum(-1).abs().max()) < 1e-5


def test_frobenius_of_a_thin_product():
    a, b = torch.randn(3, 20, 4), torch.randn(3, 4, 30)
    torch.testing.assert_close(frobenius(a, b), torch.linalg.matrix_norm(a @ b))


def test_rounding_leaves_no_square_below_zero():
    """Of products that are 0 but for rounding, the squares sum up to less than 0 as often as to more."""
    mixed = torch.randn(64, 3, 4, generator=torch.Generator().manual_seed(0))
    a = torch.randn(64, 20, 3, generator=torch.Generator().manual_seed(1)) @ mixed
    none = torch.linalg.svd(mixed)[2][:, -1:].mT  # what `mixed` maps to 0
    b = none @ torch.randn(64, 1, 30, generator=torch.Generator().manual_seed(2))
    assert (((a.mT @ a) * (b @ b.mT)).sum((1, 2)) < 0).any()
    assert float(frobenius(a, b).max()) < 0.1
    later, wrote = (a, torch.eye(4).expand(64, -1, -1)), none.expand(-1, -1, 4)
    assert float(compose(later, (wrote, b)).max()) < 0.1
    assert not compose(later, (0 * wrote, b)).any()


def test_of_wide_models_fewer_random_circuits_are_drawn():
    assert [random_draws(*shape) for shape in ((64, 16), (1024, 64), (1024, 65), (2048, 128), (8192, 512))] == [
        *(64, 64, 63, 16, 4)
    ]


def test_all_pairs_are_drawn_up_to_a_number():
    assert [drawn_every(pairs) for pairs in (2_500, 2_501, 4_201, 81_000)] == [1, 2, 3, 48]
    assert drawn_pairs(2_500) is None
    assert str(drawn_pairs(81_000)) == (
        "Of 81,000 pairs of each kind the 800 highest are drawn and, in the order of their scores, one in 48 of the "
        "others."
    )


def test_what_is_not_read_scores_zero_and_what_is_read_whole_scores_most():
    eye = torch.eye(12)
    read, wrote, elsewhere = eye[:4], eye[:, :4], eye[:, 4:8]
    a, b = (eye[:, 8:12], read), eye[:4]
    assert float(compose(a, (wrote, b))) == pytest.approx(0.5)  # four equal directions: 2 / (2 * 2)
    assert float(compose(a, (elsewhere, b))) == 0


@pytest.mark.parametrize(("d_model", "d_head"), [(64, 16), (192, 32)])
def test_random_matrices_score_one_over_the_root_of_the_width(d_model, d_head):
    mean, spread = random_composition(d_model, d_head)
    assert mean == pytest.approx(theory(d_model), rel=0.03)
    assert 0 < spread < 0.2 * mean
    large = torch.randn(4, d_model, d_model, generator=torch.Generator().manual_seed(1))
    a, b = large[0][:, :d_head] @ large[1][:d_head], large[2][:, :d_head] @ large[3][:d_head]
    assert float((a @ b).norm() / (a.norm() * b.norm())) == pytest.approx(mean, abs=4 * spread)


def test_an_untrained_model_scores_as_random_matrices():
    model = small.model(n_layers=2, d_model=96, n_heads=6)
    found = composition(model, 1)
    for kind in INPUTS:
        assert np.mean(found.scores[kind]) == pytest.approx(found.random, rel=0.1)


def test_a_layer_with_none_below_is_refused():
    for layer in (0, 2):
        with pytest.raises(ValueError, match=f"layer={layer} must be between 1 and 1"):
            composition(small.model(), layer)


def test_only_the_keys_carry_what_the_previous_token_head_wrote():
    model, ids = wired(), twice(random_rows(200, 12, 4, 0))
    by = {run.patched: run for run in patch_paths(model, ids, 12, [(0, 0)], [(1, 0)])}
    assert by["none"].induction > 0.85
    assert by["none"].second_loss < 0.3 * by["none"].first_loss
    for other in ("query", "value"):
        assert by[other].induction == pytest.approx(by["none"].induction, abs=0.02)
    for patched in ("key", "all"):
        assert by[patched].induction < 0.3
        assert by[patched].second_loss > 2 * by["none"].second_loss


def test_ends_are_the_whole_model_and_the_model_without_the_heads():
    model, ids = small.model(n_kv_heads=3), twice(random_rows(61, 8, 2, 0))
    found = patch_paths(model, ids, 8, [(0, 1), (0, 2)], [(1, 3)])
    assert [run.patched for run in found] == ["none", "query", "key", "value", "all"]
    for run, whole in ((found[0], copying(model, ids, 8)), (found[-1], copying(model, ids, 8, [(0, 1), (0, 2)]))):
        assert run.first_loss == pytest.approx(whole.first_loss, abs=1e-6)
        assert run.second_loss == pytest.approx(whole.second_loss, abs=1e-6)
        assert run.induction == pytest.approx(whole.scores["induction"][1, 3], abs=1e-6)


@pytest.mark.parametrize("values", [{}, {"n_layers": 4, "n_kv_heads": 3}], ids=str)
def test_runs_that_share_layers_are_whole_runs_with_the_same_edits(values):
    model, ids = small.model(**values), twice(random_rows(61, 8, 2, 0))
    last = model.config.n_layers - 1
    senders, receivers = [(0, 1), (0, 2)], [(last, 3), (last - 1, 0)] if last > 1 else [(last, 3)]
    names = [f"blocks.{layer}.attn.{part}" for layer, _ in receivers for part in "qkv"]
    without = model(ids, capture=names, edits=zeroed_heads(senders)).activations
    edits = edits_of_receivers(model, without, receivers)
    for run, part in zip(patch_paths(model, ids, 8, senders, receivers)[1:4], "qkv", strict=True):
        whole = copying(model, ids, 8, edits=[edit for edit in edits if edit.name.endswith(f".{part}")])
        weights = [whole.scores["induction"][head] for head in receivers]
        assert run.induction == pytest.approx(np.mean(weights), abs=1e-6)
        assert run.first_loss == pytest.approx(whole.first_loss, abs=1e-5)
        assert run.second_loss == pytest.approx(whole.second_loss, abs=1e-5)


def test_a_patched_receiver_has_the_queries_of_a_run_without_the_senders():
    model, ids = small.model(n_kv_heads=3), small.ids(2, 9)
    inputs = [f"blocks.1.attn.{part}" for part in "qkv"]
    found = model(ids, capture=inputs, edits=zeroed_heads([(0, 4)])).activations
    edits = edits_of_receivers(model, found, [(1, 3)])
    assert {edit.name for edit in edits} == {f"blocks.1.attn.{part}" for part in "qkv"}
    without_sender = [edit for edit in edits if edit.name.endswith(".q")]
    w = model.decoder.blocks[0].attn.out.weight
    kept = w[:, 16:20].clone()
    w[:, 16:20] = 0
    expected = model(ids, capture=("blocks.1.attn.q",)).activations["blocks.1.attn.q"][:, 3]
    w[:, 16:20] = kept
    got = model(ids, capture=("blocks.1.attn.q",), edits=without_sender).activations["blocks.1.attn.q"][:, 3]
    torch.testing.assert_close(got, expected)


def test_without_senders_or_receivers_nothing_changes():
    model, ids = small.model(), twice(random_rows(61, 6, 1, 0))
    found = patch_paths(model, ids, 6, [], [])
    assert len({run.second_loss for run in found}) == 1
    assert found[0].induction == 0


def test_the_highest_composition_of_each_kind_is_that_of_a_loop():
    rng = np.random.default_rng(0)
    result = Composition({kind: rng.random((3, 2, 3)) for kind in INPUTS}, 0.5, 0.25)
    found = highest_composition(result, 2, 64)
    for kind in INPUTS:
        scores = result.scores[kind]
        every = [(scores[h, b, e], (b, e), (2, h)) for h in range(3) for b in range(2) for e in range(3)]
        score, (below, earlier), (layer, head) = max(every)
        assert f"{kind[0].upper()} {score:.3f} ({below}.{earlier} to {layer}.{head})" in found.values["best"]
    result = Composition({kind: np.zeros((2, 1, 3)) for kind in INPUTS}, 0.125, 0.0156)
    for i, kind in enumerate(INPUTS):
        result.scores[kind][1, 0, i] = 0.25 * (i + 1)
    assert str(highest_composition(result, 1, 64)) == (
        "Composition scores of the heads of layer 1 with every head below. Highest: Q 0.250 (0.0 to 1.1); "
        "K 0.500 (0.1 to 1.1); V 0.750 (0.2 to 1.1). Random matrices: 0.125 ± 0.016 (theory: 1/√64 = 0.125)."
    )


def test_the_composition_that_stands_out_is_counted_from_random_matrices():
    scores = {kind: np.full((2, 1, 2), 0.1) for kind in INPUTS}
    scores["key"][1, 0, 1] = 0.4
    scores["query"][0, 0, 1] = 0.9  # of a head that is no induction head
    result = Composition(scores, 0.1, 0.01)
    found = circuit_composition(result, 1, [(0, 1)], [(1, 1)])
    assert found.most == "key"
    assert found.above["key"] == pytest.approx(30)
    assert str(found) == (
        "From a previous-token head to an induction head of layer 1, K-composition stands out most from random "
        "matrices: Q 0.100 (+0 σ), K 0.400 (+30 σ), V 0.100 (+0 σ)."
    )
    for sender, receiver in (((0, 1), (2, 0)), ((1, 0), (1, 1))):
        assert str(circuit_composition(result, 1, [sender], [receiver])) == (
            "No induction head of layer 1 has a previous-token head below it."
        )


def test_path_patching_names_the_input_that_matters_most():
    losses = {"none": 1.0, "query": 1.5, "key": 9.0, "value": 1.25, "all": 12.0}
    runs = [PatchedRun(patched, 0.5, 5.0, loss) for patched, loss in losses.items()]
    assert str(decisive_input(runs)) == (
        "Path patching: without the previous-token heads in their key input alone, the loss on the second copy rises "
        "by 8.00 nats, in their query input by 0.50, in their value input by 0.25."
    )
    assert str(patched_losses(runs, [(2, 3), (1, 1)], [(3, 2)])) == (
        "Heads 3.2 get the queries, keys or values of a run in which 1.1, 2.3 are ablated; all else is unchanged. Loss "
        "on the second copy: none 1.00, query 1.50, key 9.00, value 1.25 nats."
    )
